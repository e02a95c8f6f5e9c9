"""The service on the provider_pb2: who gets in, what each call answers, and what misuse gets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from tests.support.clocks import FakeClock
from tests.support.cluster_autoscaler import Autoscaler, FakeNode, connected_autoscaler
from tests.support.machine_objects import SHOOT_NAMESPACE, make_class
from tests.unit.nodegroups.fake_seed import Seed, SeedServer, group_id, zone_key
from webhook.api import names
from webhook.api.machines import MachineClass, MachineDeployment
from webhook.nodegroups import provider_pb2
from webhook.nodegroups.identity import GROUP
from webhook.nodegroups.node_pb2 import Node
from webhook.nodegroups.service import METHODS, SERVICE, ListenOptions, ServingCredentials, serving
from webhook.tls.authority import Authority, KeyPair
from webhook.tls.material import CertificateProfile, Material

NOW = datetime.now(UTC)
ADAPTIVE: dict[str, Any] = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}
OURS = Material.create(CertificateProfile(("localhost", "127.0.0.1")), NOW)
LIFE = timedelta(days=1)
OK = grpc.StatusCode.OK


def _client(namespace: str, group: str = GROUP, authority: Authority = OURS.authority) -> KeyPair:
    return authority.sign_client(namespace, NOW, (group,), LIFE)


@asynccontextmanager
async def _serving(server: SeedServer, insecure: str = "") -> AsyncIterator[str]:
    credentials = None if insecure else lambda: ServingCredentials(OURS.leaf, OURS.trusted)
    where = ListenOptions("127.0.0.1", 0, credentials, insecure)
    async with serving(server.provider, server.metrics, where) as port:
        yield f"127.0.0.1:{port}"


def _seed(*replicas: int) -> tuple[Seed, SeedServer]:
    seed = Seed()
    seed.add_pool(*replicas, **ADAPTIVE)
    server = SeedServer(seed, FakeClock())
    server.deliver()
    return seed, server


def _server(*replicas: int) -> SeedServer:
    return _seed(*replicas)[1]


@asynccontextmanager
async def _asking(server: SeedServer) -> AsyncIterator[Autoscaler]:
    server.deliver()
    async with (
        _serving(server, SHOOT_NAMESPACE) as address,
        connected_autoscaler(address) as autoscaler,
    ):
        yield autoscaler


def test_every_method_of_the_service_is_answered() -> None:
    service = provider_pb2.DESCRIPTOR.services_by_name["CloudProvider"]
    assert SERVICE == "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider"
    assert {*METHODS} == {method.name for method in service.methods}


async def test_a_certificate_gives_access_to_its_namespace_only() -> None:
    seed, server = _seed(1, 0, 0)
    seed.put(MachineDeployment, {**seed.objects[MachineDeployment, zone_key(0)], "metadata": {
        "name": "other-z1", "namespace": "shoot--dev--two",
        "labels": {names.WORKER_POOL: "pool"}, "annotations": {names.POOL_MAXIMUM: "1"},
    }})  # fmt: skip
    server.deliver()
    async with _serving(server) as address:
        async with connected_autoscaler(address, _client(SHOOT_NAMESPACE), OURS.trusted) as one:
            await one.start()
            await one.scan()
            assert {*one.groups} == {group_id(zone) for zone in range(3)}
            foreign = "shoot--dev--two.other-z1"
            assert await one.increase(foreign, 1) is grpc.StatusCode.NOT_FOUND
        async with connected_autoscaler(address, _client("shoot--dev--two"), OURS.trusted) as two:
            await two.scan()
            assert [*two.groups] == ["shoot--dev--two.other-z1"]
    assert seed.sizes() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("pair", "code"),
    [
        pytest.param(
            _client(SHOOT_NAMESPACE, "system:masters"),
            grpc.StatusCode.PERMISSION_DENIED,
            id="a certificate for another use",
        ),
        pytest.param(
            _client(SHOOT_NAMESPACE, authority=Authority.create("other", NOW, LIFE)),
            grpc.StatusCode.UNAVAILABLE,
            id="a certificate of another authority",
        ),
        pytest.param(None, grpc.StatusCode.UNAVAILABLE, id="plain text"),
    ],
)
async def test_other_clients_are_rejected(pair: KeyPair | None, code: grpc.StatusCode) -> None:
    server = _server(1, 0, 0)
    async with (
        _serving(server) as address,
        connected_autoscaler(address, pair, OURS.trusted) as stranger,
    ):
        assert await stranger.code("Refresh", provider_pb2.RefreshRequest()) is code
        assert await stranger.increase(group_id(0), 1) is code


async def test_an_idle_loop_is_answered_call_by_call() -> None:
    seed, server = _seed(1, 1, 0)
    seed.put(MachineClass, make_class(f"{zone_key(2).name}-abcde"))
    machines = [*seed.add_machines(0, "Running"), *seed.add_machines(1, "Running")]
    nodes = [FakeNode(f"node-{name}", f"p:///{name}") for name in machines]
    async with _asking(server) as autoscaler:
        await autoscaler.start(nodes)
        autoscaler.calls.clear()
        await autoscaler.scan(nodes)
        assert autoscaler.calls == {
            "Refresh": 1,
            "NodeGroups": 1,
            "NodeGroupForNode": 2,
            "NodeGroupTemplateNodeInfo": 1,
            "NodeGroupTargetSize": 9,
            "NodeGroupGetOptions": 8,
        }
        assert autoscaler.calls.total() == 22


async def test_the_group_of_a_node_has_bounds() -> None:
    seed, server = _seed(2, 1, 0)
    (machine, _other) = seed.add_machines(0, "Running", "Running")
    async with _asking(server) as autoscaler:
        assert await autoscaler.group_of(FakeNode("n", f"p:///{machine}")) == group_id(0)
        group = autoscaler.groups[group_id(0)]
        assert (group.minSize, group.maxSize) == (1, 3)
        assert group.debug == "pool pool, zone 1 of 3, Adaptive, good"


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(FakeNode("n", "aws:///elsewhere"), id="a foreign id"),
        pytest.param(FakeNode("n", ""), id="no id"),
        pytest.param(FakeNode(zone_key(0).name, ""), id="only a name that we know"),
        pytest.param(FakeNode("n", "espalier:///x/y"), id="a machine of another namespace"),
        pytest.param(FakeNode("n", "espalier:///x/y/1-1"), id="a placeholder of another one"),
        pytest.param(FakeNode("n", "espalier:///"), id="our prefix and nothing else"),
    ],
)
async def test_a_foreign_node_has_no_group_and_is_no_error(node: FakeNode) -> None:
    server = _server(1, 0, 0)
    async with _asking(server) as autoscaler:
        assert await autoscaler.group_of(node) == ""


async def test_there_is_an_instance_for_every_desired_replica() -> None:
    seed, server = _seed(4, 0, 0)
    short = {
        "spec": {"providerID": ""},
        "status": {
            "lastOperation": {
                "type": "Create",
                "state": "Failed",
                "errorCode": "ResourceExhausted",
                "description": "Cloud provider message - no quota",
            }
        },
    }
    (running,) = seed.add_machines(0, "Running")
    (failed,) = seed.add_machines(0, "CrashLoopBackOff", suffix="2", **short)
    (going,) = seed.add_machines(0, "Terminating", suffix="3")
    async with _asking(server) as autoscaler:
        found = {each.id: each.status for each in await autoscaler.instances(group_id(0))}
    ours = f"espalier:///{SHOOT_NAMESPACE}"
    placeholders = [f"{ours}/{zone_key(0).name}/1-{number}" for number in (3, 4)]
    assert {*found} == {f"p:///{running}", f"{ours}/{failed}", f"p:///{going}", *placeholders}
    states = provider_pb2.InstanceStatus
    assert found[f"p:///{running}"].instanceState == states.instanceRunning
    assert found[f"p:///{going}"].instanceState == states.instanceDeleting
    assert {found[each].instanceState for each in placeholders} == {states.instanceCreating}
    broken = found[f"{ours}/{failed}"]
    assert broken.instanceState == states.instanceCreating
    assert (broken.errorInfo.errorCode, broken.errorInfo.instanceErrorClass) == (
        "ResourceExhausted",
        1,
    )


async def test_a_placeholder_is_never_used_twice() -> None:
    seed, server = _seed(2, 0, 0)
    async with _asking(server) as autoscaler:
        first, second = [each.id for each in await autoscaler.instances(group_id(0))]
        assert await autoscaler.delete(group_id(0), second) is OK
        after = [each.id for each in await autoscaler.instances(group_id(0))]
        assert len(after) == 1
        assert {first, second}.isdisjoint(after)
        assert await autoscaler.delete(group_id(0), second) is OK
        assert await autoscaler.size(group_id(0)) == 1
        assert await autoscaler.group_of(FakeNode(second, second)) == group_id(0)
    assert seed.sizes() == [1, 0, 0]


async def test_a_template_is_a_complete_node() -> None:
    seed, server = _seed(0, 0, 0)
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    for zone in range(3):
        labels = {"labels": {"provider/zone": f"zone-{zone}"}}
        template = {"nodeTemplate": {"metadata": labels, "spec": {"taints": [taint]}}}
        seed.change(MachineDeployment, zone_key(zone), {"spec": {"template": {"spec": template}}})
        node: dict[str, Any] = {"nodeTemplate": {"zone": f"zone-{zone}"}}
        seed.put(MachineClass, make_class(f"{zone_key(zone).name}-abcde", **node))
    async with _asking(server) as autoscaler:
        found = [Node.FromString(await autoscaler.template(group_id(zone))) for zone in range(3)]
    assert {key: value.string for key, value in found[0].status.allocatable.items()} == {
        "cpu": "4",
        "memory": "16Gi",
        "pods": "110",
    }
    assert [(each.key, each.effect) for each in found[0].spec.taints] == [
        ("dedicated", "NoSchedule")
    ]
    assert found[0].status.conditions[0].type == "Ready"
    listed = [dict(each.metadata.labels) for each in found]
    for zone, each in enumerate(listed):
        assert each.pop(names.ZONE_LABEL) == f"zone-{zone}"
        assert each.pop(names.HOSTNAME_LABEL)
    assert listed[0] == listed[1] == listed[2]
    assert listed[0][names.WORKER_POOL] == "pool"


async def test_an_unknown_template_is_unimplemented_not_empty() -> None:
    server = _server(0, 0, 0)
    request = provider_pb2.NodeGroupTemplateNodeInfoRequest(id=group_id(0))
    async with _asking(server) as autoscaler:
        code = await autoscaler.code("NodeGroupTemplateNodeInfo", request)
        assert code is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize(
    ("method", "request_", "code"),
    [
        pytest.param(
            "NodeGroupIncreaseSize",
            provider_pb2.NodeGroupIncreaseSizeRequest(id=group_id(0), delta=0),
            "INVALID_ARGUMENT",
            id="increase by nothing",
        ),
        pytest.param(
            "NodeGroupIncreaseSize",
            provider_pb2.NodeGroupIncreaseSizeRequest(id=group_id(0), delta=-1),
            "INVALID_ARGUMENT",
            id="increase by less than nothing",
        ),
        pytest.param(
            "NodeGroupIncreaseSize",
            provider_pb2.NodeGroupIncreaseSizeRequest(id="nobody", delta=1),
            "NOT_FOUND",
            id="increase an unknown group",
        ),
        pytest.param(
            "NodeGroupDecreaseTargetSize",
            provider_pb2.NodeGroupDecreaseTargetSizeRequest(id=group_id(0), delta=0),
            "INVALID_ARGUMENT",
            id="decrease by nothing",
        ),
        pytest.param(
            "NodeGroupDecreaseTargetSize",
            provider_pb2.NodeGroupDecreaseTargetSizeRequest(id=group_id(0), delta=1),
            "INVALID_ARGUMENT",
            id="decrease upwards",
        ),
        pytest.param(
            "NodeGroupDecreaseTargetSize",
            provider_pb2.NodeGroupDecreaseTargetSizeRequest(id="nobody", delta=-1),
            "NOT_FOUND",
            id="decrease an unknown group",
        ),
        pytest.param(
            "NodeGroupTargetSize",
            provider_pb2.NodeGroupTargetSizeRequest(id="nobody"),
            "NOT_FOUND",
            id="the size of an unknown group",
        ),
        pytest.param(
            "NodeGroupNodes",
            provider_pb2.NodeGroupNodesRequest(id=""),
            "NOT_FOUND",
            id="the nodes of no group",
        ),
        pytest.param(
            "NodeGroupDeleteNodes",
            provider_pb2.NodeGroupDeleteNodesRequest(id="nobody"),
            "NOT_FOUND",
            id="delete nodes of an unknown group",
        ),
        pytest.param(
            "NodeGroupTemplateNodeInfo",
            provider_pb2.NodeGroupTemplateNodeInfoRequest(id="nobody"),
            "UNIMPLEMENTED",
            id="the template of an unknown group",
        ),
        pytest.param(
            "NodeGroupGetOptions",
            provider_pb2.NodeGroupAutoscalingOptionsRequest(id=group_id(0)),
            "UNIMPLEMENTED",
            id="options, which flags decide",
        ),
        pytest.param(
            "PricingNodePrice", provider_pb2.PricingNodePriceRequest(), "UNIMPLEMENTED", id="prices"
        ),
        pytest.param(
            "NodeGroupForNode",
            provider_pb2.NodeGroupForNodeRequest(),
            "OK",
            id="the group of no node",
        ),
        pytest.param("Cleanup", provider_pb2.CleanupRequest(), "OK", id="the end of an autoscaler"),
    ],
)
async def test_invalid_calls_get_a_harmless_code_and_change_nothing(
    method: str, request_: object, code: str
) -> None:
    seed, server = _seed(1, 0, 0)
    before = seed.version
    async with _asking(server) as autoscaler:
        assert (await autoscaler.code(method, request_)).name == code
    assert seed.version == before


async def test_reads_use_the_cache_while_the_api_server_is_unavailable() -> None:
    server = _server(1, 0, 0)
    async with _asking(server) as autoscaler:
        await autoscaler.scan()
        server.is_away = True
        await autoscaler.scan()
        assert await autoscaler.size(group_id(0)) == 1
        assert await autoscaler.increase(group_id(1), 1) is grpc.StatusCode.UNAVAILABLE
        server.is_away = False
        assert await autoscaler.increase(group_id(1), 1) is OK


async def test_a_group_deleted_within_a_loop_keeps_its_size_until_the_next() -> None:
    seed, server = _seed(1, 0, 0)
    async with _asking(server) as autoscaler:
        await autoscaler.scan()
        seed.drop(MachineDeployment, zone_key(0))
        server.deliver()
        assert await autoscaler.size(group_id(0)) == 1
        await autoscaler.scan()
        request = provider_pb2.NodeGroupTargetSizeRequest(id=group_id(0))
        code = await autoscaler.code("NodeGroupTargetSize", request)
        assert code is grpc.StatusCode.NOT_FOUND
        assert len(autoscaler.groups) == 2
