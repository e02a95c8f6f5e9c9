"""Objects that policies accept, change or refuse, as users apply them."""

from typing import Any, Final, NamedTuple

from tests.support.builders import (
    CORE,
    SEEDMANAGEMENT,
    make_cloud_profile,
    make_managed_seed,
    make_managed_seed_set,
    make_object,
    make_seed,
    make_seed_shoot,
    make_shoot,
    make_worker,
    merged,
)
from webhook.api import names

NAMESPACE: Final = "garden-dev"
EXTENSIONS: Final = "extensions.gardener.cloud/v1alpha1"


class Refused(NamedTuple):
    """An object that a policy refuses, and the output of kubectl."""

    policy: str
    raw: dict[str, Any]
    named: str


class Derived(NamedTuple):
    """A value that a mutating policy stores in an object of the landscape."""

    policy: str
    what: tuple[str, ...]
    path: str
    expected: str


class Deletion(NamedTuple):
    """A deletion that a policy refuses, and what kubectl prints."""

    policy: str
    what: tuple[str, ...]
    named: str


class Change(NamedTuple):
    """A change that a policy refuses, and the output of kubectl; empty if it is allowed."""

    policy: str
    what: tuple[str, ...]
    patch: dict[str, Any]
    named: str = ""


def _quota(name: str, cpu: str) -> list[dict[str, Any]]:
    spec = {"scope": {"apiVersion": CORE, "kind": "Project"}, "metrics": {"cpu": cpu}}
    reference = {"name": name, "namespace": "garden"}
    return [
        make_object(CORE, "Quota", name, "garden", spec=spec),
        make_object(
            *(CORE, "SecretBinding", name, NAMESPACE),
            secretRef={"name": "credentials", "namespace": NAMESPACE},
            quotas=[reference],
            provider={"type": "local"},
        ),
    ]


def _default_domain() -> dict[str, Any]:
    metadata = {
        "labels": {names.ROLE: names.ROLE_DEFAULT_DOMAIN},
        "annotations": {names.DEFAULT_DOMAIN: "example.org", names.DEFAULT_DOMAIN_PROVIDER: "dns"},
    }
    return make_object("v1", "Secret", "default-domain", "garden", metadata=metadata)


def _autoscaler(name: str, target: str = "set", **spec: Any) -> dict[str, Any]:
    reference = {"apiVersion": SEEDMANAGEMENT, "kind": "ManagedSeedSet", "name": target}
    wanted = {"type": "Utilization", "averageUtilization": 80}
    metric = {"type": "Resource", "resource": {"name": "shoots", "target": wanted}}
    default = {"scaleTargetRef": reference, "maxReplicas": 5, "metrics": [metric]}
    version = "seedmanagement.gardener.cloud/v1beta1"
    return make_object(version, "SeedAutoscaler", name, "garden", spec=merged(default, spec))


def _scaling(name: str, finish: str = "2999-01-02T00:00:00Z", memory: str = "5G") -> dict[str, Any]:
    floor = {"containerName": "app", "resources": {"memory": memory}}
    spec = {
        "targetRefs": {"tortoiseName": "nobody"},
        "strategy": {"static": {"minAllocatedResources": [floor]}},
        "schedule": {"startAt": "2999-01-01T00:00:00Z", "finishAt": finish},
    }
    version = "autoscaling.mercari.com/v1alpha1"
    return make_object(version, "ScheduledScaling", name, NAMESPACE, spec=spec)


def _registration(name: str, *types: str) -> dict[str, Any]:
    resources = [{"kind": "Infrastructure", "type": each} for each in types]
    return make_object(CORE, "ControllerRegistration", name, spec={"resources": resources})


def make_infrastructure(name: str, **spec: Any) -> dict[str, Any]:
    return make_object(EXTENSIONS, "Infrastructure", name, NAMESPACE, spec=spec)


def _ha(kind: str) -> dict[str, Any]:
    return {"kubernetes": {"controlPlane": {"highAvailability": {"enabled": True, "type": kind}}}}


def _sizing(strategy: str) -> dict[str, Any]:
    return {"kubernetes": {"clusterAutoscaler": {"sizingStrategy": strategy}}}


def make_bare_managed_seed(shoot: str) -> dict[str, Any]:
    """A ManagedSeed that takes everything from its Shoot."""
    spec = {"shoot": {"name": shoot}, "gardenlet": {}}
    return make_object(SEEDMANAGEMENT, "ManagedSeed", shoot, "garden", spec=spec)


_MULTI_ZONAL: Final = "seed.gardener.cloud/multi-zonal"

