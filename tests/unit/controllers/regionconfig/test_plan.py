"""Events on region ConfigMaps that cannot be parsed."""

import pytest

from tests.support.landscape_objects import make_region_config, read
from webhook.api.core import ConfigMap
from webhook.controllers.regionconfig import plan
from webhook.domain.options import Options, SchedulingOptions
from webhook.runtime.actions import NOTHING, Emit
from webhook.state.snapshot import Snapshot


def test_a_broken_table_gets_an_event() -> None:
    table = make_region_config({"eu-west-1": "[", "us-east-1": "eu-west-1: 5"})
    (event,) = plan.plan(table, Snapshot.of([])).actions
    assert isinstance(event, Emit)
    assert (event.regarding, event.type, event.reason) == (table, "Warning", plan.BROKEN)
    assert "data[eu-west-1]" in event.message
    assert "us-east-1" not in event.message


@pytest.mark.parametrize(
    ("profile", "effect"),
    [("default", "names of regions"), ("weighted", "names of regions"), ("gardener", "no seed")],
)
def test_the_reported_effect_depends_on_the_profile(profile: str, effect: str) -> None:
    table = make_region_config({"eu-west-1": "["})
    options = Options(scheduling=SchedulingOptions(profile=profile))
    (event,) = plan.plan(table, Snapshot.of([], options=options)).actions
    assert isinstance(event, Emit)
    assert effect in event.message


def test_valid_tables_and_other_config_maps_get_no_event() -> None:
    table = make_region_config({"eu-west-1": "us-east-1: 5"})
    other = read(ConfigMap, {"metadata": {"name": "x"}, "data": {"eu-west-1": "["}})
    assert plan.plan(table, Snapshot.of([])) == NOTHING
    assert plan.plan(other, Snapshot.of([])) == NOTHING
