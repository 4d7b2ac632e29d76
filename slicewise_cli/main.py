"""The commands: sign in, look, judge, submit, wait, release."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from typing import NoReturn

from slicewise_cli import commands, config, converting
from slicewise_cli.client import Client
from slicewise_cli.completion import SCRIPTS, candidates
from slicewise_cli.errors import DONE, INTERRUPTED, USAGE, CommandError
from slicewise_cli.views import LISTINGS

# One of them makes what others sign in with; the others need nothing.
_WITHOUT_PORTAL = frozenset({"login", "completion", "complete"})
FORMATS = ("table", "json", "yaml")


class _Parser(argparse.ArgumentParser):
    """Refuses in one line, which says where to read on."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}. See `{self.prog} --help`.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; return the exit status."""
    given = build_parser().parse_args(arguments)
    try:
        return _carried_out(given)
    except CommandError as error:
        sys.stderr.write(f"{error}\n")
        return error.status
    except BrokenPipeError:
        sys.stderr.close()
        return DONE
    except UnicodeEncodeError as error:
        sys.stderr.write(
            f"Standard output cannot hold {error.object[error.start]!a}: set"
            " PYTHONIOENCODING=utf-8.\n"
        )
        return USAGE
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: what the portal has accepted goes on.\n")
        return INTERRUPTED


def _carried_out(given: argparse.Namespace) -> int:
    if given.command in _WITHOUT_PORTAL:
        return int(given.run(given))
    with Client(config.load()) as client:
        return int(given.run(given, client))


def _complete(given: argparse.Namespace) -> int:
    sys.stdout.write("\n".join(candidates(build_parser(), given.words)) + "\n")
    return DONE


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser: argparse.ArgumentParser = _Parser(
        prog="slicewise",
        description="GPU inventory and requests of a Slicewise portal.",
        epilog="Exit 0: done; 1: refused, failed, or findings of level error; 2: usage"
        " or input; 3: the portal does not answer; 4: waited long enough;"
        " 130: interrupted.",
    )
    below = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _signing_in(below)
    _looking(below)
    _judging(below)
    _converting(below)
    _requesting(below)
    _completing(below)
    return parser


