"""The table of controllers as a whole."""

import inspect

from webhook.controllers.table import CONTROLLERS


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
