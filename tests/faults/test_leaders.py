"""Leaders that die, hang or freeze: another one leads in time, and never two at once."""

import asyncio
import itertools
import json
import os
import random
import signal
import time
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest

from tests.support.api_proxy import Call, Proxy, open_proxy
from tests.support.landscape_objects import raw_seed, raw_shoot
from tests.support.scheduler import create_all, define_kinds
from tests.support.server_processes import Replica, running
from tests.support.waits import eventually
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.core import Lease, Namespace
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import Selection
from webhook.kube.meta import Draft, ObjectKey

SOAK = bool(os.environ.get("ESPALIER_SOAK"))
LEASE, RETRY = 6, 0.5
"""A leader that is short of time gives up after a third of it, before others lead."""
LONG_LEASE = 90
TURNS = 40 if SOAK else 5
REPLICAS = 3 if SOAK else 2
SLACK = 60

pytestmark = pytest.mark.timeout(0 if SOAK else 480)


BOTH = ("embedded", "real")


def on(*names: str) -> pytest.MarkDecorator:
    """Run a test on these servers; a soak runs it on both."""
    return pytest.mark.parametrize("server", BOTH if SOAK else names, indirect=True)


@pytest.fixture
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
async def api(server):
    async with Client(await config.load(str(server.kubeconfig))) as client:
        yield client


@pytest.fixture
def namespace() -> str:
    return f"lead-{uuid4().hex[:8]}"


def make_replicas(
    count: int, tmp_path, kubeconfigs, namespace: str, lease: int = LEASE
) -> list[Replica]:
    flags = (
        *("--namespace", namespace, "--roles", "controllers", "--drain-quiet", "0"),
        *("--lease-duration", str(lease), "--renew-deadline", str(lease / 3)),
        *("--retry-period", str(RETRY)),
    )
    return [
        Replica(f"replica-{index}", tmp_path, kubeconfig, *flags)
        for index, kubeconfig in zip(range(count), kubeconfigs, strict=False)
    ]


async def the_lease(api: Client, namespace: str) -> Any:
    return await api.get(kind_of_model(Lease), ObjectKey(namespace, "espalier"))


async def holder(api: Client, namespace: str) -> str:
    try:
        lease = await the_lease(api, namespace)
    except NotFoundError:
        return ""
    return str(lease["spec"].get("holderIdentity") or "").rpartition("_")[0]


async def is_led(api: Client, namespace: str, *, by_other_than: str = "") -> bool:
    return await holder(api, namespace) not in ("", by_other_than)


def leading_spans(replica: Replica) -> list[tuple[float, float]]:
    """Return the spans of time in which a replica believed to lead, by its own log."""
    found: list[list[float]] = []
    for line in replica.lines():
        at = datetime.fromisoformat(line["time"]).timestamp()
        if line["message"] == "started leading":
            found.append([at, float("inf")])
        elif line["message"] == "stopped leading":
            found[-1][1] = at
    return [(begin, end) for begin, end in found]


@on(*BOTH)
async def test_a_killed_leader_is_replaced_in_time(server, api, namespace, tmp_path):
    replicas = make_replicas(REPLICAS, tmp_path, itertools.repeat(server.kubeconfig), namespace)
    async with running(*replicas):
        await eventually(lambda: is_led(api, namespace), 60)
        await asyncio.sleep(2 * RETRY)
        leader = await holder(api, namespace)
        next(each for each in replicas if each.name == leader).send(signal.SIGKILL)
        last = (await the_lease(api, namespace))["spec"]
        await eventually(lambda: is_led(api, namespace, by_other_than=leader), LEASE + SLACK)
        lease = (await the_lease(api, namespace))["spec"]
        assert lease["leaseTransitions"] == last["leaseTransitions"] + 1
        renewed, acquired = (
            datetime.fromisoformat(at) for at in (last["renewTime"], lease["acquireTime"])
        )
        waited = (acquired - renewed).total_seconds()
        assert waited > LEASE - 0.5, "and not before the lease is over"
        assert waited < 2 * LEASE, "and not a whole lease later: it is tried every half second"


@on("embedded")
async def test_a_leader_that_stops_hands_over_at_once(server, api, namespace, tmp_path):
    kubeconfigs = itertools.repeat(server.kubeconfig)
    replicas = make_replicas(2, tmp_path, kubeconfigs, namespace, LONG_LEASE)
    async with running(*replicas):
        await eventually(lambda: is_led(api, namespace), 60)
        leader = await holder(api, namespace)
        follower = next(each for each in replicas if each.name != leader)
        await follower.until_ready()
        last = (await the_lease(api, namespace))["spec"]
        assert await next(each for each in replicas if each.name == leader).end() == 0
        await follower.logged("started leading", LONG_LEASE / 2)
        assert (await the_lease(api, namespace))["spec"]["leaseTransitions"] == (
            last["leaseTransitions"] + 1
        )


