"""Run the simulated API server; it prints its address when it is ready."""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sqlite3
import sys
from pathlib import Path

import uvicorn
from ruamel.yaml.error import YAMLError

from simcluster.access import AUTHENTICATED, MASTERS, Access, User, read_tokens
from simcluster.app import Api
from simcluster.binding import Pace
from simcluster.controllers import Controllers
from simcluster.engine import Engine
from simcluster.fleet import DEMO, begin, read
from simcluster.registry import Registry
from simcluster.schema import FOLDER, Schemas
from simcluster.storage import Store

Tokens = dict[str, User]
PORTAL = "slicewise"
_TOKENS = {
    "admin": User("admin", (MASTERS, AUTHENTICATED)),
    PORTAL: User("system:serviceaccount:slicewise:slicewise"),
}


def main() -> int:
    """Serve until told to stop."""
    options = _options()
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # asyncio then sets TCP_NODELAY
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", options.port))
    except OSError as error:
        return _refuse(
            f"Port {options.port} cannot be used: {error.strerror}; choose another."
        )
    try:
        tokens = read_tokens(options.tokens) if options.tokens else _TOKENS
        store = _open(options)
    except (OSError, ValueError, YAMLError, sqlite3.Error) as error:
        return _refuse(
            f"The simulated cluster cannot start: {' '.join(str(error).split())}"
        )
    asyncio.run(_serve(options, listener, store, tokens))
    return 0


def _refuse(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return 2


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="simcluster", description=__doc__)
    add = parser.add_argument
    versions = sorted(path.name for path in FOLDER.iterdir())
    add("--port", type=int, default=0, help="0 takes a free one")
    add("--state", type=Path, required=True, help="SQLite file; made when missing")
    add("--version", default=versions[-1], choices=versions)
    add("--tokens", type=Path, help="users, as in a --token-auth-file")
    add("--fleet", type=Path, nargs="*", help="files of objects in place of the demo's")
    add("--engine-run-dir", type=Path, help="where the engine's socket lies")
    add(
        "--tick", type=float, default=1.0, help="seconds between looks without a change"
    )
    add("--attach", type=float, default=5, help="seconds until a driver tells")
    add("--binding-timeout", type=float, default=600, help="seconds to wait for it")
    add("--backoff", type=float, default=10, help="seconds until the next attempt")
    return parser.parse_args()


def _open(options: argparse.Namespace) -> Store:
    """Return the store, filled if it is new."""
    is_demo = options.fleet is None and options.tokens is None
    store = Store(options.state)
    if store.version == 1:
        begin(store, read(DEMO if is_demo else options.fleet or ()))
    return store


async def _serve(
    options: argparse.Namespace, listener: socket.socket, store: Store, tokens: Tokens
) -> None:
    engine = Engine(store, options.version, options.engine_run_dir)
    schemas = Schemas(options.version)
    registry = Registry(store, schemas, engine.judge)
    api = Api(options.version, store, Access(store, tokens), registry, schemas)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    _write_kubeconfig(
        options.state.with_name(f"{options.state.name}.kubeconfig"), url, tokens
    )
    server = uvicorn.Server(
        uvicorn.Config(
            api.application(),
            log_level="warning",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    pace = Pace(options.attach, options.binding_timeout, options.backoff)
    controllers = Controllers(store, registry, engine, options.tick, pace)
    controlling = asyncio.create_task(controllers.run())
    await serving
    controlling.cancel()


def _write_kubeconfig(path: Path, url: str, tokens: Tokens) -> None:
    """Write a kubeconfig with a context for each user, the portal's the current one."""
    names = {user.name.rpartition(":")[2]: token for token, user in tokens.items()}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "simulated", "cluster": {"server": url}}],
        "users": [{"name": n, "user": {"token": t}} for n, t in names.items()],
        "contexts": [
            {"name": n, "context": {"cluster": "simulated", "user": n}} for n in names
        ],
        "current-context": PORTAL,
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
