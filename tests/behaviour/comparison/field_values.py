"""Values on both sides of the boundaries of Gardener's rules, by base and field."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

REMOVED: Final = object()
"""Stands for a field that is removed."""

Edits: TypeAlias = Mapping[str, Sequence[Any]]

POOL: Final = "spec.provider.workers[0]"
TEMPLATE: Final = "spec.gardenlet.config.seedConfig"
SET_TEMPLATE: Final = f"spec.template.{TEMPLATE}"


def pool(name: str, zones: str, maximum: int, allow: bool = True, **more: Any) -> dict[str, Any]:
    """A worker pool that Gardener accepts."""
    return {
        "name": name,
        "minimum": min(1, maximum),
        "maximum": maximum,
        "maxSurge": 1,
        "maxUnavailable": 0,
        "zones": [f"local-{zone}" for zone in zones],
        "machine": {
            "type": "small",
            "architecture": "amd64",
            "image": {"name": "local", "version": "1.0.0"},
        },
        "volume": {"type": "standard", "size": "50Gi"},
        "cri": {"name": "containerd"},
        "systemComponents": {"allow": allow},
        **more,
    }


_POOLS: Final[tuple[list[dict[str, Any]], ...]] = (
    [pool("one", "abc", 3), pool("two", "a", 1, False)],
    [pool("one", "abc", 1), pool("two", "abc", 3)],
    [pool("one", "abc", 3), pool("two", "abc", 1)],
    [pool("one", "abc", 2), pool("two", "a", 1, False)],
    [pool("one", "abc", 2), pool("two", "bca", 1)],
    [pool("one", "abc", 2), pool("two", "cab", 1, False)],
    [pool("one", "abc", 0)],
    [pool("one", "abc", 3, False)],
    [pool("one", "abc", 3), pool("two", "ab", 1, False)],
    [pool("one", "abc", 3), pool("one", "a", 1)],
    [],
)
_ROLLING: Final[Edits] = {
    "maxSurge": (0, "0%", "25%", "150%", "1", "x%", -1, REMOVED),
    "maxUnavailable": (1, "100%", "101%", "0%", "one", -1, REMOVED),
    "minimum": (-1, 0, 3, 4),
    "maximum": (-1, 0, 1, 2, 3, 100),
    "name": ("fifteen-letters", "sixteen-letters-", "sixteen-letters0", "UPPER", "a.b", "-a", ""),
    "priority": (-2, -1, 0, 100),
    "volume.size": ("0Gi", "50G", "50", "1.5Gi", "-1Gi", ""),
    "machine.type": ("", "nothing", "large", "scarce", "retired"),
    "volume.type": ("", "nothing", "fast", "rare", "withdrawn"),
    "machine.image": (REMOVED, {"name": "local"}, {"name": "other", "version": "1.0.0"}),
    "machine.image.version": ("1.1.0", "9.9.9", "x"),
    "machine.image.name": ("",),
    "machine.architecture": ("arm64", "x86"),
    "zones": (
        ["local-a", "local-a"],
        ["local-a", "nowhere"],
        ["nowhere"],
        [],
        ["local-c", "local-b", "local-a"],
        ["local-b"],
    ),
    "systemComponents.allow": (False,),
    "labels": ({"a": "b"}, {"-": "b"}, {"a": "b c"}),
    "taints": (
        [{"key": "a", "value": "b", "effect": "NoSchedule"}],
        [{"key": "a", "effect": "Never"}],
    ),
}
_AVAILABILITY: Final = (
    REMOVED,
    {"failureTolerance": {"type": "node"}},
    {"failureTolerance": {"type": "zone"}},
    {"failureTolerance": {"type": "region"}},
    {"failureTolerance": {"type": ""}},
)
_NETWORKING: Final[Edits] = {
    "spec.networking.nodes": ("10.11.0.0/17", "10.10.0.0/33", "10.20.0.0/16", "fd00::/64", ""),
    "spec.networking.pods": ("10.10.0.0/17", "abc", "10.21.0.0/16", "240.0.0.0/16", ""),
    "spec.networking.services": ("10.10.0.0/17", "1.2.3.4", "10.22.0.0/16", "11.0.0.0/7", ""),
    "spec.networking.ipFamilies": (["IPv6"], ["IPv4", "IPv6"], ["IPv5"], []),
    "spec.networking.type": ("cilium", "nothing", ""),
}
SHOOT: Final[Edits] = {
    **{f"{POOL}.{field}": values for field, values in _ROLLING.items()},
    **_NETWORKING,
    "spec.provider.workers": _POOLS,
    "spec.provider.type": ("aws", "nothing", ""),
    "spec.controlPlane.highAvailability": _AVAILABILITY[1:],
    "spec.controlPlane.zones": (["local-a"], ["local-a", "local-a"], ["a", "b", "c"]),
    "metadata.name": ("sixteen-letters-", "sixteen-letters0", "seventeen-letters", "a.b", "A"),
    "spec.region": ("bare", "nowhere", ""),
    "spec.purpose": ("testing", "development", "production", "infrastructure", "fun", ""),
    "spec.kubernetes.version": ("1.35.4", "1.34.3", "1.34", "1.36", "9.9.9", "x", ""),
    "spec.cloudProfile": (
        REMOVED,
        {"kind": "CloudProfile", "name": "nothing"},
        {"kind": "NamespacedCloudProfile", "name": "nothing"},
        {"kind": "Profile", "name": "likeness"},
    ),
    "spec.cloudProfileName": ("likeness", "local"),
    "spec.credentialsBindingName": ("nothing", "", REMOVED),
    "spec.secretBindingName": ("local",),
    "spec.exposureClassName": ("nothing",),
    "spec.schedulerName": ("espalier", "default-scheduler", ""),
    "spec.seedName": ("home", "lone", "tainted", "full", "nothing"),
    "spec.seedSelector": (
        {"matchLabels": {"test": "home"}},
        {"matchLabels": {"-": "home"}},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"providerTypes": ["aws"]},
    ),
    "spec.tolerations": (
        [{"key": "welcome"}],
        [{"key": "unwelcome"}],
        [{"key": "welcome", "value": "x"}, {"key": "welcome", "value": "y"}],
        [{"key": "welcome"}, {"key": "welcome"}],
        [{"key": ""}],
        [{"key": "not a key"}],
    ),
    "spec.accessRestrictions": ([{"name": "eu"}], [{"name": "eu"}, {"name": "eu"}]),
    "spec.dns": (
        {"domain": "a.b.example.org"},
        {"domain": "likeness.local.shoots.espalier.test"},
        {"domain": "not a domain"},
        {"providers": [{"type": "local", "primary": True}]},
        {"providers": [{"type": "unmanaged"}]},
    ),
    "spec.addons": (
        {"nginxIngress": {"enabled": True}},
        {"kubernetesDashboard": {"enabled": True}},
    ),
    "spec.hibernation": ({"enabled": True}, {"enabled": False}),
    "spec.extensions": ([{"type": "nothing"}],),
    "spec.maintenance.timeWindow.begin": ("220000+0100", "250000+0100", "22:00"),
    "metadata.annotations": (
        {"gardener.cloud/operation": "reconcile"},
        {"gardener.cloud/operation": "retry"},
        {"gardener.cloud/operation": "dance"},
        {"confirmation.gardener.cloud/deletion": "true"},
        {"shoot.gardener.cloud/expiration-timestamp": "2126-01-01T00:00:00Z"},
        {"espalier.gardener.cloud/high-availability": '{"enabled":true,"type":"multi-zone"}'},
        {"espalier.gardener.cloud/high-availability": "true"},
        {"espalier.gardener.cloud/region-affinity": "required"},
        {"espalier.gardener.cloud/region-affinity": "never"},
        {"espalier.gardener.cloud/sizing-strategy": "Adaptive"},
        {"espalier.gardener.cloud/sizing-strategy": "Large"},
    ),
    "metadata.labels": ({"a": "b"}, {"a b": "c"}, {"a": "b c"}),
    "metadata.finalizers": (["gardener"], ["example.org/mine"]),
}
BOUND: Final[Edits] = {
    "spec.controlPlane.highAvailability": _AVAILABILITY,
    "spec.controlPlane.zones": (["local-a"], ["local-a", "local-b", "local-c"]),
    "spec.seedName": ("lone", "tainted", "full", "nothing", REMOVED),
    "spec.seedSelector": (
        {"matchLabels": {"test": "home"}},
        {"matchLabels": {"test": "other"}},
        {"providerTypes": ["aws"]},
        {"providerTypes": ["local"]},
        {"providerTypes": ["*"]},
    ),
    "spec.tolerations": ([{"key": "welcome"}], [{"key": "unwelcome"}]),
    "spec.provider.workers": _POOLS,
    "spec.hibernation": ({"enabled": True}, {"enabled": False}),
    "spec.networking.nodes": ("10.20.0.0/16", "10.10.0.0/15"),
    "spec.networking.pods": ("10.21.0.0/16",),
    "spec.networking.services": ("10.22.0.0/16",),
    "spec.kubernetes.version": ("1.34.3", "1.35.4", "1.36.0"),
    "spec.region": ("bare",),
    "spec.dns.domain": ("other.local.shoots.espalier.test", REMOVED),
    "spec.accessRestrictions": ([{"name": "eu"}],),
    "spec.exposureClassName": ("nothing",),
    "spec.schedulerName": ("espalier",),
    "spec.purpose": ("production", "infrastructure"),
}
NEW_BOUND: Final[Edits] = {
    "spec.seedName": ("lone", "tainted", "full", "nothing", ""),
    "spec.controlPlane": (
        {"highAvailability": {"failureTolerance": {"type": "zone"}}},
        {"highAvailability": {"failureTolerance": {"type": "node"}}},
    ),
    "spec.networking.pods": ("240.0.0.0/16", "10.241.0.0/16"),
    "spec.seedSelector": (
        {"matchLabels": {"test": "home"}},
        {"matchLabels": {"test": "other"}},
        {"providerTypes": ["aws"]},
        {"providerTypes": ["local"]},
    ),
    "spec.accessRestrictions": ([{"name": "eu"}],),
}
ZONAL: Final[Edits] = {
    "spec.controlPlane.highAvailability": _AVAILABILITY,
    "spec.controlPlane": (REMOVED, {}),
    "spec.kubernetes.verticalPodAutoscaler": ({"enabled": True},),
}
PINNED: Final[Edits] = {
    "spec.controlPlane.zones": (REMOVED, [], ["local-b"], ["local-a", "local-b", "local-c"]),
    "spec.controlPlane": (
        REMOVED,
        {
            "highAvailability": {"failureTolerance": {"type": "zone"}},
            "zones": ["local-a", "local-b", "local-c"],
        },
        {"highAvailability": {"failureTolerance": {"type": "zone"}}, "zones": ["local-a"]},
        {
            "highAvailability": {"failureTolerance": {"type": "zone"}},
            "zones": ["local-d", "local-b", "local-c"],
        },
    ),
}
RATIONED: Final[Edits] = {
    f"{POOL}.maximum": (3, 4, 5, 6, 40),
    f"{POOL}.minimum": (0, 2),
    f"{POOL}.machine.type": ("large",),
    f"{POOL}.volume.size": ("10Gi", "500Gi"),
    f"{POOL}.volume.type": ("fast",),
    "spec.provider.workers": ([pool("one", "abc", 3), pool("two", "abc", 3)],),
    "spec.addons": ({"nginxIngress": {"enabled": True}},),
    "spec.purpose": ("testing",),
    "metadata.annotations": (
        {"shoot.gardener.cloud/expiration-timestamp": "2126-01-01T00:00:00Z"},
        {"shoot.gardener.cloud/expiration-timestamp": "2020-01-01T00:00:00Z"},
    ),
}
REGISTERED: Final[Edits] = {
    "spec.addons": ({"nginxIngress": {"enabled": True}}, {"nginxIngress": {"enabled": False}}),
    "spec.kubernetes.verticalPodAutoscaler": (REMOVED, {"enabled": False}, {"enabled": True}),
    "spec.networking.nodes": ("10.20.0.0/16",),
    "spec.networking.pods": ("10.21.0.0/16",),
    f"{POOL}.zones": (["local-a", "local-b"], ["local-c", "local-b", "local-a"], ["local-a"]),
    f"{POOL}.maximum": (2, 3, 9),
    f"{POOL}.minimum": (0, 2),
    f"{POOL}.machine.type": ("large",),
    "spec.provider.workers": (
        [pool("one", "ab", 3), pool("two", "c", 1)],
        [pool("one", "ab", 3)],
        [pool("new", "abc", 3)],
    ),
    "spec.purpose": ("infrastructure",),
}
_SEED_SPEC: Final[Edits] = {
    "spec.provider.zones": (
        ["local-a"],
        ["local-a", "local-a"],
        ["local-a", "local-b", "local-c", "local-d"],
        [],
    ),
    "spec.taints": (
        [{"key": ""}],
        [{"key": "a"}, {"key": "a"}],
        [{"key": "a", "value": "b"}, {"key": "a", "value": "c"}],
        [{"key": "a", "value": "b"}, {"key": "a", "value": "b"}],
        [{"key": "a"}, {"key": "a", "value": ""}],
        [{"key": "seed.gardener.cloud/protected"}],
    ),
    "spec.networks.nodes": ("10.241.0.0/17", "x", "fd00::/64", "10.240.0.1/16", REMOVED),
    "spec.networks.pods": ("10.240.0.0/17", "241.0.0.0/8", "10.243.0.0/16", REMOVED),
    "spec.networks.services": ("10.241.128.0/17", "12.0.0.0/7", "12.0.0.0/8", REMOVED),
    "spec.networks.ipFamilies": (["IPv6"], ["IPv4", "IPv6"], ["IPv4", "IPv4"], ["IPv5"]),
    "spec.networks.shootDefaults": (
        {"pods": "100.64.0.0/12", "services": "100.80.0.0/13"},
        {"pods": "100.64.0.0/12", "services": "100.64.0.0/13"},
        {"pods": "10.241.0.0/16"},
        {"pods": "242.0.0.0/16"},
        {"pods": "x"},
    ),
    "spec.networks.blockCIDRs": (["169.254.169.254/32"], ["169.254.169.254"], ["x"]),
    "spec.backup": (
        REMOVED,
        {"provider": "local"},
        {"provider": "aws", "credentialsRef": {"name": "b", "namespace": "garden"}},
        {"credentialsRef": {"name": "b", "namespace": "garden"}},
    ),
    "spec.backup.provider": ("aws", "nothing", ""),
    "spec.backup.region": ("elsewhere", REMOVED),
    "spec.settings.loadBalancerServices": (
        {"zones": [{"name": "local-a"}]},
        {"zones": [{"name": "nowhere"}]},
        {"zones": [{"name": "local-a"}, {"name": "local-a"}]},
    ),
    "spec.settings.topologyAwareRouting": ({"enabled": True},),
    "spec.settings.zoneSelection": (
        {"mode": "Prefer"},
        {"mode": "Enforce"},
        {"mode": "Never"},
        {"mode": ""},
    ),
    "spec.settings.verticalPodAutoscaler": ({"enabled": False}, REMOVED),
    "spec.settings.scheduling": ({"visible": False}, REMOVED),
    "spec.ingress": (REMOVED,),
    "spec.ingress.domain": ("", "Not a Domain", "ingress.other.test", "a_b.test"),
    "spec.ingress.controller.kind": ("traefik", "", REMOVED),
    "spec.dns.provider": (REMOVED, {"type": "local"}, {"type": "nothing"}),
    "spec.dns.internal": (REMOVED,),
    "spec.dns.internal.domain": ("other.test", "", "not a domain"),
    "spec.dns.defaults": (REMOVED, []),
    "metadata.annotations": (
        {"gardener.cloud/operation": "reconcile"},
        {"gardener.cloud/operation": "renew-kubeconfig"},
        {"gardener.cloud/operation": "dance"},
    ),
}
SEED: Final[Edits] = {
    **_SEED_SPEC,
    "metadata.name": ("other", "a.b", "A", "x" * 64),
    "spec.provider.type": ("aws", "nothing", "", REMOVED),
    "spec.provider.region": ("elsewhere", "", REMOVED),
    "spec.settings.excessCapacityReservation": ({"configs": [{"resources": {}}]},),
    "metadata.labels": (
        {"seed.gardener.cloud/multi-zonal": "true"},
        {"seed.gardener.cloud/multi-zonal": "false"},
        {"a b": "c"},
    ),
}
LONE: Final[Edits] = {
    "spec.settings.loadBalancerServices": ({"zones": [{"name": "local-a"}]},),
    "spec.settings.topologyAwareRouting": ({"enabled": True},),
    "spec.settings.zoneSelection": ({"mode": "Prefer"},),
    "spec.provider.zones": (["local-a", "local-b", "local-c"], [], ["local-b"]),
}
USED: Final[Edits] = {
    "spec.provider.zones": (
        ["local-a", "local-b"],
        ["local-a", "local-b", "local-c", "local-d"],
        ["local-c", "local-b", "local-a"],
        [],
    ),
    "spec.provider.region": ("elsewhere",),
    "spec.provider.type": ("aws",),
    "spec.dns.internal.domain": ("other.test",),
    "spec.dns.defaults": (REMOVED, []),
    "spec.taints": ([{"key": "new"}],),
    "spec.settings.scheduling.visible": (False,),
    "metadata.labels": ({"test": "home"},),
}
_TEMPLATE_EDITS: Final[Edits] = {
    f"{TEMPLATE}.{path}": values
    for path, values in _SEED_SPEC.items()
    if path.startswith("spec.")
    and path not in ("spec.backup.provider", "spec.backup.region", "spec.ingress.controller.kind")
}
MANAGED: Final[Edits] = {
    **_TEMPLATE_EDITS,
    "metadata.name": ("other", "a.b", "A"),
    "metadata.namespace": ("garden-local",),
    f"{TEMPLATE}.spec.provider.zones": (
        ["local-a"],
        ["local-a", "local-a"],
        ["local-a", "local-b", "local-c", "local-d"],
        ["local-d"],
        ["local-c", "local-b", "local-a"],
        [],
    ),
    f"{TEMPLATE}.spec.provider.type": ("aws", "", REMOVED),
    f"{TEMPLATE}.spec.provider.region": ("elsewhere", "", REMOVED),
    f"{TEMPLATE}.spec.networks.nodes": ("10.20.0.0/16", "", REMOVED),
    f"{TEMPLATE}.spec.networks.pods": ("10.21.0.0/16", "", REMOVED),
    f"{TEMPLATE}.spec.networks.services": ("10.22.0.0/16", "", REMOVED),
    f"{TEMPLATE}.spec.ingress.domain": ("ingress.other.test", "", REMOVED),
    f"{TEMPLATE}.spec.settings.verticalPodAutoscaler": ({"enabled": True}, REMOVED),
    f"{TEMPLATE}.spec.settings.verticalPodAutoscaler.enabled": (True,),
    f"{TEMPLATE}.metadata": (
        {"name": "x"},
        {"labels": {"seed.gardener.cloud/multi-zonal": "true"}},
        {"labels": {"seed.gardener.cloud/multi-zonal": "false"}},
    ),
    f"{TEMPLATE}.spec.dns.provider": (REMOVED, {"type": "local"}),
    TEMPLATE: (REMOVED,),
    "spec.shoot": (REMOVED, {}, {"name": ""}, {"name": "nothing"}, {"name": "unfit"}),
    "spec.shoot.name": ("host", "fresh", "free", "nothing", ""),
    "spec.gardenlet.bootstrap": ("None", "ServiceAccount", "BootstrapToken", "Magic", REMOVED),
    "spec.gardenlet.mergeWithParent": (False, REMOVED),
    "spec.gardenlet.deployment.replicaCount": (-1, 0, 3, REMOVED),
    "spec.gardenlet.deployment.revisionHistoryLimit": (-1, 0, 3, REMOVED),
    "spec.gardenlet.deployment.serviceAccountName": ("", "gardenlet", "Not valid"),
    "spec.gardenlet.deployment.podLabels": ({"a": "b"}, {"a b": "c"}, {"a": "b c"}),
    "spec.gardenlet.deployment.podAnnotations": ({"a": "b c"}, {"a b": "c"}, {"A": "b"}),
    "spec.gardenlet.deployment.image": (
        {"repository": "r", "tag": "latest"},
        {"ref": "r:t"},
        {"ref": "r:t", "tag": "t"},
        {"ref": "r:t", "repository": "r"},
        {"ref": ""},
        {"repository": ""},
        {"tag": ""},
        {"pullPolicy": "Never"},
        {"pullPolicy": "Sometimes"},
    ),
    "spec.gardenlet.config.resources": (
        REMOVED,
        {"capacity": {"shoots": 10}, "reserved": {"shoots": 2}},
        {"capacity": {"shoots": 10}, "reserved": {"shoots": 20}},
        {"capacity": {"shoots": 10}, "reserved": {"memory": "1Gi"}},
        {"reserved": {"shoots": 2}},
    ),
    "spec.gardenlet.config.gardenClientConnection": (
        {"kubeconfig": "k"},
        {"kubeconfigSecret": {"name": "a", "namespace": "b"}},
        {"bootstrapKubeconfig": {"name": "a", "namespace": "b"}},
        {},
    ),
    "spec.gardenlet.config.kind": ("Other", ""),
    "spec.gardenlet.config.apiVersion": ("gardenlet.config.gardener.cloud/v1", ""),
    "spec.gardenlet.config": (REMOVED,),
    "spec.gardenlet": (REMOVED, {}),
    "metadata.annotations": (
        {"gardener.cloud/operation": "reconcile"},
        {"gardener.cloud/operation": "renew-kubeconfig"},
        {"gardener.cloud/operation": "dance"},
    ),
}
_SET_TEMPLATE_EDITS: Final[Edits] = {
    f"spec.template.{path}": values
    for path, values in MANAGED.items()
    if path.startswith("spec.") and not path.startswith(("spec.shoot", f"{TEMPLATE}.metadata"))
}
_SHOOT_TEMPLATE: Final = "spec.shootTemplate"
SET: Final[Edits] = {
    **_SET_TEMPLATE_EDITS,
    "metadata.name": ("other", "a.b", "a-name-that-is-much-too-long"),
    "metadata.namespace": ("garden-local",),
    "spec.replicas": (-1, 0, 1, 5, REMOVED),
    "spec.revisionHistoryLimit": (-1, 0, 5, REMOVED),
    "spec.updateStrategy": (
        REMOVED,
        {},
        {"type": ""},
        {"type": "OnDelete"},
        {"type": "Recreate"},
        {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
        {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}},
        {"type": "RollingUpdate", "rollingUpdate": {}},
    ),
    "spec.selector": (
        {},
        {"matchLabels": {"other": "x"}},
        {"matchLabels": {"not valid": "x"}},
        {"matchExpressions": [{"key": "set", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "set", "operator": "Near"}]},
        {"matchExpressions": [{"key": "set", "operator": "In"}]},
    ),
    "spec.template.metadata.labels": ({"other": "x"}, REMOVED),
    f"{SET_TEMPLATE}.metadata.labels": ({"other": "x"}, REMOVED),
    f"{SET_TEMPLATE}.metadata.name": ("x",),
    f"{_SHOOT_TEMPLATE}.metadata.labels": ({"other": "x"}, REMOVED),
    "spec.template.spec.shoot": ({"name": "host"},),
    f"{_SHOOT_TEMPLATE}.spec.provider.workers": _POOLS,
    **{
        f"{_SHOOT_TEMPLATE}.{POOL}.{field}": values
        for field, values in _ROLLING.items()
        if field != "maximum"
    },
    f"{_SHOOT_TEMPLATE}.{POOL}.maximum": (-1, 0, 1, 2, 3, 100),
    f"{_SHOOT_TEMPLATE}.spec.networking.nodes": ("10.20.0.0/16", "x", "", REMOVED),
    f"{_SHOOT_TEMPLATE}.spec.addons": (
        {"nginxIngress": {"enabled": True}},
        {"nginxIngress": {"enabled": False}},
    ),
    f"{_SHOOT_TEMPLATE}.spec.controlPlane": (
        {"highAvailability": {"failureTolerance": {"type": "zone"}}},
        {"highAvailability": {"failureTolerance": {"type": "region"}}},
    ),
    f"{_SHOOT_TEMPLATE}.spec.dns": (
        {"domain": "replica-name.example.org", "providers": [{"type": "local", "primary": True}]},
        {"domain": "replica-name.example.org", "providers": [{"primary": True}]},
        {"providers": [{"type": "unmanaged"}]},
        {"domain": "not a domain"},
    ),
    f"{_SHOOT_TEMPLATE}.spec.kubernetes.version": ("1.35.4", "abc", "1.34.3"),
    f"{_SHOOT_TEMPLATE}.spec.kubernetes.verticalPodAutoscaler": ({"enabled": False}, REMOVED),
    f"{_SHOOT_TEMPLATE}.spec.purpose": ("infrastructure", "fun"),
    f"{_SHOOT_TEMPLATE}.spec.seedName": ("home",),
    f"{_SHOOT_TEMPLATE}.spec.region": ("nowhere",),
    f"{_SHOOT_TEMPLATE}.metadata.annotations": (
        {"espalier.gardener.cloud/high-availability": '{"enabled":true,"type":"multi-zone"}'},
        {"espalier.gardener.cloud/high-availability": "true"},
    ),
    "metadata.annotations": (
        {"gardener.cloud/operation": "reconcile"},
        {"gardener.cloud/operation": "dance"},
        {"espalier.gardener.cloud/rollout": "true"},
        {"espalier.gardener.cloud/rollout": "yes"},
        {"espalier.gardener.cloud/paused": "true"},
        {"espalier.gardener.cloud/max-unready-shoots": "10%"},
        {"espalier.gardener.cloud/max-unready-shoots": "-1"},
        {"espalier.gardener.cloud/max-parallel": "0"},
    ),
}
EDITS: Final[Mapping[str, Edits]] = {
    "shoot": SHOOT,
    "bound": BOUND,
    "new bound": NEW_BOUND,
    "zonal": ZONAL,
    "pinned": PINNED,
    "rationed": RATIONED,
    "registered": REGISTERED,
    "seed": SEED,
    "lone": LONE,
    "used": USED,
    "managed seed": MANAGED,
    "set": SET,
}
