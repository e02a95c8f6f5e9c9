"""What is read from the clusters of shoots, and what is written to them."""

import asyncio
import base64
from typing import Any

import pytest
from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.fake_cache import FakeCache
from tests.support.machine_objects import SHOOT_NAMESPACE
from tests.support.pool_objects import KEY, fleet, record, show, zone
from tests.support.scripted_server import Handler, fail, page, respond_json, scripted
from webhook.cluster.client import Client
from webhook.controllers.pools.shoot_clusters import (
    POLL_SECONDS,
    QUOTAS_PATH,
    ShootClusters,
    make_quota,
    quota_nodes,
    read_backed_off,
)
from webhook.domain.options import NodeGroupsOptions, Options
from webhook.state import worker_pools
from webhook.state.live_reads import LiveResults
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
def test_the_groups_that_cluster_autoscaler_backs_off_from(text: str, found: set[str]) -> None:
    assert read_backed_off(text) == found


def test_a_quota_is_the_maximum_and_the_present_surge() -> None:
    owner = zone(0, 2)
    objects = [owner, *fleet(owner, "1", 2), *fleet(owner, "2", 1, revision=2)]
    snapshot = show(*objects, record(disagreeing=""))
    pools, _ = worker_pools.pools_in(KEY.namespace, snapshot)
    assert quota_nodes(pools[0], snapshot) == 10
    assert make_quota("pool", 10)["spec"] == {
        "selector": {"matchLabels": {"worker.gardener.cloud/pool": "pool"}},
        "limits": {"resources": {"nodes": "10"}},
    }


SECRET = f"/api/v1/namespaces/{SHOOT_NAMESPACE}/secrets/espalier-shoot"
STATUS_PATH = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"
OURS, OLD = (f"{QUOTAS_PATH}/espalier-{pool}" for pool in ("pool", "old"))
KEPT = ("PATCH", OURS)
GROUP = f"{SHOOT_NAMESPACE}.zone-1"


class OneRoundClock(FakeClock):
    """Records sleeps without waiting, and ends the first round."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.is_over = asyncio.Event()

    @override
    async def sleep(self, delay: float) -> None:
        if delay == POLL_SECONDS:
            self.is_over.set()
            await super().sleep(delay)
        self.slept.append(delay)


class OnePoolCache(FakeCache):
    """A cache with one pool, and a client for its shoot."""

    def __init__(self, client: Client, *, switched_on: bool = True) -> None:
        super().__init__()
        self._client = client
        self._options = Options(nodegroups=NodeGroupsOptions(capacity_quotas=switched_on))

    @override
    def snapshot(self, live_results: LiveResults | None = None) -> Snapshot:
        return show(zone(0, 1), options=self._options)

    async def client(self, kubeconfig: str) -> Client:
        assert kubeconfig == "a way"
        return self._client


Write = tuple[str, str]


async def visit(
    *listed: Handler, switched_on: bool = True
) -> tuple[ShootClusters, list[float], list[Write]]:
    """Visit the shoot once; return the sleeps and the writes."""
    async with scripted() as (script, client):
        script.respond(
            SECRET, respond_json({"data": {"kubeconfig": base64.b64encode(b"a way").decode()}})
        )
        script.respond(STATUS_PATH, respond_json({"data": {"status": STATUS}}))
        script.respond(QUOTAS_PATH, *listed)
        for path in (OURS, OLD):
            script.respond(path, respond_json({}))
        lonely, clock = OnePoolCache(client, switched_on=switched_on), OneRoundClock()
        shoots = ShootClusters(client, lonely, lonely, clock, timeout=60)
        looking = asyncio.create_task(shoots.run())
        try:
            await clock.is_over.wait()
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        writes = [(each.method, each.path) for each in script.received if each.method != "GET"]
        return shoots, clock.slept, writes


def later(**details: int) -> Handler:
    """Answer like an API server for a kind that was just defined."""
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
async def test_quotas_are_written_once_served_and_errors_do_not_hide_the_status(
    listed: list[Handler], slept: list[float], written: list[Write]
) -> None:
    shoots, waited, wrote = await visit(*listed)
    assert (waited, wrote) == (slept, written)
    assert shoots.backed_off(GROUP) is True


def quota(pool: str, nodes: int = 9) -> dict[str, Any]:
    """Return a quota of ours as the shoot has it."""
    return dict(make_quota(pool, nodes))


@pytest.mark.parametrize(
    ("found", "switched_on", "written"),
    [
        pytest.param([quota("pool")], True, [], id="as it should be"),
        pytest.param([quota("pool", 8)], True, [KEPT], id="changed"),
        pytest.param([quota("old")], True, [KEPT, ("DELETE", OLD)], id="one of a deleted pool"),
        pytest.param([quota("pool")], False, [("DELETE", OURS)], id="switched off"),
        pytest.param([], False, [], id="never switched on"),
    ],
)
async def test_quotas_are_restored(
    found: list[dict[str, Any]], switched_on: bool, written: list[Write]
) -> None:
    _, _, wrote = await visit(page(*found, version="1"), switched_on=switched_on)
    assert wrote == written
