"""The table of controllers as a whole."""

from webhook.controllers.table import CONTROLLERS


def test_rows_have_names_of_their_own() -> None:
    names = [row.name for row in CONTROLLERS]
    assert len({*names}) == len(names)


def test_a_row_comes_after_one_above_it() -> None:
    above: set[str] = set()
    for row in CONTROLLERS:
        assert row.after in {"", *above}
        above.add(row.name)


def test_at_an_edge_everything_comes_after_the_autoscalers() -> None:
    after = {row.name: row.after for row in CONTROLLERS if row.name.startswith("scaling.")}
    assert after["scaling.tortoise"] == after["scaling.standing"] == "scaling.autoscaler"


def test_a_row_needs_only_kinds_that_it_looks_at() -> None:
    for row in CONTROLLERS:
        assert {*row.needs} <= {*row.models}, row.name
