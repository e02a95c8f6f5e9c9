"""Scheduled scaling with a fake Tortoise, on both API servers.

All scenarios of a server run at the same time, each in its own namespace, with two replicas of ours
whose clocks are a second apart; a test waits for its scenario and reports its outcome.
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

from tests.support.control_planes import kubernetes
from tests.support.fake_tortoise import AUTOSCALERS, TORTOISES
from tests.support.scaling_cluster import ScalingCluster, scaling_cluster
from tests.support.scaling_workload import GROUP, MEMORY, POLICY, Workload
from tests.support.watches import events
from webhook.api import names
from webhook.cli import manifests
from webhook.dev.planes.embedded import Embedded
from webhook.kube import quantity

pytestmark = [
    pytest.mark.alone,
    pytest.mark.timeout(420),
    pytest.mark.asyncio(loop_scope="module"),
]

QUIET_SECONDS = 60


async def floors_come_and_go(workload: Workload, phase: str) -> None:
    await workload.open(phase)
    most = 20 if phase == "Working" else 100
    before = await workload.slots()
    await workload.schedule()
    await workload.until_bounds(50, max(50, most))
    await workload.until_allowed(MEMORY)
    tortoise = await workload.until_tortoise(_has_requests)
    given = tortoise["status"]["conditions"]["containerResourceRequests"][0]["resource"]
    assert quantity.parse(given["memory"]) >= quantity.parse(MEMORY)
    await workload.until_condition(names.RESOURCES_REACHED, "True", "Reached")
    await workload.until_condition(names.EFFECTIVE, "True", "Held")
    await workload.until_bounds(3, most)
    await workload.until_allowed(None)
    await workload.until_clean()
    await workload.until_phase("Completed")
    assert await workload.slots() == before
    reported = await workload.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}")
    assert {"ScheduledScalingUp", "ScheduledScalingDown"} <= set(reported.stdout.split())
    await workload.until_unlabelled()


def _has_requests(tortoise: Any) -> bool:
    found = tortoise["status"]["conditions"].get("containerResourceRequests")
    return bool(found) and quantity.parse(found[0]["resource"]["memory"]) >= quantity.parse(MEMORY)


async def working(workload: Workload) -> None:
    await floors_come_and_go(workload, "Working")


async def partly_working(workload: Workload) -> None:
    await floors_come_and_go(workload, "PartlyWorking")


async def back_to_normal(workload: Workload) -> None:
    """Its minimum falls step by step, is held at the floor, and then falls further."""
    await workload.open("BackToNormal", minimum=11)
    await workload.schedule(seconds=60, replicas=12)
    await workload.until_bounds(12, 100)
    await workload.until_condition(names.EFFECTIVE, "True", "Held")
    await workload.until_bounds(10, 20)
    await workload.until_tortoise(lambda found: found["status"]["tortoisePhase"] == "Working")
    await workload.until_clean()


async def quiet(workload: Workload) -> None:
    """Tortoise puts its autoscaler repeatedly, and nothing changes."""
    await workload.open()
    await workload.schedule(seconds=QUIET_SECONDS + 150)
    await workload.until_bounds(50, 50)
    await workload.until_condition(names.EFFECTIVE, "True", "Held")
    # The first puts after ours still change the field owners.
    await workload.until_put(4)
    found = await workload.until(
        AUTOSCALERS,
        "horizontalpodautoscalers",
        lambda each: each.get("status", {}).get("currentReplicas") == 50,
    )
    assert workload.scaling_cluster.fake_tortoise is not None
    puts = workload.scaling_cluster.fake_tortoise.puts[workload.namespace]
    path = f"{AUTOSCALERS}/namespaces/{workload.namespace}/horizontalpodautoscalers"
    version = found["metadata"]["resourceVersion"]
    query = {"resourceVersion": version, "timeoutSeconds": str(QUIET_SECONDS // 2)}
    for _ in range(2):
        changes = [event async for event in events(workload.session, path, **query)]
        assert changes == []
    assert workload.scaling_cluster.fake_tortoise.puts[workload.namespace] - puts >= 4
    await workload.until_condition(names.EFFECTIVE, "True", "Held")


async def sent_again(workload: Workload) -> None:
    """A manifest from a pipeline is applied and replaced in the window."""
    await workload.open(resourcePolicy=[POLICY])
    await workload.schedule(seconds=75)
    await workload.until_bounds(50, 50)
    await workload.until_allowed(MEMORY)
    manifest = workload.manifest(resourcePolicy=[POLICY])
    refused = await workload.kubectl(
        "apply", "--server-side", "-f", "-", input=manifest, check=False
    )
    assert "conflict" in refused.stderr, "our floor is not taken away unnoticed"
    commands = (
        ("apply",),
        ("apply", "--server-side", "--force-conflicts"),
        ("replace",),
    )
    for command in commands:
        await workload.kubectl(*command, "-f", "-", input=manifest)
        tortoise = await workload.call("GET", f"{_tortoises(workload)}/cute")
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
            while (await workload.kubectl(*command, "-f", "-", input=autoscaler, check=False)).code:
                continue  # Tortoise has written in between
        await workload.until_bounds(50, 50, 5)
    await workload.until_bounds(3, 20)
    await workload.until_clean({"resourcePolicy": [POLICY]})


def _tortoises(workload: Workload) -> str:
    return f"{TORTOISES}/namespaces/{workload.namespace}/tortoises"


async def switched_off(workload: Workload) -> None:
    await workload.open()
    await workload.schedule(seconds=150)
    await workload.until_bounds(50, 50)
    await workload.patch(f"{_tortoises(workload)}/cute", {"spec": {"updateMode": "Off"}})
    await workload.until_bounds(3, 20, 45)
    await workload.until_tortoise(lambda found: "resourcePolicy" not in found["spec"], 45)
    await workload.until_condition(names.EFFECTIVE, "False", "Idle")


async def deleted_but_kept(workload: Workload) -> None:
    """A deleted Tortoise leaves its autoscaler behind, without our floor."""
    await workload.open()
    await workload.schedule(seconds=200)
    await workload.until_bounds(50, 50)
    await workload.kubectl("delete", "tortoise", "cute", "--timeout=90s")
    await workload.until_bounds(3, 20, 45)


async def recreated(workload: Workload) -> None:
    await workload.open()
    await workload.schedule(seconds=75)
    await workload.until_bounds(50, 50)
    await workload.kubectl("delete", "tortoise", "cute", "--timeout=60s")
    await workload.create_tortoise()
    await workload.until_bounds(50, 50, 45)
    await workload.until_allowed(MEMORY)
    await workload.until_bounds(3, 20)
    await workload.until_clean()


async def namespace_deleted(workload: Workload) -> None:
    await workload.open()
    await workload.schedule(seconds=120)
    await workload.until_bounds(50, 50)
    await workload.until_condition(names.EFFECTIVE, "True", "Held")
    server = workload.scaling_cluster.server
    await server.kubectl("delete", "namespace", workload.namespace, "--timeout=120s")


async def tortoise_away(workload: Workload) -> None:
    """Its webhooks fail closed: without them nothing can be written, at neither edge."""
    assert workload.scaling_cluster.fake_tortoise is not None
    away = workload.scaling_cluster.fake_tortoise.away
    await workload.open()
    await workload.schedule(seconds=75)
    away.add(workload.namespace)
    await workload.until_condition(names.EFFECTIVE, "False", "Blocked")
    away.discard(workload.namespace)
    await workload.until_bounds(50, 50, 45)
    await workload.until_condition(names.EFFECTIVE, "True", "Held")
    away.add(workload.namespace)
    await workload.until_phase("Completed")
    await workload.until_condition(names.EFFECTIVE, "False", "Blocked")
    away.discard(workload.namespace)
    await workload.until_bounds(3, 20, 60)
    await workload.until_clean()


async def behind_by_two_seconds(workload: Workload) -> None:
    """One replica gets no events around both edges, and answers half of the reviews."""
    proxy = workload.scaling_cluster.proxies[1]
    await workload.open()
    for least, most in ((50, 50), (3, 20)):
        if least == 50:
            proxy.hold_watches()
            await workload.schedule(after=1, seconds=45)
        else:
            await asyncio.sleep(1)
            proxy.hold_watches()
        await asyncio.sleep(2)
        proxy.release_watches()
        await workload.until_bounds(least, most)
    await asyncio.sleep(4)
    await workload.until_bounds(3, 20, 5)
    await workload.until_clean()


async def without_the_record(workload: Workload) -> None:
    """Floors hold although Tortoise's CRD has no fields for the record; then these are added."""
    await workload.open()
    await workload.schedule(after=1, seconds=45)
    await workload.until_bounds(50, 50)
    try:
        await workload.until_condition(names.CONSTRAINTS_STORED, "False", "NotServed")
        await workload.until_condition(names.EFFECTIVE, "True", "Held")
    finally:
        await _add_the_record(workload.scaling_cluster)
    await workload.until_bounds(3, 20)
    await workload.until_clean()


