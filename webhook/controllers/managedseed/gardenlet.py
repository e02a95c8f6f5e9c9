"""The manifests of a gardenlet, which are applied to the Shoot that becomes a seed."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from webhook.api import names
from webhook.api.core import Deployment, Namespace, Secret, ServiceAccount
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import gardenlet_deployment, gardenlet_files, shoot_kinds
from webhook.controllers.managedseed.bootstrap import apply, encode
from webhook.controllers.managedseed.gardenlet_deployment import LABELS, NAME
from webhook.controllers.managedseed.gardenlet_files import MountedFile
from webhook.controllers.managedseed.parents import merge
from webhook.kube.meta import Draft, Object, ObjectKey, Raw
from webhook.runtime.actions import Apply, Create, Delete, RemoteWrite

NAMESPACE: Final = "garden"
BOOTSTRAP: Final = "gardenlet-kubeconfig-bootstrap"
KUBECONFIG: Final = "gardenlet-kubeconfig"
AUTOSCALER: Final = ObjectKey(NAMESPACE, "gardenlet-vpa")
DEPLOYMENT: Final = kind_of_model(Deployment)
PRIORITY_CLASS: Final = ObjectKey("", gardenlet_deployment.PRIORITY_CLASS_NAME)

_NAMESPACE: Final = kind_of_model(Namespace)
_ACCOUNT: Final = kind_of_model(ServiceAccount)
_SECRET: Final = kind_of_model(Secret)
_PRIORITY: Final = 999_998_950
_EGRESS: Final = "allow-all-egress-from-gardenlet"


def _thresholds(*types: str, duration: str = "1m") -> list[Draft]:
    return [{"type": each, "duration": duration} for each in types]


_DEFAULTS: Final[Raw] = {
    "gardenClientConnection": {"qps": 100, "burst": 130},
    "seedClientConnection": {"qps": 100, "burst": 130},
    "shootClientConnection": {"qps": 25, "burst": 50},
    "controllers": {
        "seedCare": {"conditionThresholds": _thresholds("SeedSystemComponentsHealthy")},
        "shootCare": {
            "conditionThresholds": [
                *_thresholds("APIServerAvailable", "ControlPlaneHealthy"),
                *_thresholds("ObservabilityComponentsHealthy", "SystemComponentsHealthy"),
                *_thresholds("EveryNodeReady", duration="5m"),
            ]
        },
    },
    "resources": {"capacity": {"shoots": 250}},
    "nodeToleration": {
        "defaultNotReadyTolerationSeconds": 60,
        "defaultUnreachableTolerationSeconds": 60,
    },
}
"""What Gardener's chart sets in a gardenlet's configuration and the gardenlet itself does not."""


class GardenletSpec(NamedTuple):
    """What the manifests of a gardenlet are rendered from."""

    shoot: Shoot
    config: Raw
    deployment: Raw
    bootstrap: str | None
    """The kubeconfig for the first access to the garden; None if it is not needed."""
    has_autoscaler: bool = False


def configuration(managed_seed: ManagedSeed, given: Raw, seed: Raw, *, bootstraps: bool) -> Draft:
    """Complete a gardenlet's configuration with its seed and its connection to the garden."""
    config = merge(_DEFAULTS, given)
    config.setdefault("apiVersion", "gardenlet.config.gardener.cloud/v1alpha1")
    config.setdefault("kind", "GardenletConfiguration")
    metadata = {**(seed.get("metadata") or {}), "name": managed_seed.name}
    config["seedConfig"] = {"metadata": metadata, "spec": seed.get("spec") or {}}
    election = config.get("leaderElection") or {}
    config["leaderElection"] = {**election, "resourceNamespace": NAMESPACE}
    if bootstraps:
        connection = dict(config["gardenClientConnection"])
        # The gardenlet reads the first only as long as the second does not exist.
        connection["bootstrapKubeconfig"] = {"name": BOOTSTRAP, "namespace": NAMESPACE}
        connection["kubeconfigSecret"] = {"name": KUBECONFIG, "namespace": NAMESPACE}
        config["gardenClientConnection"] = connection
    return config


def manifests(spec: GardenletSpec) -> Iterator[Apply | Create]:
    """Render everything that a gardenlet needs, in the order in which it can be created."""
    files = gardenlet_files.files(spec.config, spec.deployment)
    role = {"name": NAMESPACE, "labels": {names.ROLE: NAMESPACE}}
    yield apply(_NAMESPACE, ObjectKey("", NAMESPACE), {"metadata": role})
    yield _priority_class()
    account = spec.deployment.get("serviceAccountName") or NAME
    # The pods mount a token of their own, which expires.
    body = {**_named(account), "automountServiceAccountToken": False}
    yield apply(_ACCOUNT, ObjectKey(NAMESPACE, account), body)
    yield from _rbac(account)
    yield from map(_holder, files)
    if spec.bootstrap is not None:
        yield _secret(BOOTSTRAP, {"kubeconfig": spec.bootstrap})
    yield from _network(spec.config)
    yield from _workload(spec, files)


def is_ours(obj: Object) -> bool:
    """Return whether an object of a Shoot's cluster was created here."""
    return obj.metadata.labels.get(names.MANAGED_BY) == "espalier"


