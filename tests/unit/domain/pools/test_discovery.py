"""Discovery of worker pools from their MachineDeployments."""

from typing import Any

import pytest

from tests.support.machine_objects import SHOOT_NAMESPACE, deployment
from webhook.api import names
from webhook.api.decode import convert
from webhook.api.extensions import Cluster, Worker
from webhook.domain.pools import pool_definition
from webhook.domain.pools.discovery import (
    Discovery,
    DiscoveryError,
    Permits,
    Pool,
    PoolKey,
    PoolZone,
    UnusableDeployment,
    discover,
    key_of,
    parse_discovery,
)

FOUND = (Discovery(names.WORKER_POOL),)
KEY = PoolKey(SHOOT_NAMESPACE, f"mcm:{names.WORKER_POOL}", "pool")


def _named(zone: int) -> str:
    return f"{SHOOT_NAMESPACE}-pool-z{zone + 1}"


def _zone(zone: int, replicas: int = 0) -> PoolZone:
    return PoolZone(_named(zone), zone, replicas, "10", f"uid-{_named(zone)}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("mcm:key", Discovery("key"), id="a key"),
        pytest.param("mcm:key=value", Discovery("key", "value"), id="a key and a value"),
        pytest.param(
            "mcm:k8s.io/cluster-autoscaler/my-shoot",
            Discovery("k8s.io/cluster-autoscaler", "my-shoot", is_shoot=True),
            id="the form that the design proposes",
        ),
        pytest.param(
            "mcm:k8s.io/cluster-autoscaler=my-shoot",
            Discovery("k8s.io/cluster-autoscaler", "my-shoot"),
            id="the label that this form stands for",
        ),
        pytest.param(
            f"mcm:{'a' * 63}.example.org/{'b' * 63}",
            Discovery(f"{'a' * 63}.example.org/{'b' * 63}"),
            id="a long key",
        ),
        pytest.param("mcm:key=a=b", Discovery("key", "a=b"), id="a value may hold an equals sign"),
    ],
)
def test_a_discovery_spec_names_a_key_and_perhaps_a_value(text: str, expected: Discovery) -> None:
    assert parse_discovery(text) == expected
    assert expected.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("key", "names no discoverer", id="no discoverer"),
        pytest.param("asg:tag=key", "there is no discoverer 'asg', only mcm", id="another one"),
        pytest.param(":key", "there is no discoverer ''", id="an empty one"),
        pytest.param("mcm:", "is not the key", id="no key"),
        pytest.param("mcm:=value", "is not the key", id="a value without a key"),
        pytest.param("mcm:key=", "give a value", id="an equals sign without a value"),
        pytest.param("mcm:key=a ", "give a value", id="a blank at the end"),
        pytest.param("mcm:a key", "is not the key", id="a blank in the key"),
        pytest.param("MCM:key", "there is no discoverer 'MCM'", id="capital letters"),
        pytest.param("mcm:a/b/c", "would match nothing", id="two slashes"),
        pytest.param("mcm:k8s.io/cluster-autoscaler/a/b", "would match nothing", id="three"),
        pytest.param("mcm:k8s.io/cluster-autoscaler/", "would match nothing", id="no shoot"),
        pytest.param(
            "mcm:k8s.io/cluster-autoscaler/<shoot>", "would match nothing", id="a placeholder"
        ),
        pytest.param(
            "mcm:k8s.io/cluster-autoscaler/one=true", "leave out the value", id="a shoot's value"
        ),
        pytest.param("mcm:Example.org/key", "would match nothing", id="a prefix in capitals"),
        pytest.param("mcm:a..b/key", "would match nothing", id="an empty part of the prefix"),
        pytest.param(f"mcm:{'a.' * 127}a/key", "would match nothing", id="a prefix over 253"),
        pytest.param(f"mcm:{'a' * 64}/key", "would match nothing", id="a part over 63"),
        pytest.param(f"mcm:{'b' * 64}", "would match nothing", id="a name over 63"),
        pytest.param("mcm:/key", "would match nothing", id="an empty prefix"),
    ],
)
def test_invalid_discovery_specs_raise_with_the_spec(text: str, message: str) -> None:
    with pytest.raises(DiscoveryError, match=message):
        parse_discovery(text)


