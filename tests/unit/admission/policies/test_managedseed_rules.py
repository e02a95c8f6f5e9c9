"""managedseed.rules: a ManagedSeed is valid and consistent with its Shoot."""

from typing import Any

import pytest

from tests.support.admission import ValidationResult, validate
from tests.support.builders import (
    make_managed_seed,
    make_seed_shoot,
    make_seed_template,
    make_shoot,
    make_worker,
    merged,
)
from webhook.api import names
from webhook.domain.options import Options

CONFIG = "spec.gardenlet.config"
SEED = f"{CONFIG}.seedConfig.spec"
SHOOT = "spec.shoot.name"


def of_seed(**spec: Any) -> dict[str, Any]:
    return make_managed_seed(template=make_seed_template(spec=spec))


def of_gardenlet(**gardenlet: Any) -> dict[str, Any]:
    return make_managed_seed(gardenlet=gardenlet)


def rules(
    obj: dict[str, Any],
    old: dict[str, Any] | None = None,
    *around: dict[str, Any],
    shoot: dict[str, Any] | None = None,
) -> ValidationResult:
    return validate("managedseed.rules", obj, old, around=[shoot or make_seed_shoot(), *around])


def test_a_valid_managed_seed() -> None:
    result = rules(make_managed_seed())
    assert (result.refused, result.warned) == (set(), set())


def test_a_valid_managed_seed_with_a_seed_template() -> None:
    obj = make_managed_seed(gardenlet=None, seedTemplate=make_seed_template())
    assert rules(obj).refused == set()


@pytest.mark.parametrize(
    ("obj", "refused"),
    [
        pytest.param(
            make_managed_seed(seedTemplate=make_seed_template()),
            {("spec.seedTemplate", "Forbidden")},
            id="both variants",
        ),
        pytest.param(
            make_managed_seed(gardenlet=None),
            {("spec.gardenlet", "Required")},
            id="neither variant",
        ),
        pytest.param(
            make_managed_seed(
                gardenlet=None,
                seedTemplate=make_seed_template(provider={"type": "gcp"}, taints=[]),
            ),
            {
                ("spec.seedTemplate.provider", "Forbidden"),
                ("spec.seedTemplate.taints", "Forbidden"),
            },
            id="fields one level too high, as in document 000",
        ),
        pytest.param(
            make_managed_seed(
                gardenlet=None, seedTemplate=make_seed_template(metadata={"name": "x"})
            ),
            {("spec.seedTemplate.metadata.name", "Forbidden")},
            id="a name for the seed",
        ),
        pytest.param(
            make_managed_seed(template=make_seed_template(metadata={"name": "x"})),
            {(f"{CONFIG}.seedConfig.metadata.name", "Forbidden")},
            id="a name for the gardenlet's seed",
        ),
        pytest.param(
            merged(make_managed_seed(), {"metadata": {"namespace": "garden-dev"}}),
            {("metadata.namespace", "Invalid"), (SHOOT, "Invalid")},
            id="another namespace, and no such shoot there",
        ),
        pytest.param(
            merged(make_managed_seed("seed"), {"metadata": {"name": "se.ed"}}),
            {("metadata.name", "Invalid")},
            id="a dot in the name",
        ),
        pytest.param(make_managed_seed(shoot=None), {("spec.shoot", "Required")}, id="no shoot"),
        pytest.param(
            make_managed_seed(shoot={"name": ""}), {(SHOOT, "Required")}, id="a shoot without name"
        ),
        pytest.param(
            make_managed_seed(shoot={"name": "gone"}), {(SHOOT, "Invalid")}, id="no such shoot"
        ),
    ],
)
def test_spec(obj: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    assert rules(obj).refused == refused


def test_the_message_names_the_right_place() -> None:
    obj = make_managed_seed(gardenlet=None, seedTemplate=make_seed_template(provider={}))
    assert rules(obj).messages == ("move under spec.seedTemplate.spec",)


def test_the_namespace_is_a_setting() -> None:
    options = Options(garden_namespace="beds")
    moved = {"metadata": {"namespace": "beds"}}
    around = [merged(make_seed_shoot(), moved)]
    obj = merged(make_managed_seed(), moved)
    result = validate("managedseed.rules", obj, around=around, options=options)
    assert result.refused == set()


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        pytest.param({"dns": None}, 1, id="no DNS"),
        pytest.param({"dns": {"domain": None}}, 1, id="no domain"),
        pytest.param({"addons": {"nginxIngress": {"enabled": True}}}, 1, id="nginx on"),
        pytest.param({"addons": {"nginxIngress": {"enabled": False}}}, 0, id="nginx off"),
        pytest.param({"kubernetes": {"verticalPodAutoscaler": None}}, 1, id="no autoscaler"),
        pytest.param(
            {"kubernetes": {"verticalPodAutoscaler": {"enabled": False}}}, 1, id="autoscaler off"
        ),
        pytest.param(
            {
                "dns": None,
                "addons": {"nginxIngress": {"enabled": True}},
                "kubernetes": {"verticalPodAutoscaler": None},
            },
            3,
            id="all at once",
        ),
    ],
)
def test_requirements_on_the_shoot(spec: dict[str, Any], count: int) -> None:
    result = rules(make_managed_seed(), shoot=make_seed_shoot(**spec))
    assert result.refused == ({(SHOOT, "Invalid")} if count else set())
    assert len(result.messages) == count


