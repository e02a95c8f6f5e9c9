"""Virtual Nodes and shadow Pods follow seeds and shoots, and nothing is left behind."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
import yaml

from tests.support.landscape_objects import make_seed, make_shoot, raw_shoot, read
from webhook.api.core import Node, Pod
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options, SchedulingOptions
from webhook.kube.meta import Object
from webhook.placement import bridge
from webhook.runtime.actions import NOTHING, Apply, Create, Delete, Patch
from webhook.state.snapshot import Snapshot

ON = Options(scheduling=SchedulingOptions(engine="kube-scheduler"))
DELETED = "2026-01-01T00:00:00Z"


def world(*objects: Object, options: Options = ON) -> Snapshot:
    return Snapshot.of(objects, options=options)


def made(model: type[Any], body: dict[str, Any], **metadata: Any) -> Any:
    """Return an object as an API server would have made it from a body."""
    raw = {**body, "metadata": {**body["metadata"], "uid": "u", "resourceVersion": "1", **metadata}}
    return read(model, raw)


def node_of(seed: Seed) -> Node:
    (create,) = bridge.plan_node(seed, world(seed)).actions
    assert isinstance(create, Create)
    bare: Node = made(Node, create.body)
    (status,) = bridge.plan_node(seed, world(seed, bare)).actions
    assert isinstance(status, Patch)
    assert status.subresource == "status"
    assert isinstance(status.change, Mapping)
    raw = msgspec.to_builtins(bare) | dict(status.change)
    return read(Node, raw)


def pod_of(shoot: Shoot) -> Pod:
    (create,) = bridge.plan_pod(shoot, world(shoot)).actions
    assert isinstance(create, Create)
    pod: Pod = made(Pod, create.body)
    return pod


def test_a_seed_gets_a_node_once() -> None:
    seed = make_seed("a", zones=("z1", "z2"), taints=[{"key": "x"}, {"key": "y", "value": "1"}])
    (create,) = bridge.plan_node(seed, world(seed)).actions
    assert isinstance(create, Create)
    assert create.body == {
        "metadata": {
            "name": "a",
            "labels": {
                "espalier.gardener.cloud/virtual": "true",
                "kubernetes.io/hostname": "a",
                "topology.kubernetes.io/region": "eu-west-1",
                "topology.kubernetes.io/zone": "z1",
            },
        },
        "spec": {
            "taints": [
                {
                    "key": "espalier.gardener.cloud/virtual",
                    "value": "true",
                    "effect": "NoSchedule",
                },
                {"key": "x", "effect": "NoSchedule"},
                {"key": "y", "value": "1", "effect": "NoSchedule"},
            ]
        },
    }
    node = node_of(seed)
    assert node.status.allocatable["espalier.gardener.cloud/shoots"] == "250"
    assert bridge.plan_node(seed, world(seed, node)) == NOTHING


def test_a_changed_seed_changes_its_node() -> None:
    node = node_of(make_seed("a"))
    tainted = make_seed("a", taints=[{"key": "x"}])
    (patch,) = bridge.plan_node(tainted, world(tainted, node)).actions
    assert isinstance(patch, Patch)
    assert patch.version == "1"
    grown = make_seed("a", shoots=300)
    (patch,) = bridge.plan_node(grown, world(grown, node)).actions
    assert isinstance(patch, Patch)
    assert patch.subresource == "status"


def test_a_real_node_of_the_same_name_is_ignored() -> None:
    seed = make_seed("a")
    machine = read(Node, {"metadata": {"name": "a"}})
    assert bridge.plan_node(seed, world(seed, machine)) == NOTHING
    assert bridge.plan_stray_node(machine, world(machine)) == NOTHING


def test_the_lease_of_a_node_is_renewed_as_long_as_its_seed_exists() -> None:
    seed = make_seed("a")
    node = node_of(seed)
    plan = bridge.plan_stray_node(node, world(seed, node))
    (beat,) = plan.actions
    assert isinstance(beat, Apply)
    assert str(beat.key) == "kube-node-lease/a"
    assert plan.requeue_after == bridge.HEARTBEAT
    assert bridge.plan_stray_node(node, world(node)).actions == (
        Delete(bridge._NODE, node.key, "u"),
    )


def test_an_unassigned_shoot_gets_a_shadow_once() -> None:
    tolerations = [{"key": "x"}, {"key": "y", "value": "1"}]
    shoot = make_shoot(purpose="production", tolerations=tolerations)
    pod = pod_of(shoot)
    assert pod.spec.scheduler_name == "espalier"
    assert pod.metadata.annotations == {"espalier.gardener.cloud/shoot": "garden-dev/shoot"}
    assert bridge.plan_pod(shoot, world(shoot, pod)) == NOTHING
    (create,) = bridge.plan_pod(shoot, world(shoot)).actions
    assert isinstance(create, Create)
    spec = create.body["spec"]
    assert spec["priorityClassName"] == "espalier-production"
    assert spec["tolerations"] == [
        {"key": "espalier.gardener.cloud/virtual", "operator": "Exists"},
        {"key": "x", "operator": "Equal", "value": ""},
        {"key": "y", "operator": "Equal", "value": ""},
        {"key": "y", "operator": "Equal", "value": "1"},
    ]


@pytest.mark.parametrize(
    "shoot",
    [
        pytest.param(make_shoot(seed="a"), id="assigned"),
        pytest.param(make_shoot(schedulerName="mine"), id="of another scheduler"),
        pytest.param(make_shoot(pool={"controlPlane": {}}), id="self-hosted"),
        pytest.param(
            read(
                Shoot,
                raw_shoot()
                | {"metadata": {**raw_shoot()["metadata"], "deletionTimestamp": DELETED}},
            ),
            id="being deleted",
        ),
    ],
)
def test_other_shoots_have_no_shadow(shoot: Shoot) -> None:
    assert bridge.plan_pod(shoot, world(shoot)) == NOTHING
    pod = pod_of(make_shoot())
    assert bridge.plan_stray_pod(pod, world(pod, shoot)).actions == (
        Delete(bridge._POD, pod.key, "u"),
    )


def test_a_shadow_stays_as_long_as_its_shoot_is_pending() -> None:
    shoot = make_shoot()
    pod = pod_of(shoot)
    assert bridge.plan_stray_pod(pod, world(shoot, pod)) == NOTHING
    (delete,) = bridge.plan_stray_pod(pod, world(pod)).actions
    assert isinstance(delete, Delete)
    recreated = make_shoot(uid="another")
    (delete,) = bridge.plan_stray_pod(pod, world(recreated, pod)).actions
    assert isinstance(delete, Delete)


def test_other_pods_are_ignored() -> None:
    pod = read(Pod, {"metadata": {"name": "x", "namespace": "espalier-system"}})
    assert bridge.plan_stray_pod(pod, world(pod)) == NOTHING


def test_with_the_built_in_engine_nothing_is_created_and_leftovers_are_deleted() -> None:
    seed, shoot = make_seed("a"), make_shoot()
    node, pod = node_of(seed), pod_of(shoot)
    off = world(seed, shoot, options=Options())
    assert bridge.plan_node(seed, off) == NOTHING
    assert bridge.plan_pod(shoot, off) == NOTHING
    left = world(seed, shoot, node, pod, options=Options())
    assert isinstance(bridge.plan_stray_node(node, left).actions[0], Delete)
    assert isinstance(bridge.plan_stray_pod(pod, left).actions[0], Delete)


def test_changes_are_mapped_to_keys() -> None:
    nodes, stray_nodes, pods, stray_pods = bridge.BRIDGE
    seed, shoot = make_seed("a"), make_shoot()
    snapshot = world(seed, shoot)
    node, pod = node_of(seed), pod_of(shoot)
    assert [*nodes.watches[0].mapper(node, None, snapshot)] == [seed.key]
    assert [*stray_nodes.watches[0].mapper(seed, None, snapshot)] == [node.key]
    assert [*pods.watches[0].mapper(pod, None, snapshot)] == [shoot.key]
    assert [*stray_pods.watches[0].mapper(shoot, None, snapshot)] == [pod.key]


def test_priorities_are_in_the_manifests(pytestconfig: pytest.Config) -> None:
    path = pytestconfig.rootpath / "manifests/kube-scheduler/priorityclasses.yaml"
    values = {
        item["metadata"]["name"]: item["value"] for item in yaml.safe_load_all(path.read_text())
    }
    names = [*bridge.PRIORITIES.values(), bridge.OTHER_PRIORITY]
    assert [*values] == names
    assert sorted(values.values(), reverse=True) == [*values.values()]
