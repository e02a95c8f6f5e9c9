"""Every test about Gardener's kinds runs on a real Gardener, or a table says why it does not."""

import ast
from pathlib import Path

import pytest

from tests.behaviour import on_gardener

HERE = Path(__file__).parent


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, functions)}


@pytest.mark.parametrize("entry", on_gardener.EXCEPTIONS)
def test_no_exception_is_stale(entry):
    module, _, test = entry.partition("::")
    path = HERE / f"{module}.py"
    assert on_gardener.is_about_gardeners_kinds(path)
    assert not test or test in names_in(path)


@pytest.mark.parametrize("entry", on_gardener.EXCEPTIONS)
def test_what_an_exception_names_instead_is_there(entry):
    own = entry.partition("::")[0]
    for word in on_gardener.EXCEPTIONS[entry].replace(",", " ").replace(";", " ").split():
        module, _, test = word.partition("::")
        if module.startswith("test_") and (HERE / f"{module}.py").exists():
            assert not test or test in names_in(HERE / f"{module}.py"), word
        elif module.startswith("test_"):
            assert module in names_in(HERE / f"{own}.py"), word


def test_no_test_about_gardeners_kinds_is_forgotten(request):
    forgotten = [item.nodeid for item in request.session.items if not _runs_or_is_excused(item)]
    assert forgotten == []


def _runs_or_is_excused(item: pytest.Function) -> bool:
    path = Path(item.path)
    if path.parent != HERE or not on_gardener.is_about_gardeners_kinds(path):
        return True
    if on_gardener.is_there_anyway(path) or on_gardener.reason(path, item.originalname):
        return True
    # One of its servers is the third; the ids of the other two stand beside it.
    return "server" in item.fixturenames