def _signing_in(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    login = below.add_parser("login", help="keep the portal's address and a token")
    login.add_argument(
        "--server", required=True, help="such as https://gpus.example.com"
    )
    login.add_argument(
        "--token-stdin", action="store_true", help="read the token from standard input"
    )
    login.set_defaults(run=commands.login)
    who = below.add_parser("whoami", help="who the token is, and what it may do")
    _format(who)
    who.set_defaults(run=commands.whoami)


def _looking(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    get = below.add_parser("get", help="list what there is")
    get.add_argument("what", choices=sorted(LISTINGS))
    _cluster(get)
    get.add_argument("--limit", type=int, help="so many at most")
    get.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the list, such as node=gpu-1; repeatable",
    )
    _format(get)
    get.set_defaults(run=commands.get)


def _judging(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name, text, run in (
        (
            "check",
            "check manifests; exit 1 for a finding of level error",
            commands.check,
        ),
        ("preview", "say what the scheduler would do with manifests", commands.preview),
    ):
        parser = below.add_parser(name, help=text)
        parser.add_argument("file", help="YAML or JSON; - for standard input")
        _cluster(parser)
        parser.add_argument(
            "-n", "--namespace", default="", help="of those without one"
        )
        if name == "preview":
            parser.add_argument(
                "--together", action="store_true", help="all claims as one pod's"
            )
        _format(parser)
        parser.set_defaults(run=run)
    repairing = below.add_parser(
        "import", help="put foreign manifests right; exit 1 where an error is left"
    )
    repairing.add_argument("file", help="YAML or JSON; - for standard input")
    repairing.add_argument(
        "--diff", action="store_true", help="print what changes, not the whole"
    )
    _cluster(repairing)
    _format(repairing)
    repairing.set_defaults(run=commands.repair)
    supposing = below.add_parser(
        "what-if", help="preview a claim now, and with one thing different"
    )
    supposing.add_argument(
        "file", help="one claim as YAML or JSON; - for standard input"
    )
    supposing.add_argument(
        "suppose",
        metavar="KIND=TARGET",
        help="drain=NODE, add=NODE, taint=DRIVER/POOL/DEVICE or end=NAMESPACE/NAME",
    )
    _cluster(supposing)
    supposing.add_argument("-n", "--namespace", default="", help="where it names none")
    _format(supposing)
    supposing.set_defaults(run=commands.what_if)
    cel = below.add_parser("cel", help="judge a CEL selector and count its devices")
    cel.add_argument("expression")
    _cluster(cel)
    _format(cel)
    cel.set_defaults(run=commands.cel)


def _converting(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = below.add_parser(
        "convert",
        help="turn workloads on device plugins to claims; exit 1 where one is not whole",
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="YAML or JSON; - for standard input"
    )
    parser.add_argument("-n", "--namespace", default="", help="of live workloads")
    parser.add_argument(
        "--workload",
        action="append",
        default=[],
        metavar="KIND/NAME",
        help="a live one in place of a file, such as Deployment/chat; repeatable",
    )
    parser.add_argument("--to", metavar="FOLDER", help="write the bundle there")
    parser.add_argument("--layout", choices=converting.LAYOUTS, default="plain")
    parser.add_argument(
        "--force", action="store_true", help="replace files that say something else"
    )
    parser.add_argument(
        "--diff", action="store_true", help="print what changes, not the table"
    )
    _cluster(parser)
    _format(parser)
    parser.set_defaults(run=converting.convert)


def _requesting(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    submit = below.add_parser("submit", help="submit a claim or a template")
    submit.add_argument("file", help="YAML or JSON; - for standard input")
    _cluster(submit)
    submit.add_argument(
        "--key", help="Idempotency-Key: one key, one request, for a day"
    )
    submit.add_argument("--justification", default="", help="for who approves")
    submit.add_argument("--ends-at", default="", help="such as 2027-01-31T18:00:00Z")
    _wait(submit)
    _format(submit)
    submit.set_defaults(run=commands.submit)
    wait = below.add_parser("wait", help="wait until a request is applied or released")
    wait.add_argument("id", help="of the claim request")
    wait.add_argument(
        "--for", dest="work", choices=["apply", "release"], default="apply"
    )
    _timeout(wait)
    _format(wait)
    wait.set_defaults(run=commands.wait)
    for verdict, text in (
        ("approve", "approve what somebody else asks for"),
        ("deny", "deny it; say why"),
    ):
        decide = below.add_parser(verdict, help=text)
        decide.add_argument("id", help="of the claim request")
        decide.add_argument("--reason", default="", required=verdict == "deny")
        decide.add_argument(
            "--digest", default="", help="of what you looked at; refused if it changed"
        )
        _format(decide)
        decide.set_defaults(run=commands.decide)
    release = below.add_parser("release", help="end what a request made")
    release.add_argument("id", help="of the claim request")
    release.add_argument(
        "--end-pods", action="store_true", help="end the pods that use it, too"
    )
    _wait(release)
    _format(release)
    release.set_defaults(run=commands.release)


def _completing(below: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    completion = below.add_parser("completion", help="print a completion script")
    completion.add_argument("shell", choices=sorted(SCRIPTS))
    completion.set_defaults(run=commands.completion)
    complete = below.add_parser("complete")
    complete.add_argument("words", nargs="*")
    complete.set_defaults(run=_complete)


def _cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c", "--cluster", default="", help="its name; the first one where left out"
    )


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=FORMATS, default="table")


def _wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="until it is done")
    _timeout(parser)


def _timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=_seconds, default=120.0, metavar="SECONDS")


def _seconds(text: str) -> float:
    found = float(text)
    if not math.isfinite(found) or found < 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return found


_seconds.__name__ = "number of seconds"