def removals(kubeconfig: str, deployment: Raw, *, priority_class: bool) -> Iterator[RemoteWrite]:
    """Delete a gardenlet, and once its pods are gone what it needs.

    A gardenlet that loses its Secrets and permissions first fails on its last steps.
    """
    deployment_deletion = Delete(
        DEPLOYMENT, ObjectKey(NAMESPACE, NAME), "", propagation="Foreground"
    )
    yield RemoteWrite(kubeconfig, deployment_deletion, until_gone=True)
    for deletion in _resources(deployment):
        yield RemoteWrite(kubeconfig, deletion)
    if priority_class:
        yield RemoteWrite(kubeconfig, Delete(shoot_kinds.PRIORITY_CLASS, PRIORITY_CLASS, ""))


def _resources(deployment: Raw) -> Iterator[Delete]:
    account = deployment.get("serviceAccountName") or NAME
    for kind, name in (
        (shoot_kinds.VERTICAL_POD_AUTOSCALER, AUTOSCALER.name),
        (shoot_kinds.POD_DISRUPTION_BUDGET, NAME),
        (shoot_kinds.NETWORK_POLICY, _EGRESS),
        (shoot_kinds.SERVICE, NAME),
        *gardenlet_files.NAMES,
        (_SECRET, BOOTSTRAP),
        (_SECRET, KUBECONFIG),
        (shoot_kinds.CLUSTER_ROLE_BINDING, NAME),
        (shoot_kinds.CLUSTER_ROLE, NAME),
        (_ACCOUNT, account),
        (_NAMESPACE, NAMESPACE),
    ):
        yield Delete(kind, ObjectKey(NAMESPACE if kind.namespaced else "", name), "")


def _priority_class() -> Create:
    # One that exists is used as it is: its value cannot be changed.
    labels = {**LABELS, names.MANAGED_BY: "espalier"}
    body = {
        "metadata": {"name": PRIORITY_CLASS.name, "labels": labels},
        "value": _PRIORITY,
        "globalDefault": False,
        "description": "gardenlets and system components of seeds, which nothing may preempt",
    }
    return Create(shoot_kinds.PRIORITY_CLASS, body)


def _rbac(account: str) -> Iterator[Apply]:
    # A gardenlet installs operators with any permissions, so a smaller role does not suffice.
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    kind = shoot_kinds.CLUSTER_ROLE
    role = {"metadata": {"name": NAME, "labels": LABELS}, "rules": rules}
    yield apply(kind, ObjectKey("", NAME), role)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    binding = {
        "metadata": {"name": NAME, "labels": LABELS},
        "roleRef": {"apiGroup": kind.group, "kind": kind.name, "name": NAME},
        "subjects": [subject],
    }
    yield apply(shoot_kinds.CLUSTER_ROLE_BINDING, ObjectKey("", NAME), binding)


def _holder(file: MountedFile) -> Apply:
    if file.kind is _SECRET:
        return _secret(file.name, {file.key: file.content})
    body = {**_named(file.name), "data": {file.key: file.content}}
    return apply(file.kind, ObjectKey(NAMESPACE, file.name), body)


def _secret(name: str, data: dict[str, str]) -> Apply:
    encoded = {key: encode(value) for key, value in data.items()}
    body = {**_named(name), "type": "Opaque", "data": encoded}
    return apply(_SECRET, ObjectKey(NAMESPACE, name), body)


def _network(config: Raw) -> Iterator[Apply]:
    """Let Prometheus scrape the gardenlet, and the gardenlet reach everything."""
    metrics = gardenlet_deployment.port(config, "metrics", gardenlet_deployment.METRICS_PORT)
    port = {"name": "metrics", "protocol": "TCP", "port": metrics, "targetPort": metrics}
    service = _named(NAME)
    scrape = "networking.resources.gardener.cloud/from-all-seed-scrape-targets-allowed-ports"
    allowed = f'[{{"port":{metrics},"protocol":"TCP"}}]'
    service["metadata"]["annotations"] = {scrape: allowed}
    body = {**service, "spec": {"selector": LABELS, "ports": [port]}}
    yield apply(shoot_kinds.SERVICE, ObjectKey(NAMESPACE, NAME), body)
    spec = {"podSelector": {"matchLabels": LABELS}, "egress": [{}], "policyTypes": ["Egress"]}
    policy = {**_named(_EGRESS), "spec": spec}
    yield apply(shoot_kinds.NETWORK_POLICY, ObjectKey(NAMESPACE, _EGRESS), policy)


def _workload(spec: GardenletSpec, files: Sequence[MountedFile]) -> Iterator[Apply]:
    key = ObjectKey(NAMESPACE, NAME)
    budget = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": LABELS},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    yield apply(shoot_kinds.POD_DISRUPTION_BUDGET, key, {**_named(NAME), "spec": budget})
    body = _named(NAME)
    body["metadata"]["labels"]["high-availability-config.resources.gardener.cloud/skip"] = "true"
    body["spec"] = gardenlet_deployment.deployment(
        spec.shoot, spec.config, spec.deployment, files, spec.bootstrap
    )
    # Without force: the gardenlet of another owner must not be taken over.
    yield apply(DEPLOYMENT, key, body, force=False)
    if spec.has_autoscaler:
        scaling = {
            "targetRef": {"apiVersion": DEPLOYMENT.api_version, "kind": "Deployment", "name": NAME},
            "updatePolicy": {"updateMode": "Recreate"},
            "resourcePolicy": {
                "containerPolicies": [{"containerName": "*", "controlledValues": "RequestsOnly"}]
            },
        }
        body = {**_named(AUTOSCALER.name), "spec": scaling}
        yield apply(shoot_kinds.VERTICAL_POD_AUTOSCALER, AUTOSCALER, body)


def _named(name: str) -> Draft:
    labels = {**LABELS, names.MANAGED_BY: "espalier"}
    return {"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}}
