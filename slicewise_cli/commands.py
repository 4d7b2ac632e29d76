"""What each command does; each returns the exit status."""

from __future__ import annotations

import argparse
import getpass
import sys
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

from slicewise_cli import config
from slicewise_cli.client import Client, pause_of
from slicewise_cli.completion import SCRIPTS
from slicewise_cli.errors import DONE, REFUSED, TIMED_OUT, USAGE, CommandError
from slicewise_cli.output import Column, table, to_json, to_yaml
from slicewise_cli.views import LISTINGS, member

Json = dict[str, Any]
Given = argparse.Namespace

REQUEST_COLUMNS: tuple[Column, ...] = (
    ("id", member("id")),
    ("state", member("state")),
    ("name", lambda row: f"{row['namespace']}/{row['name']}"),
    ("message", member("message")),
)
OPERATION_COLUMNS: tuple[Column, ...] = (
    ("operation", member("id")),
    ("status", member("status")),
    ("message", member("message")),
)

APPROVAL_COLUMNS: tuple[Column, ...] = (
    ("id", member("id")),
    ("state", lambda row: row["request"]["state"]),
    ("approvals", lambda row: f"{row['approved']} of {row['needed']}"),
    ("name", lambda row: f"{row['request']['namespace']}/{row['request']['name']}"),
)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def show(given: Given, document: Any, text: str) -> None:
    """Print a document as it is wanted; `text` is its table."""
    formats = {"json": to_json, "yaml": to_yaml}
    if given.output in formats:
        _say(formats[given.output](document))
    elif text:
        _say(text)


def login(given: Given) -> int:
    """Keep the portal's address and a token that works there."""
    if given.token_stdin:
        token = sys.stdin.readline().strip()
    else:
        token = _asked("Token (from the page “API tokens”): ").strip()
    access = config.checked(given.server, token)
    with Client(access) as client:
        me = client.get("me")
    path = config.save(access)
    _say(f"Signed in as {me['username']}; kept in {path}.")
    return DONE


def _asked(prompt: str) -> str:
    try:
        return getpass.getpass(prompt)
    except EOFError as error:
        raise CommandError(
            "Nobody is there to type a token: use --token-stdin.", USAGE
        ) from error


def whoami(given: Given, client: Client) -> int:
    """Say who the token is."""
    me = client.get("me")
    spaces = ", ".join(f"{n['cluster']}/{n['namespace']}" for n in me["namespaces"])
    lines = (
        f"name        {me['username']}",
        f"tenants     {', '.join(me['tenants']) or '-'}",
        f"namespaces  {spaces or '-'}",
        f"uses        {', '.join(me['scopes'] or [])}",
    )
    show(given, me, "\n".join(lines))
    return DONE


def get(given: Given, client: Client) -> int:
    """List what there is."""
    listing = LISTINGS[given.what]
    path = listing.path
    parameters: dict[str, list[str]] = {}
    for pair in given.filter:
        name, equals, value = pair.partition("=")
        if not equals:
            raise CommandError(f"--filter {pair} is no NAME=VALUE.", USAGE)
        parameters.setdefault(name, []).append(value)
    if "{cluster}" in path:
        path = path.format(cluster=cluster_of(client, given))
    if given.limit is not None and given.limit < 1:
        raise CommandError("--limit must be at least 1.", USAGE)
    items = list(client.items(path, given.limit, **parameters))
    show(given, items, table(items, listing.columns))
    return DONE


def cluster_of(client: Client, given: Given) -> str:
    """Return the cluster that is meant, as part of an address."""
    if given.cluster:
        return quote(given.cluster, safe="")
    for found in client.items("clusters", 1):
        return quote(found["name"], safe="")
    raise CommandError("The portal has no cluster yet.", REFUSED)


def read_file(path: str) -> bytes:
    """Return what a file or, for -, standard input holds."""
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise CommandError(
            f"{path} cannot be read: {error.strerror}.", USAGE
        ) from error