async def _add_the_record(found: ScalingCluster) -> None:
    code, printed = await asyncio.to_thread(_espalier, found, "--tortoise-crd-patch")
    assert code == 0
    patch = json.dumps(yaml.safe_load(printed))
    definition = "tortoises.autoscaling.mercari.com"
    await found.server.kubectl("patch", "crd", definition, "--type=json", "-p", patch)
    found.recorded.set()


async def on_record(workload: Workload) -> None:
    """The status has the constraints while a window is open, whatever Tortoise puts."""
    await workload.open()
    async with asyncio.timeout(200):
        await workload.scaling_cluster.recorded.wait()
    await workload.schedule(after=1, seconds=40)
    await workload.until_condition(names.CONSTRAINTS_STORED, "True", "Stored")

    def recorded(tortoise: Any) -> bool:
        found = tortoise["status"]["recommendations"].get("constraints", {})
        return "recommenders" in tortoise["spec"] and found.get("minimumMinReplicas") == 50

    await workload.until_tortoise(recorded)
    await workload.until_clean()


SCENARIOS: dict[str, Callable[[Workload], Coroutine[Any, Any, None]]] = {
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
    """The cluster of one server, and the scenarios that run on it."""

    scaling_cluster: ScalingCluster
    tasks: dict[tuple[str, str], "asyncio.Task[None]"]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["embedded", "real"])
