"""Stands in for Docker: each command of a service is run here, in its environment.

Compose's own library says what that environment is; where Postgres, Valkey and folders
are is said by OVERRIDES, as nothing else can be that of a container.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys


def main() -> int:
    """Run `docker compose …`; return the command's status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("compose", choices=["compose"])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build")
    verbs.add_parser("up").add_argument("-d", action="store_true", required=True)
    run, into = verbs.add_parser("run"), verbs.add_parser("exec")
    run.add_argument("--rm", action="store_true", required=True)
    for each in (run, into):
        each.add_argument("-T", action="store_true")
        each.add_argument("service")
        each.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    said = subprocess.run([os.environ["COMPOSE"]], capture_output=True, text=True)
    if said.returncode:
        sys.stderr.write(said.stderr)
        return said.returncode
    with open(os.environ["DONE"], "a") as log:
        log.write(f"{asked.verb}\n")
    if asked.verb not in {"run", "exec"}:
        return 0
    if not asked.T and not sys.stdin.isatty():
        sys.stderr.write("the input device is not a TTY\n")
        return 1
    service = json.loads(said.stdout)["services"][asked.service]
    env = service["environment"] | json.loads(os.environ["OVERRIDES"])
    program, *arguments = asked.command
    assert program == "python"
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=os.environ["ROOT"], env=env).returncode


if __name__ == "__main__":
    raise SystemExit(main())