@pytest.mark.parametrize(
    ("discovery", "metadata", "expected"),
    [
        pytest.param(Discovery("k"), {"labels": {"k": "v"}}, True, id="a label"),
        pytest.param(Discovery("k"), {"annotations": {"k": ""}}, True, id="an annotation"),
        pytest.param(Discovery("k"), {"labels": {"other": "v"}}, False, id="neither"),
        pytest.param(Discovery("k", "v"), {"labels": {"k": "v"}}, True, id="the value"),
        pytest.param(Discovery("k", "v"), {"labels": {"k": "w"}}, False, id="another value"),
        pytest.param(
            Discovery("k", "v"),
            {"labels": {"k": "w"}, "annotations": {"k": "v"}},
            True,
            id="the value in one of both places",
        ),
    ],
)
def test_a_spec_selects_objects_with_its_key(
    discovery: Discovery, metadata: dict[str, Any], expected: bool
) -> None:
    assert discovery.selects(deployment(metadata=metadata)) is expected


@pytest.mark.parametrize(
    ("namespace", "metadata", "expected"),
    [
        pytest.param("shoot--dev--one", {}, True, id="the namespace of the shoot"),
        pytest.param("shoot--other--one", {}, True, id="of a shoot with that name"),
        pytest.param("shoot--dev--two", {}, False, id="another shoot's"),
        pytest.param("shoot--one--two", {}, False, id="the name of a project"),
        pytest.param("dev--one", {}, False, id="no shoot's"),
        pytest.param("x", {"labels": {"k8s.io/cluster-autoscaler": "one"}}, True, id="a label"),
        pytest.param(
            "x", {"annotations": {"k8s.io/cluster-autoscaler": "one"}}, True, id="an annotation"
        ),
        pytest.param(
            "x", {"labels": {"k8s.io/cluster-autoscaler": "two"}}, False, id="another value"
        ),
    ],
)
def test_the_key_of_the_document_selects_what_a_shoot_has(
    namespace: str, metadata: dict[str, Any], expected: bool
) -> None:
    spec = parse_discovery("mcm:k8s.io/cluster-autoscaler/one")
    found = deployment(namespace=namespace, metadata=metadata)
    assert spec.selects(found) is expected
    key = key_of(found, [spec])
    assert (key.discovery if key else None) == (spec.text if expected else None)


def test_zones_make_a_pool_in_the_order_of_its_definition() -> None:
    zones = [deployment(zone=index, replicas=index) for index in (10, 1, 0, 9)]
    pools, unusable = discover(zones, FOUND)
    assert pools == (Pool(KEY, 3, 4, 11, tuple(_zone(index, index) for index in (0, 1, 9, 10))),)
    assert unusable == ()


def test_the_zone_count_is_that_of_the_definition_not_of_the_existing_zones() -> None:
    found = deployment(metadata={"annotations": {names.POOL_ZONE_COUNT: "3"}})
    (pool,), _ = discover([found], FOUND)
    assert (pool.zone_count, len(pool.zones)) == (3, 1)


def test_a_field_takes_precedence_over_its_annotation() -> None:
    (pool,), _ = discover([deployment(spec={"poolMinimum": 1, "poolMaximum": 9})], FOUND)
    assert (pool.minimum, pool.maximum) == (1, 9)


def test_while_zones_disagree_the_smaller_number_of_each_bound_counts() -> None:
    adaptive = {"metadata": {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}}
    zones = [deployment(zone=0, bounds=(2, 9), **adaptive), deployment(zone=1, bounds=(3, 6))]
    (pool,), _ = discover(zones, FOUND)
    assert (pool.minimum, pool.maximum, pool.strategy) == (2, 6, "Backward-Compatible")
    assert pool.disagreements == ("minimum", "maximum", "strategy")


def test_pools_differ_by_discovery_spec_and_by_label() -> None:
    one = deployment("one", metadata={"labels": {"team": "a"}})
    two = deployment("two", metadata={"labels": {"team": "b"}})
    pools, _ = discover([two, one], [Discovery("team", "a"), *FOUND])
    assert [pool.key for pool in pools] == [
        PoolKey(SHOOT_NAMESPACE, "mcm:team=a", "one"),
        PoolKey(SHOOT_NAMESPACE, f"mcm:{names.WORKER_POOL}", "two"),
    ]


