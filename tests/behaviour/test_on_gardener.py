"""Every test about Gardener's kinds runs on a real Gardener, or a table states why it does not."""

import ast
from pathlib import Path

import pytest

from tests.behaviour import gardener_selection
from tests.behaviour.gardener_selection import COLLECTED

HERE = Path(__file__).parent


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, functions)}


@pytest.mark.parametrize("entry", gardener_selection.EXCEPTIONS)
def test_no_exception_is_stale(entry):
    module, _, test = entry.partition("::")
    path = HERE / f"{module}.py"
    assert gardener_selection.is_about_gardeners_kinds(path)
    assert not test or test in names_in(path)


@pytest.mark.parametrize("entry", gardener_selection.EXCEPTIONS)
def test_what_an_exception_names_instead_is_there(entry):
    own = entry.partition("::")[0]
    for reference in (
        gardener_selection.EXCEPTIONS[entry].replace(",", " ").replace(";", " ").split()
    ):
        module, _, test = reference.partition("::")
        if module.startswith("test_") and (HERE / f"{module}.py").exists():
            assert not test or test in names_in(HERE / f"{module}.py"), reference
        elif module.startswith("test_"):
            assert module in names_in(HERE / f"{own}.py"), reference


def test_no_test_about_gardeners_kinds_is_forgotten(request):
    # Tests that this run deselects, such as those that run alone, were collected all the same.
    items = [each for each in request.config.stash[COLLECTED] if isinstance(each, pytest.Function)]
    there = {(each.path, each.originalname) for each in items if _has_the_third_server(each)}
    wanted = {(each.path, each.originalname): each for each in items if _must_run(each)}
    assert sorted(f"{path.stem}::{test}" for path, test in wanted.keys() - there) == []


def _has_the_third_server(item: pytest.Function) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("server") == gardener_selection.SERVER


def _must_run(item: pytest.Function) -> bool:
    path = Path(item.path)
    if path.parent != HERE or not gardener_selection.is_about_gardeners_kinds(path):
        return False
    if gardener_selection.is_there_anyway(path, item.fixturenames):
        return False
    return not gardener_selection.reason(path, item.originalname)


def test_what_a_module_has_from_others_counts(tmp_path):
    module = tmp_path / "test_some.py"
    module.write_text("from tests.support.waits import eventually\n")
    assert not gardener_selection.is_about_gardeners_kinds(module)
    module = tmp_path / "test_others.py"
    module.write_text("from tests.behaviour.node_group_server import opened\n")
    assert gardener_selection.is_about_gardeners_kinds(module)
