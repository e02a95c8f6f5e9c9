"""Scheduled scaling beside a faithful stand-in for Tortoise, on both API servers.

All scenarios of a server run at the same time, each in a namespace of its own, with two replicas
of ours whose clocks are a second apart; a test waits for its scenario and says how it went.
"""

import argparse
import asyncio
import contextlib
import io
import json
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
import yaml

from tests.behaviour.scaling import GROUP, MEMORY, POLICY, Estate, Shop, estate
from tests.behaviour.tortoises import AUTOSCALERS, TORTOISES
from tests.behaviour.watching import events
from tests.planes import require_parts
from webhook.api import names, quantity
from webhook.cli import manifests
from webhook.planes.embedded import Embedded
from webhook.planes.kubernetes import Kubernetes

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(420),
    pytest.mark.asyncio(loop_scope="module"),
]

QUIET_SECONDS = 60


async def floors_come_and_go(shop: Shop, phase: str) -> None:
    await shop.open(phase)
    most = 20 if phase == "Working" else 100
    before = await shop.slots()
    await shop.schedule()
    await shop.until_bounds(50, max(50, most))
    await shop.until_allowed(MEMORY)
    tortoise = await shop.until_tortoise(_has_requests)
    given = tortoise["status"]["conditions"]["containerResourceRequests"][0]["resource"]
    assert quantity.parse(given["memory"]) >= quantity.parse(MEMORY)
    await shop.until_condition(names.RESOURCES_REACHED, "True", "Reached")
    await shop.until_condition(names.EFFECTIVE, "True", "Held")
    await shop.until_bounds(3, most)
    await shop.until_allowed(None)
    await shop.until_clean()
    await shop.until_phase("Completed")
    assert await shop.slots() == before
    told = await shop.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}")
    assert {"ScheduledScalingUp", "ScheduledScalingDown"} <= set(told.stdout.split())
    await shop.until_unlabelled()


def _has_requests(tortoise: Any) -> bool:
    found = tortoise["status"]["conditions"].get("containerResourceRequests")
    return bool(found) and quantity.parse(found[0]["resource"]["memory"]) >= quantity.parse(MEMORY)


async def working(shop: Shop) -> None:
    await floors_come_and_go(shop, "Working")


async def partly_working(shop: Shop) -> None:
    await floors_come_and_go(shop, "PartlyWorking")


async def back_to_normal(shop: Shop) -> None:
    """Its minimum falls step by step and is held at the floor; then it falls on."""
    await shop.open("BackToNormal", minimum=11)
    await shop.schedule(seconds=60, replicas=12)
    await shop.until_bounds(12, 100)
    await shop.until_condition(names.EFFECTIVE, "True", "Held")
    await shop.until_bounds(10, 20)
    await shop.until_tortoise(lambda found: found["status"]["tortoisePhase"] == "Working")
    await shop.until_clean()


async def quiet(shop: Shop) -> None:
    """Tortoise puts its autoscaler again and again, and nothing changes."""
    await shop.open()
    await shop.schedule(seconds=QUIET_SECONDS + 150)
    await shop.until_bounds(50, 50)
    await shop.until_condition(names.EFFECTIVE, "True", "Held")
    # The first puts after ours still move the ownership of fields.
    await shop.until_put(4)
    found = await shop.until(
        AUTOSCALERS,
        "horizontalpodautoscalers",
        lambda each: each.get("status", {}).get("currentReplicas") == 50,
    )
    assert shop.estate.standin is not None
    puts = shop.estate.standin.puts[shop.namespace]
    path = f"{AUTOSCALERS}/namespaces/{shop.namespace}/horizontalpodautoscalers"
    version = found["metadata"]["resourceVersion"]
    query = {"resourceVersion": version, "timeoutSeconds": str(QUIET_SECONDS // 2)}
    for _ in range(2):
        changes = [event async for event in events(shop.session, path, **query)]
        assert changes == []
    assert shop.estate.standin.puts[shop.namespace] - puts >= 4
    await shop.until_condition(names.EFFECTIVE, "True", "Held")


async def sent_again(shop: Shop) -> None:
    """The manifest that a pipeline holds is applied and replaced in the window."""
    await shop.open(resourcePolicy=[POLICY])
    await shop.schedule(seconds=75)
    await shop.until_bounds(50, 50)
    await shop.until_allowed(MEMORY)
    manifest = shop.manifest(resourcePolicy=[POLICY])
    refused = await shop.kubectl("apply", "--server-side", "-f", "-", input=manifest, check=False)
    assert "conflict" in refused.stderr, "our floor is not taken away unnoticed"
    commands = (
        ("apply",),
        ("apply", "--server-side", "--force-conflicts"),
        ("replace",),
    )
    for command in commands:
        await shop.kubectl(*command, "-f", "-", input=manifest)
        tortoise = await shop.call("GET", f"{_tortoises(shop)}/cute")
        least = tortoise["spec"]["resourcePolicy"][0]["minAllocatedResources"]["memory"]
        assert least == MEMORY, command
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cute"}
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "tortoise-hpa-cute"},
        "spec": {"minReplicas": 3, "maxReplicas": 20, "scaleTargetRef": target},
    }
    for command in commands:
        async with asyncio.timeout(90):
            while (await shop.kubectl(*command, "-f", "-", input=autoscaler, check=False)).code:
                continue  # Tortoise has written in between
        await shop.until_bounds(50, 50, 5)
    await shop.until_bounds(3, 20)
    await shop.until_clean({"resourcePolicy": [POLICY]})


