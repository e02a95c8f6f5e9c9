"""Tables of distances that cannot be read are warned about on the table itself."""

import pytest

from tests.landscapes import make_region_config, read
from webhook.api.core import ConfigMap
from webhook.controllers import regions
from webhook.domain.options import Options, SchedulingOptions
from webhook.runtime.actions import NOTHING, Emit
from webhook.state.snapshot import Snapshot


def test_a_broken_table_is_an_event_on_it() -> None:
    table = make_region_config({"eu-west-1": "[", "us-east-1": "eu-west-1: 5"})
    (event,) = regions.plan(table, Snapshot.of([])).actions
    assert isinstance(event, Emit)
    assert (event.regarding, event.type, event.reason) == (table, "Warning", regions.BROKEN)
    assert "data[eu-west-1]" in event.message
    assert "us-east-1" not in event.message


@pytest.mark.parametrize(
    ("profile", "told"),
    [("default", "names of regions"), ("weighted", "names of regions"), ("gardener", "no seed")],
)
def test_what_it_leads_to_depends_on_the_profile(profile: str, told: str) -> None:
    table = make_region_config({"eu-west-1": "["})
    options = Options(scheduling=SchedulingOptions(profile=profile))
    (event,) = regions.plan(table, Snapshot.of([], options=options)).actions
    assert isinstance(event, Emit)
    assert told in event.message


def test_other_tables_and_other_config_maps_are_fine() -> None:
    table = make_region_config({"eu-west-1": "us-east-1: 5"})
    other = read(ConfigMap, {"metadata": {"name": "x"}, "data": {"eu-west-1": "["}})
    assert regions.plan(table, Snapshot.of([])) == NOTHING
    assert regions.plan(other, Snapshot.of([])) == NOTHING