@on("embedded")
async def test_no_two_believe_that_they_lead_while_the_api_hangs(server, api, namespace, tmp_path):
    chance = random.Random(7)
    async with AsyncExitStack() as stack:
        proxies = [
            await stack.enter_async_context(open_proxy(server, tmp_path, f"proxy-{index}"))
            for index in range(3)
        ]
        kubeconfigs = [proxy.kubeconfig for proxy in proxies]
        replicas = make_replicas(3, tmp_path, kubeconfigs, namespace)
        async with running(*replicas):
            await eventually(lambda: is_led(api, namespace), 60)
            for _ in range(TURNS):
                leader = await holder(api, namespace)
                proxy = proxies[
                    next((i for i, each in enumerate(replicas) if each.name == leader), 0)
                ]
                proxy.hang()
                await asyncio.sleep(chance.uniform(0.5, LEASE + 2 * RETRY))
                proxy.resume()
                await asyncio.sleep(chance.uniform(0, 2 * RETRY))
    periods = sorted(period for each in replicas for period in leading_spans(each))
    assert len(periods) >= 2, "somebody else led at least once"
    for (_, end), (begin, _) in itertools.pairwise(periods):
        assert end <= begin, periods


def accepted_writes(proxy: Proxy, since: float) -> list[Call]:
    """Return the accepted writes of a replica since a time, except Events and the like."""
    return [
        call
        for call in proxy.calls
        if call.at >= since
        and call.writes
        and call.status < 300
        and "/events" not in call.path
        and "reviews" not in call.path
    ]


def is_guarded(call: Call) -> bool:
    """Return whether a write has the version of the object as a precondition."""
    body: Any = json.loads(call.body)
    if call.method == "DELETE":
        return bool(body.get("preconditions"))
    if call.method == "POST":
        return True  # creating an object that exists is refused
    metadata = body.get("metadata", {}) if isinstance(body, dict) else {}
    return bool(metadata.get("resourceVersion") or metadata.get("uid"))


@on("real")
async def test_a_frozen_leader_that_wakes_up_writes_nothing_that_is_not_guarded(
    server, api, namespace, tmp_path
):
    """Freeze the leader while it places shoots; the next one takes over; then resume it."""
    await define_kinds(server)
    suffix = uuid4().hex[:6]
    provider = f"local-{suffix}"
    profile = {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "CloudProfile",
        "metadata": {"name": provider},
        "spec": {"type": provider},
    }
    shoots = [
        raw_shoot(f"shoot-{index:03}", namespace=namespace, provider=provider)
        for index in range(40)
    ]
    async with AsyncExitStack() as stack:
        proxies = [
            await stack.enter_async_context(open_proxy(server, tmp_path, f"proxy-{index}"))
            for index in range(2)
        ]
        replicas = make_replicas(2, tmp_path, [proxy.kubeconfig for proxy in proxies], namespace)
        async with running(*replicas):
            await eventually(lambda: is_led(api, namespace), 60)
            leader = await holder(api, namespace)
            index = next(i for i, each in enumerate(replicas) if each.name == leader)
            await create_all(api, [profile, raw_seed(f"seed-{suffix}", provider=provider)])
            await _freeze_while_placing(api, namespace, replicas[index], shoots)
            await _check_writes_after_resuming(replicas[index], proxies[index])
    periods = sorted(period for each in replicas for period in leading_spans(each))
    assert len(periods) >= 2
    await _clean(api, namespace, suffix)


async def _freeze_while_placing(
    api: Client, namespace: str, leader: Replica, shoots: list[Draft]
) -> None:
    """Freeze the leader when some shoots are placed; another one places the rest."""
    creating = asyncio.create_task(create_all(api, shoots, at_once=4))
    await eventually(lambda: _some_placed(api, namespace), 60)
    leader.send(signal.SIGSTOP)
    await creating
    await eventually(lambda: is_led(api, namespace, by_other_than=leader.name), 90)
    await eventually(lambda: _all_placed(api, namespace, len(shoots)), 120)


async def _check_writes_after_resuming(leader: Replica, proxy: Proxy) -> None:
    resumed = time.time()
    leader.send(signal.SIGCONT)
    await leader.logged("lost the lease", 90)
    await asyncio.sleep(1)
    writes = accepted_writes(proxy, resumed)
    assert [call for call in writes if "/shoots" in call.path] == []
    assert all(is_guarded(call) for call in writes)


async def _seeds(api: Client, namespace: str) -> list[str]:
    page = await api.page(Selection(kind_of_model(Shoot), namespace), limit=0)
    return [json.loads(bytes(item))["spec"].get("seedName", "") for item in page.items]


async def _some_placed(api: Client, namespace: str) -> bool:
    return sum(map(bool, await _seeds(api, namespace))) > 5


async def _all_placed(api: Client, namespace: str, count: int) -> bool:
    return sum(map(bool, await _seeds(api, namespace))) == count


async def _clean(api: Client, namespace: str, suffix: str) -> None:
    await api.delete(kind_of_model(Seed), ObjectKey("", f"seed-{suffix}"))
    await api.delete(kind_of_model(CloudProfile), ObjectKey("", f"local-{suffix}"))
    await api.delete(kind_of_model(Namespace), ObjectKey("", namespace))