def _tortoises(shop: Shop) -> str:
    return f"{TORTOISES}/namespaces/{shop.namespace}/tortoises"


async def switched_off(shop: Shop) -> None:
    await shop.open()
    await shop.schedule(seconds=150)
    await shop.until_bounds(50, 50)
    await shop.patch(f"{_tortoises(shop)}/cute", {"spec": {"updateMode": "Off"}})
    await shop.until_bounds(3, 20, 45)
    await shop.until_tortoise(lambda found: "resourcePolicy" not in found["spec"], 45)
    await shop.until_condition(names.EFFECTIVE, "False", "Idle")


async def deleted_but_kept(shop: Shop) -> None:
    """A Tortoise that goes leaves its autoscaler behind, without our floor."""
    await shop.open()
    await shop.schedule(seconds=200)
    await shop.until_bounds(50, 50)
    await shop.kubectl("delete", "tortoise", "cute", "--timeout=90s")
    await shop.until_bounds(3, 20, 45)


async def recreated(shop: Shop) -> None:
    await shop.open()
    await shop.schedule(seconds=75)
    await shop.until_bounds(50, 50)
    await shop.kubectl("delete", "tortoise", "cute", "--timeout=60s")
    await shop.come()
    await shop.until_bounds(50, 50, 45)
    await shop.until_allowed(MEMORY)
    await shop.until_bounds(3, 20)
    await shop.until_clean()


async def namespace_deleted(shop: Shop) -> None:
    await shop.open()
    await shop.schedule(seconds=120)
    await shop.until_bounds(50, 50)
    await shop.until_condition(names.EFFECTIVE, "True", "Held")
    server = shop.estate.server
    await server.kubectl("delete", "namespace", shop.namespace, "--timeout=120s")


async def tortoise_away(shop: Shop) -> None:
    """Its webhooks fail closed: nothing can be set without them, at neither edge."""
    assert shop.estate.standin is not None
    away = shop.estate.standin.away
    await shop.open()
    await shop.schedule(seconds=75)
    away.add(shop.namespace)
    await shop.until_condition(names.EFFECTIVE, "False", "Blocked")
    away.discard(shop.namespace)
    await shop.until_bounds(50, 50, 45)
    await shop.until_condition(names.EFFECTIVE, "True", "Held")
    away.add(shop.namespace)
    await shop.until_phase("Completed")
    await shop.until_condition(names.EFFECTIVE, "False", "Blocked")
    away.discard(shop.namespace)
    await shop.until_bounds(3, 20, 60)
    await shop.until_clean()


async def behind_by_two_seconds(shop: Shop) -> None:
    """One replica hears nothing around both edges, and answers half of the calls."""
    way = shop.estate.ways[1]
    await shop.open()
    for least, most in ((50, 50), (3, 20)):
        if least == 50:
            way.hold_watches()
            await shop.schedule(after=1, seconds=45)
        else:
            await asyncio.sleep(1)
            way.hold_watches()
        await asyncio.sleep(2)
        way.release_watches()
        await shop.until_bounds(least, most)
    await asyncio.sleep(4)
    await shop.until_bounds(3, 20, 5)
    await shop.until_clean()


async def without_the_record(shop: Shop) -> None:
    """Hold floors though the served Tortoise has no fields for the record, then add them."""
    await shop.open()
    await shop.schedule(after=1, seconds=45)
    await shop.until_bounds(50, 50)
    try:
        await shop.until_condition(names.CONSTRAINTS_STORED, "False", "NotServed")
        await shop.until_condition(names.EFFECTIVE, "True", "Held")
    finally:
        await _add_the_record(shop.estate)
    await shop.until_bounds(3, 20)
    await shop.until_clean()