def _judge(given: Given, client: Client, what: str, **parameters: str) -> Json:
    cluster = cluster_of(client, given)
    wanted = {"namespace": given.namespace, **parameters}
    response = client.post(
        f"clusters/{cluster}/{what}",
        params={name: value for name, value in wanted.items() if value},
        content=read_file(given.file),
        headers={"Content-Type": "application/yaml"},
    )
    return _warned(response.json())


def _warned(found: Json) -> Json:
    """Return an answer; what of its cluster is old or not seen goes to standard error."""
    told = [found.get("stale"), *found.get("unseen", ())]
    for sentence in filter(None, told):
        sys.stderr.write(f"{sentence}\n")
    return found


def check(given: Given, client: Client) -> int:
    """Check manifests; 1 where there is a finding of level error."""
    found = _judge(given, client, "check")
    lines = []
    levels = {each["level"] for each in found["cluster"]}
    for item in found["items"]:
        lines += [_name(item)]
        for each in item["diagnostics"]:
            levels.add(each["level"])
            line = each["fileLine"]
            place = f"{given.file}:{line}" if line else each["path"]
            lines.append(
                f"  {each['level']} {each['code']} ({place}): {each['message']}"
            )
        lines += _outcomes(item["preview"])
    for each in found["cluster"]:
        lines += [_name(each), f"  {each['level']} {each['code']}: {each['message']}"]
    show(given, found, "\n".join(lines))
    return REFUSED if "error" in levels else DONE


def repair(given: Given, client: Client) -> int:
    """Print manifests put right; what was wrong goes to standard error."""
    given.namespace = ""
    found = _judge(given, client, "import")
    for document in found["documents"]:
        for each in document["faults"]:
            place = f"{given.file}:{each['line']}" if each["line"] else each["path"]
            line = f"{each['state']} {each['level']} {each['code']} ({place})"
            sys.stderr.write(f"{line}: {each['message']}\n")
    show(given, found, (found["diff"] if given.diff else found["text"]).rstrip("\n"))
    return DONE if found["valid"] else REFUSED


def preview(given: Given, client: Client) -> int:
    """Say what the scheduler would do; 0 even where nothing fits."""
    found = _judge(given, client, "preview", together="true" if given.together else "")
    lines = []
    for item in found["items"]:
        lines += [_name(item), *_outcomes(item["preview"])]
    show(given, found, "\n".join(lines))
    return DONE


def what_if(given: Given, client: Client) -> int:
    """Preview a claim as the cluster is and as it would be; 0 whatever comes of it."""
    kind, equals, target = given.suppose.partition("=")
    if not equals or not target:
        raise CommandError(f"{given.suppose} is no KIND=TARGET.", USAGE)
    found = _judge(given, client, "what-if", kind=kind, target=target)
    lines = [f"{len(found['changed'])} nodes say something else."]
    for label in ("before", "after"):
        lines += [f"{label}:", *_outcomes(found[label])]
    if found["displaced"]:
        known = ", ".join(found["displacedClaims"]) or "of others"
        lines.append(f"{found['displaced']} claims would have to move: {known}")
    show(given, found, "\n".join(lines))
    return DONE


def _name(item: Json) -> str:
    name = "/".join(filter(None, (item["namespace"], item["name"])))
    return f"{item['kind']} {name}".rstrip()


def _outcomes(found: Json | None) -> list[str]:
    if found is None:
        return []
    lines = []
    for node, answer in found["nodes"].items():
        devices = [
            f"{result['request']} = {result['pool']}/{result['device']}"
            for allocation in answer["results"] or []
            for result in (allocation.get("devices") or {}).get("results") or []
        ]
        more = ", ".join(devices) or answer["message"]
        lines.append(f"  {node}: {answer['outcome']}" + (f"  {more}" if more else ""))
    return lines