def test_a_shoot_without_workers_is_rejected() -> None:
    shoot = make_seed_shoot(provider={"workers": []})
    result = rules(make_managed_seed(template=make_seed_template(zones="")), shoot=shoot)
    assert result.refused == {(SHOOT, "Invalid")}


def test_a_shoot_has_one_managed_seed() -> None:
    other = merged(make_managed_seed(), {"metadata": {"name": "other"}})
    result = rules(make_managed_seed(), None, other)
    assert result.refused == {(SHOOT, "Invalid")}
    assert "already registered by ManagedSeed garden/other" in result.messages[0]
    assert rules(make_managed_seed(), None, make_managed_seed()).refused == set()


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        pytest.param(
            of_seed(ingress={"domain": "other.org"}), {"ingress.domain"}, id="ingress domain"
        ),
        pytest.param(of_seed(networks={"nodes": "10.9.0.0/16"}), {"networks.nodes"}, id="nodes"),
        pytest.param(of_seed(networks={"pods": "10.9.0.0/16"}), {"networks.pods"}, id="pods"),
        pytest.param(
            of_seed(networks={"services": "10.9.0.0/16"}), {"networks.services"}, id="services"
        ),
        pytest.param(of_seed(provider={"type": "aws"}), {"provider.type"}, id="type"),
        pytest.param(of_seed(provider={"region": "there"}), {"provider.region"}, id="region"),
        pytest.param(
            of_seed(provider={"zones": ["a", "x"]}), {"provider.zones"}, id="a zone of no pool"
        ),
        pytest.param(of_seed(provider={"zones": ["a"]}), set(), id="some of the zones"),
        pytest.param(
            of_seed(settings={"verticalPodAutoscaler": {"enabled": True}}),
            {"settings.verticalPodAutoscaler.enabled"},
            id="an autoscaler of its own",
        ),
        pytest.param(
            of_seed(dns={"ingressDomain": "x.seed.example.org"}), set(), id="older ingress domain"
        ),
        pytest.param(
            of_seed(dns={"ingressDomain": "x.org"}), {"dns.ingressDomain"}, id="one elsewhere"
        ),
        pytest.param(
            of_seed(networks={"pods": "10.9.0.0/16"}, provider={"type": "aws", "region": "there"}),
            {"networks.pods", "provider.type", "provider.region"},
            id="all at once",
        ),
    ],
)
def test_the_seed_template_is_consistent_with_the_shoot(
    obj: dict[str, Any], fields: set[str]
) -> None:
    assert rules(obj).refused == {(f"{SEED}.{field}", "Invalid") for field in fields}


def test_a_shoot_without_networks_allows_any() -> None:
    obj = of_seed(networks={"pods": "10.9.0.0/16"})
    assert rules(obj, shoot=make_seed_shoot(networking=None)).refused == set()


@pytest.mark.parametrize(
    ("gates", "count"),
    [
        pytest.param({}, 0, id="no gates"),
        pytest.param({"kubeAPIServer": True}, 0, id="on"),
        pytest.param({"kubeAPIServer": False}, 1, id="off for one"),
        pytest.param(
            {"kubeAPIServer": False, "kubeControllerManager": False, "kubeProxy": False},
            3,
            id="off for all",
        ),
    ],
)
def test_topology_aware_routing_needs_its_feature_gates(gates: dict[str, bool], count: int) -> None:
    kubernetes = {
        component: {"featureGates": {"TopologyAwareHints": value}}
        for component, value in gates.items()
    }
    obj = of_seed(settings={"topologyAwareRouting": {"enabled": True}})
    result = rules(obj, shoot=make_seed_shoot(kubernetes=kubernetes))
    assert len(result.messages) == count
    assert result.fields == ({f"{SEED}.settings.topologyAwareRouting.enabled"} if count else set())


