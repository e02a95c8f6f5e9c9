"""What is read in shoots, and what is written there."""

import asyncio
import base64
from typing import Any

import pytest
from typing_extensions import override

from tests.clocks import FakeClock
from tests.machines import SHOOT_NAMESPACE
from tests.scripted import Act, answer, fail, page, scripted
from tests.unit.controllers.pools.world import KEY, fleet, record, show, zone
from webhook.cluster.client import Client
from webhook.controllers.pools.shoots import (
    EVERY_SECONDS,
    QUOTAS,
    Shoots,
    make_quota,
    quota_nodes,
    read_backed_off,
)
from webhook.domain.options import NodeGroupsOptions, Options
from webhook.state import fleets
from webhook.state.snapshot import Snapshot

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


SECRET = f"/api/v1/namespaces/{SHOOT_NAMESPACE}/secrets/espalier-shoot"
SAID = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"
OURS, OLD = (f"{QUOTAS}/espalier-{pool}" for pool in ("pool", "old"))
KEPT = ("PATCH", OURS)
GROUP = f"{SHOOT_NAMESPACE}.zone-1"


class Round(FakeClock):
    """Waits for nothing, remembers how long it should have, and ends with the first round."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.is_over = asyncio.Event()

    @override
    async def sleep(self, delay: float) -> None:
        if delay == EVERY_SECONDS:
            self.is_over.set()
            await super().sleep(delay)
        self.slept.append(delay)


class Lonely:
    """A cache with one pool in it, and the way into the only shoot there is."""

    def __init__(self, client: Client, *, switched_on: bool = True) -> None:
        self._client = client
        self._options = Options(nodegroups=NodeGroupsOptions(capacity_quotas=switched_on))

    def snapshot(self) -> Snapshot:
        return show(zone(0, 1), options=self._options)

    async def client(self, kubeconfig: str) -> Client:
        assert kubeconfig == "a way"
        return self._client


Write = tuple[str, str]


async def look(*listed: Act, switched_on: bool = True) -> tuple[Shoots, list[float], list[Write]]:
    """Look into the shoot once; gives how long that waited and what it wrote."""
    async with scripted() as (script, client):
        script.play(SECRET, answer({"data": {"kubeconfig": base64.b64encode(b"a way").decode()}}))
        script.play(SAID, answer({"data": {"status": STATUS}}))
        script.play(QUOTAS, *listed)
        for path in (OURS, OLD):
            script.play(path, answer({}))
        lonely, clock = Lonely(client, switched_on=switched_on), Round()
        shoots = Shoots(client, lonely, lonely, clock, patience=60)
        looking = asyncio.create_task(shoots.run())
        try:
            await clock.is_over.wait()
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        writes = [(each.method, each.path) for each in script.asked if each.method != "GET"]
        return shoots, clock.slept, writes


def later(**details: int) -> Act:
    """Answer as a real API server does for a kind that was defined just now."""
    return fail(429, "TooManyRequests", "storage is (re)initializing", details=details)


@pytest.mark.parametrize(
    ("listed", "slept", "written"),
    [
        pytest.param([page(version="1")], [], [KEPT], id="served"),
        pytest.param([], [], [], id="not served"),
        pytest.param(
            [later(retryAfterSeconds=2), later(), page(version="1")],
            [2.0, 1.0],
            [KEPT],
            id="served in a moment",
        ),
        pytest.param([fail(403, "Forbidden")], [], [], id="forbidden"),
    ],
)
async def test_quotas_are_kept_as_soon_as_they_are_served_and_never_hide_what_is_said(
    listed: list[Act], slept: list[float], written: list[Write]
) -> None:
    shoots, waited, wrote = await look(*listed)
    assert (waited, wrote) == (slept, written)
    assert shoots.backed_off(GROUP) is True


def quota(pool: str, nodes: int = 9) -> dict[str, Any]:
    """A quota of ours as the shoot has it."""
    return dict(make_quota(pool, nodes))


@pytest.mark.parametrize(
    ("found", "switched_on", "written"),
    [
        pytest.param([quota("pool")], True, [], id="as it should be"),
        pytest.param([quota("pool", 8)], True, [KEPT], id="somebody changed it"),
        pytest.param(
            [quota("old")], True, [KEPT, ("DELETE", OLD)], id="one of a pool that is no more"
        ),
        pytest.param([quota("pool")], False, [("DELETE", OURS)], id="switched off"),
        pytest.param([], False, [], id="switched off all along"),
    ],
)
async def test_quotas_are_what_they_should_be_whoever_changed_them(
    found: list[dict[str, Any]], switched_on: bool, written: list[Write]
) -> None:
    _, _, wrote = await look(page(*found, version="1"), switched_on=switched_on)
    assert wrote == written
