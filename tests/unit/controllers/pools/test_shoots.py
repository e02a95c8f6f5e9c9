"""What is read in shoots, and what is written there."""

import pytest

from tests.unit.controllers.pools.world import KEY, fleet, record, show, zone
from webhook.controllers.pools.shoots import make_quota, quota_nodes, read_backed_off
from webhook.state import fleets

STATUS = """
time: 2026-01-01 12:00:00
nodeGroups:
- name: shoot--dev--one.zone-1
  scaleUp: {status: Backoff, backoffInfo: {errorCode: QUOTA}}
- name: shoot--dev--one.zone-2
  scaleUp: {status: NoActivity}
- name: shoot--dev--one.zone-3
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(STATUS, {"shoot--dev--one.zone-1"}, id="as cluster-autoscaler writes it"),
        pytest.param("", set(), id="empty"),
        pytest.param("{ Backoff", set(), id="no YAML"),
        pytest.param("- Backoff\n- b", set(), id="another shape"),
        pytest.param("nodeGroups: [1, {scaleUp: Backoff}]", set(), id="other entries"),
    ],
)
def test_the_groups_that_cluster_autoscaler_avoids(text: str, found: set[str]) -> None:
    assert read_backed_off(text) == found


def test_a_quota_is_the_maximum_and_the_surge_of_now() -> None:
    owner = zone(0, 2)
    objects = [owner, *fleet(owner, "1", 2), *fleet(owner, "2", 1, revision=2)]
    snapshot = show(*objects, record(disagreeing=""))
    pools, _ = fleets.pools_in(KEY.namespace, snapshot)
    assert quota_nodes(pools[0], snapshot) == 10
    assert make_quota("pool", 10)["spec"] == {
        "selector": {"matchLabels": {"worker.gardener.cloud/pool": "pool"}},
        "limits": {"resources": {"nodes": "10"}},
    }
