"""DIFFERENCES.md names every test that real servers alone must pass."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent
REAL = {"real", "real_admin", "real_namespace"}


def real_only(path: Path) -> set[str]:
    """Return the names of a module's tests that use a fixture of real servers."""
    functions = [
        n
        for n in ast.walk(ast.parse(path.read_text()))
        if isinstance(n, ast.FunctionDef)
    ]
    return {
        function.name
        for function in functions
        if function.name.startswith("test_")
        and REAL & {a.arg for a in function.args.args}
    }


def test_every_real_only_test_is_named():
    told = (FOLDER / "DIFFERENCES.md").read_text()
    modules = [path for path in FOLDER.glob("test_*.py") if path.name != "test_rbac.py"]

    names = set().union(*(real_only(path) for path in modules))

    assert len(names) > 10
    assert sorted(name for name in names if f"`{name}`" not in told) == []