def cel(given: Given, client: Client) -> int:
    """Judge a selector; 1 where the API server or the scheduler would refuse it."""
    response = client.post(
        f"clusters/{cluster_of(client, given)}/cel",
        json={"expression": given.expression},
    )
    found = _warned(response.json())
    lines = [
        f"{name}: "
        + ("accepts it" if verdict["ok"] else f"{verdict['error']}{_at(verdict)}")
        for name, verdict in found["compile"].items()
    ]
    if found["devices"]:
        counts = found["devices"]
        lines.append(
            f"{counts['match']} match, {counts['noMatch']} do not, {counts['error']} fail"
        )
    show(given, found, "\n".join(lines))
    good = all(verdict["ok"] for verdict in found["compile"].values())
    return DONE if good else REFUSED


def _at(verdict: Json) -> str:
    return f" ({verdict['line']}:{verdict['column']})" if verdict["line"] else ""


def submit(given: Given, client: Client) -> int:
    """Submit one claim or template; with --wait, until it is applied."""
    wanted = {
        "cluster": cluster_of(client, given),
        "justification": given.justification,
        "endsAt": given.ends_at,
    }
    response = client.post(
        "claim-requests",
        params={name: value for name, value in wanted.items() if value},
        content=read_file(given.file),
        headers={
            "Content-Type": "application/yaml",
            "Idempotency-Key": given.key or str(uuid.uuid4()),
        },
    )
    found: Json = response.json()
    if not given.wait:
        show(given, found, table([found], REQUEST_COLUMNS))
        return DONE
    return _await(client, given, f"apply.{found['id']}")


def wait(given: Given, client: Client) -> int:
    """Wait for an operation; 1 where it failed, 4 where time is over."""
    return _await(client, given, f"{given.work}.{given.id}")


def _await(client: Client, given: Given, operation: str) -> int:
    ends = time.monotonic() + given.timeout
    while True:
        response = client.response(f"operations/{quote(operation, safe='.')}")
        found: Json = response.json()
        if found["done"]:
            show(given, found, table([found], OPERATION_COLUMNS))
            return DONE if found["status"] == "succeeded" else REFUSED
        pause = pause_of(response)
        if time.monotonic() + pause > ends:
            why = f": {found['message']}" if found["message"] else ""
            raise CommandError(
                f"{operation} is still {found['status']} after {given.timeout:g} s{why}",
                TIMED_OUT,
            )
        time.sleep(pause)


def release(given: Given, client: Client) -> int:
    """Begin a release as it is seen now; with --wait, until all is gone."""
    path = f"claim-requests/{quote(given.id, safe='')}"
    pods = client.get(f"{path}/usage")["pods"]
    using = [pod for pod in pods if pod["phase"] not in ("Succeeded", "Failed")]
    if using and not given.end_pods:
        names = ", ".join(pod["name"] for pod in using)
        raise CommandError(
            f"These pods still use it: {names}. Add --end-pods to end them, too.",
            REFUSED,
        )
    etag = client.response(path).headers["ETag"]
    agreed = [{"name": pod["name"], "uid": pod["uid"]} for pod in pods]
    response = client.post(
        f"{path}/release",
        json={"pods": agreed},
        headers={"If-Match": etag, "Idempotency-Key": str(uuid.uuid4())},
    )
    found: Json = response.json()
    if not given.wait:
        show(given, found, table([found], REQUEST_COLUMNS))
        return DONE
    return _await(client, given, f"release.{found['id']}")


def decide(given: Given, client: Client) -> int:
    """Approve or deny what the portal shows now; 1 where another was faster."""
    path = f"approvals/{quote(given.id, safe='')}"
    response = client.response(path)
    shown: Json = response.json()
    if given.digest and given.digest != shown["digest"]:
        raise CommandError(
            f"It is not what you looked at: its digest is {shown['digest']} now.",
            REFUSED,
        )
    found: Json = client.post(
        f"{path}/decision",
        json={
            "verdict": given.command,
            "reason": given.reason,
            "digest": shown["digest"],
        },
        headers={"If-Match": response.headers["ETag"]},
    ).json()
    show(given, found, table([found], APPROVAL_COLUMNS))
    return DONE


def completion(given: Given) -> int:
    """Print a shell's completion script."""
    sys.stdout.write(SCRIPTS[given.shell])
    return DONE