def test_unselected_and_deleted_machinedeployments_are_in_no_pool() -> None:
    going = deployment(zone=1, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert discover([deployment()], [Discovery("other")]) == ((), ())
    assert discover([going], FOUND) == ((), ())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"bounds": None}, "spec.poolMaximum: required", id="no bounds at all"),
        pytest.param(
            {"bounds": (5, 4)}, "spec.poolMinimum: 5 is above spec.poolMaximum 4", id="min over max"
        ),
        pytest.param({"bounds": ("x", 4)}, "'x' is not a number from 0", id="a bound that is none"),
        pytest.param({"bounds": (-1, 4)}, "'-1' is not a number from 0", id="a negative bound"),
        pytest.param(
            {"bounds": (0, 2**31)},
            "'2147483648' is not a number from 0",
            id="more than the wire takes",
        ),
        pytest.param(
            {"metadata": {"name": "odd"}}, "spec.zoneIndex: required", id="a name without a zone"
        ),
        pytest.param(
            {"spec": {"sizingStrategy": "Greedy"}}, "'Greedy' is unknown", id="unknown strategy"
        ),
        pytest.param(
            {"spec": {"poolMaxSurge": "many"}},
            "spec.poolMaxSurge: 'many' is neither a number nor a percentage",
            id="a surge in words",
        ),
    ],
)
def test_an_unusable_machinedeployment_does_not_affect_the_others(
    changes: dict[str, Any], why: str
) -> None:
    pools, unusable = discover([deployment(zone=1), deployment(**changes)], FOUND)
    assert [zone.position for pool in pools for zone in pool.zones] == [1]
    (one,) = unusable
    assert why in one.why


def test_the_second_machinedeployment_of_a_zone_is_unusable() -> None:
    second = deployment(metadata={"name": "worker-z1"})
    (pool,), unusable = discover([deployment(), second], FOUND)
    assert [zone.name for zone in pool.zones] == [_named(0)]
    why = f"zone index 0 of pool pool is already used by {_named(0)}, set another"
    assert unusable == (UnusableDeployment("worker-z1", why),)


@pytest.mark.parametrize(
    ("surge", "unavailable", "expected"),
    [
        pytest.param(1, 0, Permits(1, 0), id="numbers"),
        pytest.param("10%", 0, Permits(1, 0), id="a surge is rounded up"),
        pytest.param("30%", "50%", Permits(3, 2), id="what may be missing is rounded down"),
        pytest.param(0, 0, Permits(0, 1), id="nothing at all: one may be missing"),
        pytest.param("0%", "10%", Permits(0, 1), id="percentages that come to nothing"),
    ],
)
def test_surge_and_unavailability_are_those_of_the_whole_pool(
    surge: int | str, unavailable: int | str, expected: Permits
) -> None:
    pool = Pool(KEY, 5, 10, 3, (), surge=surge, unavailable=unavailable)
    assert pool.permits == expected


def _worker(**changes: Any) -> Worker:
    pool = {"name": "pool", "minimum": 2, "maximum": 6, "zones": ["zone-1", "zone-0"], **changes}
    return convert(Worker, {"metadata": {"name": "w"}, "spec": {"pools": [pool]}})


def _cluster(strategy: str) -> Cluster:
    kubernetes = {"version": "1.33.1", "clusterAutoscaler": {"sizingStrategy": strategy}}
    shoot = {"metadata": {"name": "s"}, "spec": {"kubernetes": kubernetes}}
    return convert(Cluster, {"metadata": {"name": SHOOT_NAMESPACE}, "spec": {"shoot": shoot}})


def test_wanted_fields_come_from_worker_and_cluster() -> None:
    found = pool_definition.missing_annotations(
        deployment(bounds=None), _worker(maxSurge="10%", maxUnavailable=1), _cluster("Adaptive")
    )
    assert found == {
        names.POOL_MINIMUM: "2",
        names.POOL_MAXIMUM: "6",
        names.POOL_MAX_SURGE: "10%",
        names.POOL_MAX_UNAVAILABLE: "1",
        names.POOL_ZONE_COUNT: "2",
        names.POOL_ZONE_INDEX: "1",
        names.SIZING_STRATEGY: "Adaptive",
    }


def test_a_zone_with_the_wanted_fields_lacks_no_annotation() -> None:
    complete = deployment(
        spec={"poolMinimum": 2, "poolMaximum": 6, "zoneCount": 2},
        metadata={"annotations": {names.POOL_ZONE_INDEX: "1"}},
    )
    assert pool_definition.missing_annotations(complete, _worker(), None) == {}


def test_without_a_worker_only_the_zone_index_is_known() -> None:
    assert pool_definition.missing_annotations(deployment(), None, None) == {
        names.POOL_ZONE_INDEX: "0"
    }


def test_setting_an_annotation_removes_its_field() -> None:
    draft: dict[str, Any] = {"metadata": {}, "spec": {"poolMaximum": 4, "replicas": 1}}
    pool_definition.set_annotations(draft, {names.POOL_MAXIMUM: "6"})
    assert draft == {
        "metadata": {"annotations": {names.POOL_MAXIMUM: "6"}},
        "spec": {"replicas": 1},
    }