async def _add_the_record(found: Estate) -> None:
    code, printed = await asyncio.to_thread(_espalier, found, "--tortoise-crd-patch")
    assert code == 0
    patch = json.dumps(yaml.safe_load(printed))
    definition = "tortoises.autoscaling.mercari.com"
    await found.server.kubectl("patch", "crd", definition, "--type=json", "-p", patch)
    found.recorded.set()


async def on_record(shop: Shop) -> None:
    """See the constraints in the status as long as a window is open, whatever Tortoise puts."""
    await shop.open()
    async with asyncio.timeout(200):
        await shop.estate.recorded.wait()
    await shop.schedule(after=1, seconds=40)
    await shop.until_condition(names.CONSTRAINTS_STORED, "True", "Stored")

    def recorded(tortoise: Any) -> bool:
        found = tortoise["status"]["recommendations"].get("constraints", {})
        return "recommenders" in tortoise["spec"] and found.get("minimumMinReplicas") == 50

    await shop.until_tortoise(recorded)
    await shop.until_clean()


SCENARIOS: dict[str, Callable[[Shop], Coroutine[Any, Any, None]]] = {
    "working": working,
    "partly-working": partly_working,
    "back-to-normal": back_to_normal,
    "quiet": quiet,
    "sent-again": sent_again,
    "switched-off": switched_off,
    "deleted-but-kept": deleted_but_kept,
    "recreated": recreated,
    "namespace-deleted": namespace_deleted,
    "tortoise-away": tortoise_away,
    "behind-by-two-seconds": behind_by_two_seconds,
    "without-the-record": without_the_record,
    "on-record": on_record,
}
IN_BOTH_ORDERS = ("working", "partly-working", "back-to-normal", "quiet")
RUNS = [
    (name, sorts)
    for name in SCENARIOS
    for sorts in (("before", "after") if name in IN_BOTH_ORDERS else ("after",))
]


class Running(NamedTuple):
    """The estate of one server, and the scenarios that run on it."""

    estate: Estate
    tasks: dict[tuple[str, str], "asyncio.Task[None]"]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["embedded", "real"])
async def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Running]:
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "real":
        require_parts("etcd", "kubernetes")
        server: Any = Kubernetes(directory / "server", durable=False)
    else:
        server = Embedded(directory / "server")
    async with server, estate(server, directory) as found:
        tasks: dict[tuple[str, str], asyncio.Task[None]] = {
            (name, sorts): asyncio.create_task(SCENARIOS[name](found.shop(name, sorts)))
            for name, sorts in RUNS
        }
        try:
            yield Running(found, tasks)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)


def _espalier(found: Estate, *flags: str) -> tuple[int, str]:
    parser = argparse.ArgumentParser()
    manifests.add_arguments(parser)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        arguments = parser.parse_args([f"--kubeconfig={found.server.kubeconfig}", *flags])
        code = manifests.run(arguments)
    return code, out.getvalue()


@pytest.mark.parametrize(("name", "sorts"), RUNS, ids=[f"{name}-{sorts}" for name, sorts in RUNS])
async def test_beside_tortoise(running: Running, name: str, sorts: str) -> None:
    await running.tasks[name, sorts]


async def test_servers_killed_in_a_window_catch_up(running: Running) -> None:
    shop = running.estate.shop("killed")
    await shop.open("PartlyWorking")
    await shop.schedule(after=1, seconds=25)
    over = asyncio.get_running_loop().time() + 27
    await shop.until_bounds(50, 100)
    for replica in running.estate.replicas:
        replica.send(signal.SIGKILL)
        await replica.process.wait()
    await asyncio.sleep(over - asyncio.get_running_loop().time())
    await shop.until_bounds(50, 100, 5)
    await running.estate.start(2, 0.0)
    await shop.until_bounds(3, 100)
    await shop.until_clean()
    await shop.until_phase("Completed")


async def test_uninstalling_in_a_window_leaves_nothing(running: Running) -> None:
    shop = running.estate.shop("leaving")
    await shop.open(resourcePolicy=[POLICY])
    await shop.schedule(after=1, seconds=300)
    await shop.until_bounds(50, 50)
    await shop.until_condition(names.EFFECTIVE, "True", "Held")
    code, printed = await asyncio.to_thread(_espalier, running.estate, "--uninstall", "--force")
    assert code == 0, printed
    await shop.until_bounds(3, 20, 5)
    await shop.until_clean({"resourcePolicy": [POLICY]}, 15)
    await shop.until_unlabelled(5)
    path = f"{GROUP}/namespaces/{shop.namespace}/scheduledscalings"
    scaling = (await shop.call("GET", path))["items"][0]
    assert not scaling["metadata"].get("finalizers")
