"""Node groups on real API servers, called as an unmodified cluster-autoscaler calls."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from typing_extensions import override

from tests.behaviour.node_group_server import DEPLOYMENT, OK, UNAVAILABLE, Place, connected, opened
from tests.support.api_proxy import Call, Proxy, open_proxy
from tests.support.cluster_autoscaler import Autoscaler
from tests.support.machine_objects import make_deployment
from tests.support.scheduler import create_all
from tests.support.server_processes import running
from tests.support.waits import eventually
from webhook.api import names
from webhook.cli import plugin
from webhook.cli.main import main
from webhook.nodegroups import provider_pb2

AUTOSCALERS = [*filter(None, [os.environ.get("ESPALIER_CLUSTER_AUTOSCALER")])]
"""The binary of a real cluster-autoscaler, if one is given."""

SCAN_SECONDS = 0.5
OUTAGE_SCANS = 60 if os.environ.get("ESPALIER_SOAK") else 2

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
async def place(server, tmp_path):
    async with opened(server, tmp_path) as made:
        yield made


async def test_an_autoscaler_grows_and_shrinks_a_pool(place: Place, capsys) -> None:
    await place.prepare(1, 0, 0)
    node = await place.add_node(0)
    async with place.serving("one") as port:
        certificate = await place.certificate()
        async with connected(port, certificate) as autoscaler:
            await autoscaler.start([node])
            await autoscaler.scan([node], pending=True)
            assert {*autoscaler.groups} == {place.group(zone) for zone in range(3)}

            wanted = [autoscaler.increase(place.group(zone), 5) for zone in (1, 2, 0)]
            assert {*await asyncio.gather(*wanted)} <= {OK, UNAVAILABLE}

            async def is_full() -> bool:
                """A busy seed grants later what it did not grant at once."""
                sizes = await place.sizes()
                assert sum(sizes) <= 6
                if sum(sizes) < 6:
                    await autoscaler.increase(place.group(1), 6)
                return sum(sizes) == 6

            await eventually(is_full)
            await autoscaler.scan([node])
            assert sum([await autoscaler.size(place.group(zone)) for zone in range(3)]) == 6

            for zone in range(3):
                found = {each.id for each in await autoscaler.instances(place.group(zone))}
                unmade = found - {node.provider_id}
                await place.shrink(autoscaler, zone, *unmade)
            assert await place.sizes() == [1, 0, 0]
            assert await autoscaler.decrease(place.group(0), -1) in (OK, UNAVAILABLE)
            assert await place.sizes() == [1, 0, 0], "a live Node is never taken back"
            await place.shrink(autoscaler, 0, node.provider_id)
            assert await place.sizes() == [0, 0, 0]
            marked = (await place.client.get(DEPLOYMENT, place.zone(0)))["metadata"]["annotations"]
            assert marked[names.TRIGGER_DELETION].startswith(f"{node.name}~")
    capsys.readouterr()
    shown = ["nodegroups", "-n", place.namespace, "-o", "json", "--espalier-namespace", place.own]
    shown += ["--kubeconfig", str(place.server.kubeconfig)]
    assert await asyncio.to_thread(plugin.main, shown) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [(each["min"], each["max"], each["assigned"]) for each in groups] == [(1, 6, 0)] * 3


@pytest.mark.parametrize(
    ("sizes", "planned", "granted"),
    [
        pytest.param((0, 0, 0), [4, 3, 3], [2, 1, 1], id="planned 4/3/3, room for four"),
        pytest.param((1, 0, 0), [3, 3, 3], [1, 2, 1], id="the recorded order of calls"),
    ],
)
async def test_a_scale_up_that_is_balanced_over_zones_stays_balanced(
    place: Place, sizes: tuple[int, ...], planned: list[int], granted: list[int]
) -> None:
    await place.prepare(*sizes, bounds=(0, 4))
    async with place.serving("one") as port:
        certificate = await place.certificate()
        async with connected(port, certificate) as autoscaler:
            await autoscaler.scan(pending=True)
            plan = await autoscaler.scale_up(10)
            assert [plan[place.group(zone)] for zone in range(3)] == planned
            assert await place.sizes() == granted
            await autoscaler.scan(pending=True)
            assert await place.sizes() == granted
            assert [each.maxSize for each in autoscaler.groups.values()] == granted


async def test_a_scale_up_of_one_zone_gets_all_at_the_next_refresh(place: Place) -> None:
    await place.prepare(0, 0, 0, bounds=(0, 4))
    async with place.serving("one") as port:
        certificate = await place.certificate()
        async with connected(port, certificate) as autoscaler:
            await autoscaler.scan(pending=True)
            assert await autoscaler.increase(place.group(1), 4) is OK
            assert await place.sizes() == [0, 2, 0]
            await autoscaler.scan(pending=True)
            assert await place.sizes() == [0, 4, 0]


async def test_the_leader_grants_what_is_left_without_a_refresh(place: Place) -> None:
    await place.prepare(0, 0, 0, bounds=(0, 4))
    async with place.serving("one", roles="nodegroups,controllers") as port:
        certificate = await place.certificate()
        async with connected(port, certificate) as autoscaler:
            assert await autoscaler.increase(place.group(1), 4) is OK

            async def has_all() -> bool:
                return await place.sizes() == [0, 4, 0]

            await eventually(has_all)


async def test_groups_come_and_go_at_run_time_without_harm(place: Place) -> None:
    await place.prepare(1, 0)
    async with place.serving("one") as port:
        certificate = await place.certificate()
        async with connected(port, certificate) as autoscaler:
            await autoscaler.scan()
            assert len(autoscaler.groups) == 2
            broken = {names.POOL_MAXIMUM: "many"}
            drafts = [
                make_deployment(zone=2, namespace=place.namespace, bounds=(3, 6)),
                make_deployment(
                    zone=3, namespace=place.namespace, metadata={"annotations": broken}
                ),
            ]
            await create_all(place.client, drafts)

            async def has_three() -> bool:
                await autoscaler.scan()
                return {*autoscaler.groups} == {place.group(zone) for zone in range(3)}

            await eventually(has_three)
            await place.client.delete(DEPLOYMENT, place.zone(1))

            async def has_two() -> bool:
                await autoscaler.scan()
                return len(autoscaler.groups) == 2

            await eventually(has_two)


async def test_two_servers_and_an_outage_never_pass_the_maximum(place: Place, tmp_path) -> None:
    await place.prepare(1, 0, 0)
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(open_proxy(place.server, tmp_path, "proxy"))
        one = await stack.enter_async_context(place.serving("one", proxy.kubeconfig))
        two = await stack.enter_async_context(place.serving("two"))
        certificate = await place.certificate()
        first = await stack.enter_async_context(connected(one, certificate))
        second = await stack.enter_async_context(connected(two, certificate))
        proxy.hang()
        for _ in range(OUTAGE_SCANS):
            await first.scan()  # reads are answered from memory
            await asyncio.sleep(SCAN_SECONDS)
        assert await first.increase(place.group(1), 2) is UNAVAILABLE
        await place.grow(second, 2, 4)
        proxy.resume()
        codes = await asyncio.gather(
            *(each.increase(place.group(zone), 3) for each in (first, second) for zone in range(3))
        )
        assert {*codes} <= {OK, UNAVAILABLE}
        assert sum(await place.sizes()) <= 6

        async def is_full() -> bool:
            await first.scan()
            await first.increase(place.group(1), 6)
            assert sum(await place.sizes()) <= 6
            return sum(await place.sizes()) == 6

        await eventually(is_full)


@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_after_a_restart_of_either_side_sizes_are_known_at_once(place: Place) -> None:
    await place.prepare(1, 0, 0)
    node = await place.add_node(0)

    async def is_known(autoscaler: Autoscaler) -> None:
        await autoscaler.start([node])
        await autoscaler.scan([node], pending=True)
        assert [await autoscaler.size(place.group(zone)) for zone in range(3)] == [1, 2, 0]
        states = [each.status.instanceState for each in await autoscaler.instances(place.group(1))]
        assert states == [provider_pb2.InstanceStatus.instanceCreating] * 2

    async with place.serving("one") as one:
        certificate = await place.certificate()
        async with connected(one, certificate) as autoscaler:
            await place.grow(autoscaler, 1, 2)
        async with connected(one, certificate) as autoscaler:
            await is_known(autoscaler)
    async with place.serving("two") as two, connected(two, certificate) as autoscaler:
        await is_known(autoscaler)
    assert await place.sizes() == [1, 2, 0]


class _Trap(list[Call]):
    """Cuts the connection to the API server right after a number of writes."""

    def __init__(self, proxy: Proxy, writes: int) -> None:
        super().__init__()
        self._proxy = proxy
        self._left = writes
        self.sprung = asyncio.Event()

    @override
    def append(self, call: Call, /) -> None:
        super().append(call)
        counts = "machinedeployments" in call.path or "espalier-pool" in str(call.body)
        if call.writes and call.status < 300 and counts:
            self._left -= 1
            if self._left == 0:
                self._proxy.hang()
                self.sprung.set()


@pytest.mark.parametrize("writes", [1, 2, 3, 4])
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_killed_after_any_write_of_a_scale_up_nothing_is_lost_and_nothing_passed(
    place: Place, tmp_path, writes: int
) -> None:
    await place.prepare(1, 0, 0)
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(open_proxy(place.server, tmp_path, "proxy"))
        trap = proxy.calls = _Trap(proxy, writes)
        victim = place.replica("victim", kubeconfig=proxy.kubeconfig)
        await stack.enter_async_context(running(victim))
        certificate = await place.certificate()
        async with connected(victim, certificate) as autoscaler:
            await autoscaler.scan()
            growing = asyncio.create_task(_grow_both(place, autoscaler))
            sprung = asyncio.create_task(trap.sprung.wait())
            await asyncio.wait({growing, sprung}, return_when=asyncio.FIRST_COMPLETED)
            assert trap.sprung.is_set(), growing
            victim.process.kill()
            growing.cancel()
            await asyncio.gather(growing, return_exceptions=True)
        proxy.end()
        assert sum(await place.sizes()) <= 6
        async with place.serving("heir") as heir, connected(heir, certificate) as autoscaler:

            async def converges() -> bool:
                """Request what is missing, as an autoscaler does for its pending pods."""
                await autoscaler.scan()
                for zone in (1, 2):
                    missing = 2 - await autoscaler.size(place.group(zone))
                    if missing > 0:
                        code = await autoscaler.increase(place.group(zone), missing)
                        assert code in (OK, UNAVAILABLE)
                sizes = await place.sizes()
                assert sum(sizes) <= 6
                return sizes == [1, 2, 2]

            await eventually(converges)


@pytest.mark.parametrize("writes", [1, 2], ids=["after the record", "after the size"])
@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_killed_between_the_calls_another_server_grants_what_is_left(
    place: Place, tmp_path, writes: int
) -> None:
    await place.prepare(0, 0, 0, bounds=(0, 4))
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(open_proxy(place.server, tmp_path, "proxy"))
        trap = proxy.calls = _Trap(proxy, writes)
        victim = place.replica("victim", kubeconfig=proxy.kubeconfig)
        await stack.enter_async_context(running(victim))
        certificate = await place.certificate()
        async with connected(victim, certificate) as autoscaler:
            await autoscaler.scan()
            growing = asyncio.create_task(autoscaler.increase(place.group(1), 4))
            await trap.sprung.wait()
            victim.process.kill()
            await asyncio.gather(growing, return_exceptions=True)
        proxy.end()
        assert await place.sizes() == [0, (0, 2)[writes - 1], 0]
        async with place.serving("heir") as heir, connected(heir, certificate) as autoscaler:
            await autoscaler.scan()
            assert await place.sizes() == [0, 4, 0]


async def _grow_both(place: Place, autoscaler: Autoscaler) -> None:
    for zone in (1, 2):
        await place.grow(autoscaler, zone, 2)


@pytest.mark.parametrize("server", ["embedded"], indirect=True)
async def test_processes_share_the_port_and_the_pool(place: Place) -> None:
    await place.prepare(1, 0, 0)
    replica = place.replica("many", "--nodegroups-processes", "2")
    async with running(replica), AsyncExitStack() as stack:
        certificate = await place.certificate()
        callers = [
            await stack.enter_async_context(connected(replica, certificate)) for _ in range(6)
        ]
        for caller in callers:
            await caller.scan()
        wanted = [each.increase(place.group(n % 3), 2) for n, each in enumerate(callers)]
        assert {*await asyncio.gather(*wanted)} <= {OK, UNAVAILABLE}
        assert sum(await place.sizes()) <= 6
        assert await replica.end() == 0


async def test_the_watch_command_shows_changes_of_a_pool(place: Place) -> None:
    await place.prepare(1, 0, 0)
    near = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shown = ["espalier", "nodegroups", "-n", place.namespace, "--espalier-namespace", place.own]
    process = await asyncio.create_subprocess_exec(
        *place.server.kubectl.command(*shown, "-w", "-o", "json"),
        env=place.server.kubectl.environment() | {"PATH": near},
        stdout=PIPE,
    )
    assert process.stdout is not None
    try:

        async def until(*sizes: int, disagreeing: bool = False) -> dict[str, Any]:
            assert process.stdout is not None
            async for line in process.stdout:
                reported: dict[str, Any] = json.loads(line)
                found = [each["assigned"] for each in reported["groups"]]
                if found == [*sizes] and bool(reported["disagreements"]) >= disagreeing:
                    return reported
            raise AssertionError("it has ended")

        assert (await until(1, 0, 0))["groups"][1]["max"] == 5
        await place.client.patch(DEPLOYMENT, place.zone(1), {"spec": {"replicas": 2}})
        assert [each["max"] for each in (await until(1, 2, 0))["groups"]] == [4, 5, 3]
        lower = {"metadata": {"annotations": {names.POOL_MAXIMUM: "5"}}}
        await place.client.patch(DEPLOYMENT, place.zone(0), lower)
        (differing,) = (await until(1, 2, 0, disagreeing=True))["disagreements"]
        assert (differing["field"], differing["used"]) == ("poolMaximum", "5")
        assert differing["values"][place.zone(1).name] == "6"
        unfit = {"metadata": {"annotations": {names.POOL_MAXIMUM: "many"}}}
        await place.client.patch(DEPLOYMENT, place.zone(2), unfit)
        (left_out,) = (await until(1, 2))["leftOut"]
        assert left_out["name"] == place.zone(2).name
    finally:
        process.send_signal(signal.SIGINT)
        await process.wait()


async def test_a_configuration_names_the_labels_by_which_zones_differ(place: Place, capsys) -> None:
    await place.prepare(0, 0)
    for zone in range(2):
        labels = {"rack": f"r{zone}", "same": "x"}
        template = {"spec": {"nodeTemplate": {"metadata": {"labels": labels}}}}
        change = {"spec": {"template": template}}
        await place.client.patch(DEPLOYMENT, place.zone(zone), change)
    arguments = [
        "nodegroups",
        "config",
        place.namespace,
        "--kubeconfig",
        str(place.server.kubeconfig),
    ]
    assert await asyncio.to_thread(main, arguments) == 0
    output = capsys.readouterr().out
    ignored = [line for line in output.splitlines() if "--balancing-ignore-label" in line]
    assert ignored == ["--balancing-ignore-label=rack  # differs from zone to zone of a pool"]
    assert yaml.safe_load(output.partition("\n\n")[0]) == {
        "address": "espalier.espalier-system.svc:9444",
        "cert": "/etc/espalier-nodegroups/tls.crt",
        "key": "/etc/espalier-nodegroups/tls.key",
        "cacert": "/etc/espalier-nodegroups/ca.crt",
    }


if AUTOSCALERS:  # an extra: a skipped test counts as a failure in CI

    @pytest.mark.parametrize("server", ["real"], indirect=True)
    @pytest.mark.parametrize("binary", AUTOSCALERS)
    async def test_a_real_cluster_autoscaler_grows_a_pool(place: Place, binary: str) -> None:
        await place.prepare(0, 0, 0)
        replica = place.replica("one")
        async with running(replica):
            certificate = await place.certificate()
            async with connected(replica, certificate) as autoscaler:
                await autoscaler.scan()
            folder = place.directory / "certs" / f"nodegroups-{place.namespace}"
            port = (await replica.logged("listening"))["nodegroups_port"]
            cloud = place.directory / "cloud-config.yaml"
            cloud.write_text(
                f'address: "127.0.0.1:{port}"\ncert: "{folder}/tls.crt"\n'
                f'key: "{folder}/tls.key"\ncacert: "{folder}/ca.crt"\n'
            )
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "waiting", "namespace": place.namespace},
                "spec": {"containers": [{"name": "c", "image": "none"}]},
            }
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            await place.server.kubectl("create", "-f", "-", input=pod)
            status = json.dumps({"status": {"conditions": [condition]}})
            await place.server.kubectl(
                *("patch", "pod", "waiting", "-n", place.namespace),
                *("--subresource=status", "--type=merge", "-p", status),
            )
            process = await asyncio.create_subprocess_exec(
                *(binary, "--cloud-provider=externalgrpc", f"--cloud-config={cloud}"),
                *(f"--kubeconfig={place.server.kubeconfig}", "--scan-interval=2s"),
                *("--leader-elect=false", "--balance-similar-node-groups=true"),
                "--address=127.0.0.1:0",
            )
            try:

                async def has_grown() -> bool:
                    return sum(await place.sizes()) == 1

                await eventually(has_grown, 60)
            finally:
                process.terminate()
                await process.wait()