GOOD: Final = [
    *(make_object("v1", "Namespace", name) for name in (NAMESPACE, "garden")),
    make_cloud_profile(),
    _default_domain(),
    *_quota("roomy", "2"),
    *_quota("narrow", "1"),
    make_seed("host"),
    make_seed_shoot(),
    make_seed_shoot("narrow-shoot", zones="a"),
    make_seed_shoot("weak", provider={"workers": [make_worker()]}),
    make_infrastructure("typed", type="local", region="here"),
    merged(
        make_infrastructure("held", type="local", region="here"),
        {"metadata": {"finalizers": ["example.org/hold"]}},
    ),
    _registration("first", "local"),
]
LATER: Final = [
    make_bare_managed_seed("seed"),
    make_seed("seed", zones="abc"),
    merged(make_managed_seed_set(), {"spec": {"replicas": None, "updateStrategy": None}}),
    make_shoot("guest", NAMESPACE, spec={"seedName": "host"}),
    make_shoot("tenant", NAMESPACE, spec={"seedName": "seed"}),
    make_shoot("counted", NAMESPACE, spec={"secretBindingName": "roomy"}),
    make_shoot("available", NAMESPACE, spec=_ha("multi-zone")),
    make_shoot("sized", NAMESPACE, spec=_sizing("Adaptive")),
    _autoscaler("auto"),
    _scaling("campaign"),
]

_PROTECTED: Final = "seed.gardener.cloud/protected"
_SEED_CONFIG: Final = "{.spec.gardenlet.config.seedConfig.spec"
DERIVED: Final = [
    Derived("shoot.defaults", ("shoot", "guest", "-n", NAMESPACE), "{.spec.purpose}", "evaluation"),
    Derived(
        *("shoot.defaults", ("shoot", "seed", "-n", "garden")),
        "{.spec.tolerations[0].key}",
        "seed.gardener.cloud/protected",
    ),
    Derived(
        *("managedseed.defaults", ("managedseed", "seed", "-n", "garden")),
        f"{_SEED_CONFIG}.provider.zones}}",
        '["a","b","c"]',
    ),
    Derived(
        *("managedseed.defaults", ("managedseed", "seed", "-n", "garden")),
        f"{_SEED_CONFIG}.dns.provider.type}}",
        "dns",
    ),
    Derived(
        *("managedseed.defaults", ("managedseed", "seed", "-n", "garden")),
        "{.spec.gardenlet.bootstrap}",
        "BootstrapToken",
    ),
    Derived(
        *("seed.defaults", ("seed", "host")),
        r"{.metadata.labels.seed\.gardener\.cloud/provider}",
        "local",
    ),
    Derived("seed.defaults", ("seed", "host"), "{.spec.settings.scheduling.visible}", "true"),
    Derived(
        *("seed.zones", ("seed", "seed")),
        r"{.metadata.labels.seed\.gardener\.cloud/multi-zonal}",
        "true",
    ),
    Derived(
        *("managedseedset.defaults", ("managedseedset", "set", "-n", "garden")),
        "{.spec.replicas}",
        "1",
    ),
    Derived(
        *("managedseedset.defaults", ("managedseedset", "set", "-n", "garden")),
        "{.spec.updateStrategy.type}",
        "RollingUpdate",
    ),
    Derived(
        *("seedautoscaler.defaults", ("seedautoscaler", "auto", "-n", "garden")),
        "{.spec.minReplicas}",
        "1",
    ),
]

