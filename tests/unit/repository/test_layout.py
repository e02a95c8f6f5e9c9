"""Who may import what among tests and benchmarks: shared helpers live in `tests/support`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def imported(*folders: str) -> Iterator[tuple[str, str]]:
    """Yield each module below folders with the name of a module of `tests` that it imports."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                for name in _modules(node):
                    if name.partition(".")[0] == "tests":
                        yield str(path.relative_to(ROOT)), name


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


@pytest.mark.parametrize("folder", ["benchmarks", "tests/support"])
def test_only_support_is_imported(folder: str) -> None:
    others = [each for each in imported(folder) if not each[1].startswith("tests.support")]
    assert others == []


def test_no_suite_imports_another() -> None:
    suites = ("unit", "behaviour", "faults", "properties")
    crossing = [
        (path, module)
        for suite in suites
        for path, module in imported(f"tests/{suite}")
        if not module.startswith(("tests.support", f"tests.{suite}"))
    ]
    assert crossing == [
        ("tests/unit/admission/test_beside_gardener.py", "tests.behaviour.comparison.differences")
    ], "only the list of differences is checked against the documentation in a unit test"