@pytest.mark.parametrize(
    ("gardenlet", "refused"),
    [
        pytest.param({"bootstrap": "ServiceAccount"}, set(), id="by service account"),
        pytest.param(
            {"bootstrap": "Magic"}, {("bootstrap", "NotSupported")}, id="an unknown bootstrap"
        ),
        pytest.param({"deployment": {"replicaCount": 0}}, set(), id="no replicas"),
        pytest.param(
            {"deployment": {"replicaCount": -1}},
            {("deployment.replicaCount", "Invalid")},
            id="negative replicas",
        ),
        pytest.param(
            {"deployment": {"revisionHistoryLimit": -1}},
            {("deployment.revisionHistoryLimit", "Invalid")},
            id="negative history",
        ),
        pytest.param(
            {"deployment": {"serviceAccountName": "Bad!"}},
            {("deployment.serviceAccountName", "Invalid")},
            id="a bad service account",
        ),
        pytest.param(
            {"deployment": {"podLabels": {"a b": "c"}}},
            {("deployment.podLabels", "Invalid")},
            id="a bad label key",
        ),
        pytest.param(
            {"deployment": {"podLabels": {"a": "b c"}}},
            {("deployment.podLabels", "Invalid")},
            id="a bad label value",
        ),
        pytest.param(
            {"deployment": {"podAnnotations": {"a b": "c"}}},
            {("deployment.podAnnotations", "Invalid")},
            id="a bad annotation key",
        ),
        pytest.param(
            {"deployment": {"image": {"tag": ""}}},
            {("deployment.image.tag", "Invalid")},
            id="an empty tag",
        ),
        pytest.param(
            {"deployment": {"image": {"ref": "a", "tag": "b"}}},
            {("deployment.image", "Forbidden")},
            id="reference and tag",
        ),
        pytest.param(
            {"deployment": {"image": {"pullPolicy": "Sometimes"}}},
            {("deployment.image.pullPolicy", "NotSupported")},
            id="an unknown pull policy",
        ),
        pytest.param(
            {"config": {"kind": "Other"}}, {("config", "Invalid")}, id="another kind of config"
        ),
        pytest.param(
            {"config": {"resources": {"capacity": {"shoots": 5}, "reserved": {"shoots": 5}}}},
            set(),
            id="all of it reserved",
        ),
        pytest.param(
            {"config": {"resources": {"capacity": {"shoots": 5}, "reserved": {"shoots": 6}}}},
            {("config.resources.reserved.shoots", "Invalid")},
            id="more reserved than there is",
        ),
        pytest.param(
            {"config": {"resources": {"reserved": {"persistent-volumes": 1}}}},
            {("config.resources.reserved.persistent-volumes", "Invalid")},
            id="reserved without a capacity",
        ),
        pytest.param(
            {"config": {"resources": {"capacity": {"shoots": "many"}}}},
            {("config.resources.capacity.shoots", "Invalid")},
            id="a capacity that is not a quantity",
        ),
        pytest.param(
            {"config": {"gardenClientConnection": {"kubeconfig": "/a"}}},
            {("config.gardenClientConnection.kubeconfig", "Forbidden")},
            id="a kubeconfig beside the bootstrap",
        ),
        pytest.param(
            {"bootstrap": "None", "config": {"gardenClientConnection": {"kubeconfig": "/a"}}},
            set(),
            id="a kubeconfig without bootstrap",
        ),
        pytest.param(
            {"bootstrap": "None", "config": {"gardenClientConnection": {}}},
            set(),
            id="none without bootstrap, but merged with the parent's",
        ),
        pytest.param(
            {
                "bootstrap": "None",
                "mergeWithParent": False,
                "config": {"gardenClientConnection": {}},
            },
            {("config.gardenClientConnection.kubeconfig", "Required")},
            id="none without bootstrap",
        ),
        pytest.param(
            {
                "bootstrap": "None",
                "config": {
                    "gardenClientConnection": {
                        "kubeconfig": "/a",
                        "bootstrapKubeconfig": {},
                        "kubeconfigSecret": {},
                    }
                },
            },
            {
                ("config.gardenClientConnection.bootstrapKubeconfig", "Forbidden"),
                ("config.gardenClientConnection.kubeconfigSecret", "Forbidden"),
            },
            id="what only a bootstrap uses",
        ),
    ],
)
def test_the_gardenlet(gardenlet: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    result = rules(of_gardenlet(**gardenlet))
    assert result.refused == {(f"spec.gardenlet.{field}", reason) for field, reason in refused}


def test_the_seed_template_is_validated_like_a_seed() -> None:
    obj = of_seed(taints=[{"key": "a"}, {"key": "a"}])
    assert rules(obj).refused == {(f"{SEED}.taints[1]", "Duplicate")}


HOSTED = make_shoot(spec={"seedName": "seed", "dns": {"domain": "s.a.org"}})
DOMAINS = {"defaults": [{"domain": "a.org"}, {"domain": "b.org"}]}


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        pytest.param(make_managed_seed(), make_managed_seed(), set(), id="nothing"),
        pytest.param(
            make_managed_seed(shoot={"name": "x"}), make_managed_seed(), {"spec.shoot"}, id="shoot"
        ),
        pytest.param(
            of_gardenlet(bootstrap="ServiceAccount"),
            make_managed_seed(),
            {"spec.gardenlet.bootstrap"},
            id="bootstrap",
        ),
        pytest.param(
            of_gardenlet(mergeWithParent=False),
            make_managed_seed(),
            {"spec.gardenlet.mergeWithParent"},
            id="merging with the parent",
        ),
        pytest.param(
            make_managed_seed(),
            make_managed_seed(gardenlet=None, seedTemplate=make_seed_template()),
            {"spec"},
            id="from gardenlet to seedTemplate",
        ),
        pytest.param(
            make_managed_seed(gardenlet=None, seedTemplate=make_seed_template()),
            make_managed_seed(),
            set(),
            id="from seedTemplate to gardenlet",
        ),
        pytest.param(
            of_seed(ingress={"domain": "old.org"}),
            make_managed_seed(),
            {f"{SEED}.ingress.domain"},
            id="the seed's ingress domain",
        ),
        pytest.param(
            of_seed(provider={"zones": ["a", "b", "c"]}),
            of_seed(provider={"zones": ["a", "b"]}),
            {f"{SEED}.provider.zones"},
            id="a zone that is in use",
        ),
        pytest.param(
            of_seed(provider={"zones": ["old"]}),
            of_seed(provider={"zones": ["old", "a"]}),
            set(),
            id="an old foreign zone is tolerated",
        ),
        pytest.param(
            of_seed(provider={"zones": ["a"]}),
            of_seed(provider={"zones": ["a", "new"]}),
            {f"{SEED}.provider.zones"},
            id="a new foreign zone is not",
        ),
        pytest.param(
            of_seed(dns={"internal": {"domain": "old.org"}}),
            make_managed_seed(),
            {f"{SEED}.dns.internal.domain"},
            id="the internal domain",
        ),
        pytest.param(
            of_seed(dns=DOMAINS),
            of_seed(dns={"defaults": [{"domain": "b.org"}]}),
            {f"{SEED}.dns.defaults"},
            id="a default domain in use",
        ),
        pytest.param(
            of_seed(dns=DOMAINS),
            of_seed(dns={"defaults": [{"domain": "a.org"}]}),
            set(),
            id="a default domain not in use",
        ),
    ],
)
def test_update(old: dict[str, Any], new: dict[str, Any], fields: set[str]) -> None:
    assert rules(new, old, HOSTED).fields == fields


