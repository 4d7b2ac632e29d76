"""Workloads on device plugins turned to claims; nothing is applied."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from slicewise_cli.client import Client
from slicewise_cli.commands import Given, cluster_of, read_file, show
from slicewise_cli.errors import DONE, REFUSED, USAGE, CommandError
from slicewise_cli.output import Column, table
from slicewise_cli.views import member

Json = dict[str, Any]
LAYOUTS = ("plain", "kustomize")


def _fits(row: Json) -> Any:
    if row["error"]:
        return "nowhere"
    if row["fits"] is None:
        return "?"
    return f"{'≥' if row['undecided'] else ''}{len(row['fits'])}"


COLUMNS: tuple[Column, ...] = (
    ("workload", member("usedBy")),
    ("template", member("name")),
    ("nodes", _fits),
    ("problem", member("error")),
)


def convert(given: Given, client: Client) -> int:
    """Convert files or live workloads; 1 where an error or what has no equal is left."""
    found: Json = client.post(
        f"clusters/{cluster_of(client, given)}/adoption/convert", json=_body(given)
    ).json()
    for line in _left(found):
        sys.stderr.write(f"{line}\n")
    if given.to:
        _write(Path(given.to), found[given.layout], force=given.force)
    text = found["diff"].rstrip("\n") if given.diff else _table(found)
    show(given, found, text)
    return DONE if found["valid"] and not found["noEqual"] else REFUSED


def _body(given: Given) -> Json:
    if bool(given.files) == bool(given.workload):
        raise CommandError(
            "Name files, or live workloads with --namespace and --workload.", USAGE
        )
    if given.workload:
        if not given.namespace:
            raise CommandError("--workload needs its --namespace.", USAGE)
        return {"namespace": given.namespace, "workloads": given.workload}
    return {"text": "\n---\n".join(_text(path) for path in given.files)}


def _text(path: str) -> str:
    try:
        return read_file(path).decode()
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is no UTF-8 text.", USAGE) from error


def _table(found: Json) -> str:
    if not found["templates"]:
        return "Nothing became a claim."
    return table(found["templates"], COLUMNS)


def _left(found: Json) -> list[str]:
    """Return what stays as it was, one line each, then what is wrong besides."""
    lost = {(each["code"], each["path"], each["name"]) for each in found["noEqual"]}
    lines = [
        f"no equal {each['kind']} {each['name']}: {each['code']} ({each['path']}):"
        f" {each['message']}"
        for each in found["noEqual"]
    ]
    for document in found["documents"]:
        lines += [
            f"{fault['level']} {document['kind']} {document['name']}: {fault['code']}"
            f" ({fault['path']}): {fault['message']}"
            for fault in document["faults"]
            if fault["state"] != "repaired"
            and (fault["code"], fault["path"], document["name"] or "") not in lost
        ]
    return lines


def _write(folder: Path, files: dict[str, str], *, force: bool) -> None:
    """Write a bundle whole, or nothing of it."""
    paths = {folder / Path(name).name: text for name, text in files.items()}
    try:
        differ = [p for p, text in paths.items() if p.exists() and not _says(p, text)]
        if differ and not force:
            raise CommandError(
                f"{differ[0]} is there already and says something else: choose another"
                " folder, or add --force.",
                USAGE,
            )
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in paths.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"{error.filename or folder} cannot be written: {error.strerror}.", USAGE
        ) from error
    sys.stderr.write(f"{len(paths)} files are in {folder}.\n")


def _says(path: Path, text: str) -> bool:
    return path.read_bytes() == text.encode()
