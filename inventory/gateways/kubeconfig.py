"""Kubeconfigs: read, checked, made to stand alone, and turned into connections.

TLS, tokens and client certificates are the `kubernetes` package's own loader's
business; it is imported when first needed, since that takes a second. Programs that
give credentials are run by `exec_credentials.py`.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from inventory.gateways.errors import BadKubeconfig, shortened
from inventory.gateways.package import load_package
from portal.core.sentences import Said

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

POOL_SIZE = 32
_EMBEDDED = (
    ("cluster", "certificate-authority"),
    ("user", "client-certificate"),
    ("user", "client-key"),
)


@dataclass(slots=True)
class Connection:
    """A way to one API server, shared by threads and identities.

    Attributes:
        cluster: the cluster's name, for sentences.
        client: the package's client; its models are never used.
        stale: its credentials were refused, so that it should be made anew.
        versions: plural.group → the version that the server has, as found so far.
    """

    cluster: str
    client: ApiClient
    stale: bool = False
    versions: dict[str, str] = field(default_factory=dict)

    def close(self) -> None:
        """Close its idle sockets; what is being read goes on."""
        self.client.rest_client.close()


def connect(cluster: str, kubeconfig: str, *, context: str = "") -> Connection:
    """Return a connection as a kubeconfig says; nothing is sent yet.

    Args:
        cluster: the cluster's name, for sentences.
        kubeconfig: its text; empty for the service account of the pod we run in.
        context: which of its contexts; its current one by default.

    Raises:
        BadKubeconfig: It cannot be read, or its exec plugin gives no credentials.
    """
    load_package()
    from kubernetes.client import ApiClient, Configuration
    from kubernetes.config.config_exception import ConfigException

    configuration = Configuration()
    try:
        if kubeconfig:
            _load(kubeconfig, context, configuration)
        else:
            _load_in_cluster(configuration)
        # Reads are tried again by whoever loops over them, writes never.
        configuration.retries = False
        configuration.keep_alive = True
        configuration.connection_pool_maxsize = POOL_SIZE
        return Connection(cluster, _timed(ApiClient(configuration)))
    except (ConfigException, OSError, ValueError, TypeError, AttributeError) as error:
        raise BadKubeconfig(_refusal(str(error))) from error


def _timed(client: ApiClient) -> ApiClient:
    """Have a client's answers end in time, see `portal.core.deadlines`."""
    from inventory.gateways.timed_pools import POOLS

    client.rest_client.pool_manager.pool_classes_by_scheme = POOLS
    return client


def _load_in_cluster(configuration: Any) -> None:
    from kubernetes.config import incluster_config as package

    loader = package.InClusterConfigLoader(  # type: ignore[no-untyped-call]
        token_filename=package.SERVICE_TOKEN_FILENAME,
        cert_filename=package.SERVICE_CERT_FILENAME,
    )
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]


def _load(kubeconfig: str, context: str, configuration: Any) -> None:
    from inventory.gateways.exec_credentials import Loader

    loader = Loader(  # type: ignore[no-untyped-call]
        parse(kubeconfig), active_context=context or None
    )
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]


def parse(text: str) -> dict[str, Any]:
    """Return a kubeconfig as a mapping.

    Raises:
        BadKubeconfig: It is no YAML, or no kubeconfig.
    """
    try:
        parsed = YAML(typ="safe").load(text)
    except YAMLError as error:
        raise BadKubeconfig(_refusal(f"it is no YAML: {error}")) from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("clusters"), list):
        raise BadKubeconfig(_refusal("it lists no clusters"))
    return parsed


def standing_alone(path: Path, *, context: str = "") -> str:
    """Return a file's kubeconfig with one context and with its files embedded.

    Like `kubectl config view --minify --flatten`, so that it can be kept
    somewhere else. A tokenFile stays a file, by its full path: it is renewed.

    Raises:
        BadKubeconfig: It cannot be read, or lacks the context or what it names.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadKubeconfig(_refusal(str(error))) from error
    parsed = parse(text)
    chosen = _chosen(parsed, context)
    parts = {
        "cluster": _entry(parsed, "clusters", chosen.get("cluster", ""), "cluster"),
        "user": _entry(parsed, "users", chosen.get("user", ""), "user"),
    }
    if not parts["cluster"].get("server"):
        raise BadKubeconfig(_refusal("its cluster has no server address"))
    for part, key in _EMBEDDED:
        _embed(parts[part], key, path.parent)
    if "tokenFile" in parts["user"]:
        token_file = path.parent / str(parts["user"]["tokenFile"])
        parts["user"]["tokenFile"] = str(token_file.resolve())
    return _written(parts)


def _chosen(parsed: dict[str, Any], context: str) -> dict[str, Any]:
    name = context or str(parsed.get("current-context") or "")
    if not name:
        raise BadKubeconfig(_refusal("it has no current-context; say --context"))
    return _entry(parsed, "contexts", name, "context")


def _entry(parsed: dict[str, Any], where: str, name: Any, inner: str) -> dict[str, Any]:
    """Return what one named item of a kubeconfig's lists holds; it must be there.

    A context without a user is anonymous and has an empty one.
    """
    if inner == "user" and not name:
        return {}
    names = []
    for item in parsed.get(where) or []:
        if isinstance(item, dict):
            names.append(str(item.get("name")))
            if item.get("name") == name and isinstance(item.get(inner) or {}, dict):
                return item.get(inner) or {}
    listed = ", ".join(names) or "none"
    raise BadKubeconfig(_refusal(f"{where} lacks {name!r}; it has {listed}"))


def _embed(part: dict[str, Any], key: str, folder: Path) -> None:
    """Replace a file's path by its content."""
    name = part.pop(key, None)
    if name is None or f"{key}-data" in part:
        _check_base64(part, f"{key}-data")
        return
    try:
        content = (folder / str(name)).read_bytes()
    except OSError as error:
        raise BadKubeconfig(_refusal(f"{key}: {error}")) from error
    part[f"{key}-data"] = base64.b64encode(content).decode()


def _check_base64(part: dict[str, Any], key: str) -> None:
    try:
        base64.b64decode(str(part.get(key, "")), validate=True)
    except binascii.Error as error:
        raise BadKubeconfig(_refusal(f"{key} is no base64")) from error


def _written(parts: dict[str, dict[str, Any]]) -> str:
    """Return the kubeconfig of one context, as JSON, which is YAML too."""
    import orjson

    name = "slicewise"
    return orjson.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": parts["cluster"]}],
            "users": [{"name": name, "user": parts["user"]}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        default=str,
    ).decode()


def _refusal(why: str) -> Said:
    return Said("cluster.bad_kubeconfig", {"why": shortened(why)})