def test_zones_of_an_unused_seed_can_be_removed() -> None:
    new, old = of_seed(provider={"zones": ["a"]}), of_seed(provider={"zones": ["a", "b"]})
    assert rules(new, old).refused == set()


OPERATION = f"metadata.annotations[{names.OPERATION}]"


@pytest.mark.parametrize(
    ("operation", "refused"),
    [("reconcile", False), ("renew-kubeconfig", False), ("retry", True)],
)
def test_operations(operation: str, refused: bool) -> None:
    obj = merged(make_managed_seed(), {"metadata": {"annotations": {names.OPERATION: operation}}})
    assert rules(obj).refused == ({(OPERATION, "NotSupported")} if refused else set())


def pools(*workers: dict[str, Any]) -> dict[str, Any]:
    return make_seed_shoot(provider={"workers": [*workers]})


@pytest.mark.parametrize(
    ("shoot", "zones", "warnings"),
    [
        pytest.param(
            pools(make_worker(zones="abc", minimum=3)), "abc", 0, id="one pool that is big enough"
        ),
        pytest.param(
            pools(make_worker(zones="abc", minimum=2)), "abc", 2, id="one pool that is too small"
        ),
        pytest.param(
            pools(
                make_worker("cpu", "abc", minimum=3),
                make_worker("etcd", "abc", minimum=2),
                make_worker("etcd-compaction", "abc", minimum=1),
            ),
            "abc",
            1,
            id="too small a pool for etcd",
        ),
        pytest.param(
            pools(
                make_worker("cpu", "abc", minimum=3),
                make_worker("etcd", "abc", minimum=3),
                make_worker("etcd-compaction", "abc", minimum=1),
            ),
            "abc",
            0,
            id="pools of their own",
        ),
        pytest.param(
            pools(make_worker("cpu", "ab", minimum=3), make_worker("b", "c", minimum=1)),
            "abc",
            2,
            id="too few zones for a multi-zonal seed",
        ),
        pytest.param(
            pools(make_worker("cpu", "ab", minimum=3)), "ab", 0, id="enough for another seed"
        ),
    ],
)
def test_small_worker_pools_are_warned_about(
    shoot: dict[str, Any], zones: str, warnings: int
) -> None:
    obj = make_managed_seed(template=make_seed_template(zones=zones))
    result = rules(obj, shoot=shoot)
    assert result.refused == set()
    assert len(result.messages) == warnings
    assert rules(obj, obj, shoot=shoot).messages == ()
