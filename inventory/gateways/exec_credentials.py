"""Programs that a kubeconfig has give credentials, each with so long to do it.

The `kubernetes` package would wait for one for ever, and writes what it fails of into
a log alone. No program is asked as by a terminal: nobody sits at ours.

Imported by `kubeconfig.py` once the package is (`package.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import Any

import orjson
import structlog
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.dateutil import parse_rfc3339
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.kube_config import FileOrData, KubeConfigLoader

logger = structlog.get_logger(__name__)

SECONDS = 15.0
_CLUSTER_EXTENSION = "client.authentication.k8s.io/exec"


class Loader(KubeConfigLoader):
    """The package's loader, but for how it runs programs."""

    def _load_from_exec_plugin(self) -> bool | None:
        """Take what a program gives; None where the kubeconfig names none.

        Raises:
            ConfigException: It gives nothing; the text says why.
        """
        user: Any = self._user
        cluster: Any = self._cluster
        if "exec" not in user:
            return None
        folder = self._get_base_path(cluster.path)  # type: ignore[no-untyped-call]
        program = ExecProvider(  # type: ignore[no-untyped-call]
            user["exec"], folder, cluster
        )
        status = _status(program)
        if "token" in status:
            self.token = f"Bearer {status['token']}"
        elif {"clientCertificateData", "clientKeyData"} <= set(status):
            self.cert_file = self._file(status, "clientCertificateData", folder)
            self.key_file = self._file(status, "clientKeyData", folder)
        else:
            raise _failed(program, "gives no credentials")
        if "expirationTimestamp" in status:
            self.expiry = parse_rfc3339(  # type: ignore[no-untyped-call]
                status["expirationTimestamp"]
            )
        return True

    def _file(self, status: dict[str, Any], key: str, folder: str) -> Any:
        return FileOrData(  # type: ignore[no-untyped-call]
            status,
            None,
            data_key_name=key,
            file_base_path=folder,
            base64_file_content=False,
            temp_file_path=self._temp_file_path,
        ).as_file()


def _status(program: Any) -> dict[str, Any]:
    """Run a program and return what it gives.

    Source: Kubernetes' documentation, “client-go credential plugins”.
    """
    answer: Any = None
    with suppress(orjson.JSONDecodeError):
        answer = orjson.loads(_printed(program))
    if not isinstance(answer, dict) or not isinstance(answer.get("status"), dict):
        raise _failed(program, "gives no credentials")
    if answer.get("apiVersion") != program.api_version:
        raise _failed(program, f"does not speak {program.api_version}")
    return dict(answer["status"])


def _printed(program: Any) -> str:
    """Return what a program prints; one that takes too long is ended, with its own."""
    info = orjson.dumps(
        {
            "apiVersion": program.api_version,
            "kind": "ExecCredential",
            "spec": {"interactive": False, **_cluster_info(program)},
        }
    ).decode()
    with subprocess.Popen(
        program.args,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program.cwd,
        env={**program.env, "KUBERNETES_EXEC_INFO": info},
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed, said = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise _failed(program, f"did not end within {SECONDS:g} seconds") from error
    if process.returncode:
        logger.warning("a program failed", program=program.args[0], said=said[-1000:])
        raise _failed(
            program, f"gives no credentials: it ended with {process.returncode}"
        )
    return printed


def _cluster_info(program: Any) -> dict[str, Any]:
    """Return what a program is told of the cluster, where it wants to know."""
    if not program.cluster:
        return {}
    told = dict(program.cluster.value)
    for extension in told.get("extensions") or []:
        if extension["name"] == _CLUSTER_EXTENSION:
            told["config"] = extension["extension"]
            break
    return {"cluster": told}


def _failed(program: Any, why: str) -> ConfigException:
    return ConfigException(f"its program {program.args[0]!r} {why}")