REFUSED: Final = [
    Refused(
        "managedseed.rules",
        merged(make_managed_seed(), {"metadata": {"name": "again"}}),
        "spec.shoot.name",
    ),
    Refused(
        "managedseed.rules",
        merged(
            make_managed_seed("narrow-shoot"),
            {"spec": {"gardenlet": None, "seedTemplate": {"provider": {"type": "local"}}}},
        ),
        "move under spec",
    ),
    Refused(
        "seed.zones",
        merged(
            make_managed_seed("narrow-shoot"),
            {
                "spec": {
                    "gardenlet": {
                        "config": {"seedConfig": {"metadata": {"labels": {_MULTI_ZONAL: "true"}}}}
                    }
                }
            },
        ),
        _MULTI_ZONAL,
    ),
    Refused(
        "shoot.workers",
        make_shoot("a", NAMESPACE, workers=[make_worker(zones="abc", maximum=2)]),
        "raise maximum to 3",
    ),
    Refused(
        "shoot.workers",
        make_shoot("a", NAMESPACE, workers=[make_worker(zones="ax", maximum=2)]),
        "spec.provider.workers[0].zones[1]",
    ),
    Refused("shoot.sizing", make_shoot("a", NAMESPACE, spec=_sizing("x")), "sizingStrategy"),
    Refused("shoot.ha", make_shoot("a", NAMESPACE, spec=_ha("")), "highAvailability.type"),
    Refused(
        "shoot.placement", make_shoot("a", NAMESPACE, spec={"seedName": "nowhere"}), "spec.seedName"
    ),
    Refused(
        "shoot.quota",
        make_shoot("a", NAMESPACE, spec={"secretBindingName": "narrow"}),
        "Quota garden/narrow allows 1 of cpu, this would take 2",
    ),
    Refused(
        "seed.spec",
        make_seed("b", spec={"networks": {"pods": "10.1.0.0/16"}}),
        "spec.networks.nodes",
    ),
    Refused("seed.spec", make_object(CORE, "Seed", "b"), "spec.provider"),
    Refused(
        "managedseedset.rules",
        merged(make_managed_seed_set("s"), {"spec": {"updateStrategy": {"type": "OnDelete"}}}),
        "spec.updateStrategy.type",
    ),
    Refused("managedseedset.rules", make_managed_seed_set("with.dots"), "metadata.name"),
    Refused("seedautoscaler.rules", _autoscaler("second"), "spec.scaleTargetRef"),
    Refused("seedautoscaler.rules", _autoscaler("b", "none"), "spec.scaleTargetRef"),
    Refused("scheduledscaling.rules", _scaling("b", memory="5GB"), "5Gi"),
    Refused(
        "scheduledscaling.rules",
        _scaling("b", finish="2000-01-01T00:00:00Z"),
        "spec.schedule.finishAt",
    ),
    Refused("controllerregistration.rules", _registration("b", "local"), "spec.resources[0]"),
    Refused("controllerregistration.rules", _registration("b", "x", "x"), "spec.resources[1]"),
    Refused("extension.rules", make_infrastructure("b", type=""), "spec.type"),
]

_HOSTED_SHOOT: Final = ("shoot", "guest", "-n", NAMESPACE)
_REGISTERED: Final = ("shoot", "seed", "-n", "garden")
CHANGES: Final = [
    Change("shoot.placement", _HOSTED_SHOOT, {"spec": {"seedName": None}}, "spec.seedName"),
    Change(
        "shoot.quota",
        ("shoot", "counted", "-n", NAMESPACE),
        {"spec": {"provider": {"workers": [make_worker(maximum=2)]}}},
        "Quota garden/roomy allows 2 of cpu, this would take 4",
    ),
    Change(
        "shoot.ha",
        ("shoot", "available", "-n", NAMESPACE),
        {"spec": _ha("single-zone")},
        "highAvailability",
    ),
    Change("shoot.sizing", _HOSTED_SHOOT, {"spec": _sizing("Backward-Compatible")}),
    Change(
        "shoot.registered",
        _REGISTERED,
        {"spec": {"kubernetes": {"verticalPodAutoscaler": {"enabled": False}}}},
        "spec.kubernetes.verticalPodAutoscaler.enabled",
    ),
    Change("shoot.registered", _REGISTERED, {"spec": {"purpose": "infrastructure"}}),
    Change(
        "seed.zones",
        ("seed", "seed"),
        {"metadata": {"labels": {_MULTI_ZONAL: "false"}}},
        _MULTI_ZONAL,
    ),
    Change("seed.zones", ("seed", "seed"), {"metadata": {"labels": {"team": "a"}}}),
    Change("seed.spec", ("seed", "host"), {"spec": {"networks": {"pods": "10.9.0.0/16"}}}, "pods"),
    Change(
        "extension.rules",
        ("infrastructures.extensions.gardener.cloud", "typed", "-n", NAMESPACE),
        {"spec": {"type": "other"}},
        "spec.type",
    ),
    Change(
        "managedseedset.rules",
        ("managedseedset", "set", "-n", "garden"),
        {"spec": {"selector": {"matchLabels": {"set": "other"}}}},
        "spec.selector",
    ),
]

DELETIONS: Final = [
    Deletion("seed.deletion", ("seed", "host"), "guest"),
    Deletion("managedseed.deletion", ("managedseed", "seed", "-n", "garden"), "tenant"),
    Deletion("shoot.registered", ("shoot", "seed", "-n", "garden"), "delete that first"),
    Deletion("seed.deletion", ("--raw=/apis/core.gardener.cloud/v1beta1/seeds",), "guest"),
]
"""Objects that may not be deleted, and the output of kubectl; the last is a collection."""

WARNED: Final = "shoot.confirmation"
"""The policy that warns of a deletion instead of refusing it."""
