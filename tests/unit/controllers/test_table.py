"""The table of controllers as a whole."""

import inspect
from importlib import import_module
from pkgutil import walk_packages

from webhook.controllers.table import CONTROLLERS
from webhook.runtime.controller import Controller


def test_names_are_unique() -> None:
    names = [row.name for row in CONTROLLERS]
    assert len({*names}) == len(names)


def test_a_row_runs_after_one_above_it() -> None:
    above: set[str] = set()
    for row in CONTROLLERS:
        assert row.after in {"", *above}
        above.add(row.name)


def test_at_an_edge_of_a_window_autoscalers_come_first() -> None:
    after = {row.name: row.after for row in CONTROLLERS if row.name.startswith("scaling.")}
    assert after["scaling.tortoise"] == after["scaling.status"] == "scaling.autoscaler"


def test_a_row_needs_only_kinds_that_it_reads() -> None:
    for row in CONTROLLERS:
        assert {*row.needs} <= {*row.models}, row.name


def test_inputs_are_the_further_parameters_of_the_plan() -> None:
    for row in CONTROLLERS:
        _object, _snapshot, *further = inspect.signature(row.plan).parameters
        assert (*further,) == row.inputs, row.name
        assert {*row.refreshes} <= {*row.inputs}, row.name


def test_the_controller_beside_a_gardener_is_in_the_table() -> None:
    assert "managedseedset.rollout" in [row.name for row in CONTROLLERS]


def test_every_controller_of_the_program_is_in_the_table() -> None:
    """A Controller that is defined in any module and missing in the table would never run."""
    defined = {
        id(row): f"{name}: {row.name}"
        for name in _modules("controllers", "placement")
        for value in vars(import_module(name)).values()
        for row in (value if isinstance(value, tuple) else (value,))
        if isinstance(row, Controller)
    }
    listed = {id(row) for row in CONTROLLERS}
    assert [where for row, where in defined.items() if row not in listed] == []
    assert len(defined) == len(CONTROLLERS)


def _modules(*rooms: str) -> list[str]:
    found = []
    for room in rooms:
        package = import_module(f"webhook.{room}")
        found += [each.name for each in walk_packages(package.__path__, f"{package.__name__}.")]
    return found