async def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Running]:
    directory = tmp_path_factory.mktemp(request.param)
    started: Any = kubernetes if request.param == "real" else Embedded
    async with (
        started(directory / "server") as server,
        scaling_cluster(server, directory) as found,
    ):
        tasks: dict[tuple[str, str], asyncio.Task[None]] = {
            (name, sorts): asyncio.create_task(SCENARIOS[name](found.workload(name, sorts)))
            for name, sorts in RUNS
        }
        try:
            yield Running(found, tasks)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)


def _espalier(found: ScalingCluster, *flags: str) -> tuple[int, str]:
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
    workload = running.scaling_cluster.workload("killed")
    await workload.open("PartlyWorking")
    await workload.schedule(after=1, seconds=25)
    over = asyncio.get_running_loop().time() + 27
    await workload.until_bounds(50, 100)
    for replica in running.scaling_cluster.replicas:
        replica.send(signal.SIGKILL)
        await replica.process.wait()
    await asyncio.sleep(over - asyncio.get_running_loop().time())
    await workload.until_bounds(50, 100, 5)
    await running.scaling_cluster.start(2, 0.0)
    await workload.until_bounds(3, 100)
    await workload.until_clean()
    await workload.until_phase("Completed")


async def test_uninstalling_in_a_window_leaves_nothing(running: Running) -> None:
    workload = running.scaling_cluster.workload("leaving")
    await workload.open(resourcePolicy=[POLICY])
    await workload.schedule(after=1, seconds=300)
    await workload.until_bounds(50, 50)
    await workload.until_condition(names.EFFECTIVE, "True", "Held")
    code, printed = await asyncio.to_thread(
        _espalier, running.scaling_cluster, "--uninstall", "--force"
    )
    assert code == 0, printed
    await workload.until_bounds(3, 20, 5)
    await workload.until_clean({"resourcePolicy": [POLICY]}, 15)
    await workload.until_unlabelled(5)
    path = f"{GROUP}/namespaces/{workload.namespace}/scheduledscalings"
    scaling = (await workload.call("GET", path))["items"][0]
    assert not scaling["metadata"].get("finalizers")
