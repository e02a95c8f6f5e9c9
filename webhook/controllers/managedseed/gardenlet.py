"""The manifests of a gardenlet, to be applied into the Shoot that becomes a seed."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.core import ConfigMap, Deployment, Namespace, Secret, ServiceAccount
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed.bootstrap import CLUSTER_ROLE_BINDING, apply, encode
from webhook.controllers.managedseed.seed import checksum
from webhook.runtime.actions import Apply, Delete, Remote

NAMESPACE: Final = "garden"
NAME: Final = "gardenlet"
CONFIG: Final = "gardenlet-config"
BOOTSTRAP: Final = "gardenlet-kubeconfig-bootstrap"
KUBECONFIG: Final = "gardenlet-kubeconfig"
IMAGE: Final = "europe-docker.pkg.dev/gardener-project/releases/gardener/gardenlet"

_CLUSTER_ROLE: Final = Kind(
    group="rbac.authorization.k8s.io",
    version="v1",
    name="ClusterRole",
    plural="clusterroles",
    model=Object,
    origin="kubernetes",
    namespaced=False,
    status=False,
)
_NAMESPACE: Final = kind_of_model(Namespace)
_ACCOUNT: Final = kind_of_model(ServiceAccount)
_CONFIG_MAP: Final = kind_of_model(ConfigMap)
_SECRET: Final = kind_of_model(Secret)
_DEPLOYMENT: Final = kind_of_model(Deployment)
_CONFIG_PATH: Final = "/etc/gardenlet/config"
_LABELS: Final = {"app": "gardener", "role": NAME}


def configuration(managed_seed: ManagedSeed, given: Raw, seed: Raw, *, bootstraps: bool) -> Draft:
    """Complete a gardenlet's configuration by the seed that it registers and its way there."""
    config = dict(given)
    config.setdefault("apiVersion", "gardenlet.config.gardener.cloud/v1alpha1")
    config.setdefault("kind", "GardenletConfiguration")
    metadata = {**(seed.get("metadata") or {}), "name": managed_seed.name}
    config["seedConfig"] = {"metadata": metadata, "spec": seed.get("spec") or {}}
    if bootstraps:
        connection = dict(config.get("gardenClientConnection") or {})
        connection["bootstrapKubeconfig"] = {"name": BOOTSTRAP, "namespace": NAMESPACE}
        connection["kubeconfigSecret"] = {"name": KUBECONFIG, "namespace": NAMESPACE}
        config["gardenClientConnection"] = connection
    return config


def manifests(shoot: Shoot, config: Raw, deployment: Raw, bootstrap: str | None) -> Iterator[Apply]:
    """Render everything that a gardenlet needs, in the order in which it can be made."""
    account = deployment.get("serviceAccountName") or NAME
    key = ObjectKey(NAMESPACE, NAME)
    yield apply(_NAMESPACE, ObjectKey("", NAMESPACE), {"metadata": {"name": NAMESPACE}})
    yield apply(_ACCOUNT, ObjectKey(NAMESPACE, account), _named(account))
    yield from _rights(account)
    text = msgspec.yaml.encode(config).decode()
    yield apply(
        _CONFIG_MAP, ObjectKey(NAMESPACE, CONFIG), {**_named(CONFIG), "data": {"config.yaml": text}}
    )
    if bootstrap is not None:
        data = {"kubeconfig": encode(bootstrap)}
        secret = {**_named(BOOTSTRAP), "type": "Opaque", "data": data}
        yield apply(_SECRET, ObjectKey(NAMESPACE, BOOTSTRAP), secret)
    # Without force: a gardenlet that somebody else runs there is not ours to take over.
    yield apply(_DEPLOYMENT, key, _deployment(shoot, deployment, account, config), force=False)


def removals(kubeconfig: str, deployment: Raw) -> Iterator[Remote]:
    """Take a gardenlet away again: itself, and what it lives on once its pods are gone."""
    itself = Delete(_DEPLOYMENT, ObjectKey(NAMESPACE, NAME), "", propagation="Foreground")
    yield Remote(kubeconfig, itself, until_gone=True)
    for rest in _belongings(deployment):
        yield Remote(kubeconfig, rest)


def _belongings(deployment: Raw) -> Iterator[Delete]:
    yield Delete(_CONFIG_MAP, ObjectKey(NAMESPACE, CONFIG), "")
    for name in (BOOTSTRAP, KUBECONFIG):
        yield Delete(_SECRET, ObjectKey(NAMESPACE, name), "")
    yield Delete(CLUSTER_ROLE_BINDING, ObjectKey("", NAME), "")
    yield Delete(_CLUSTER_ROLE, ObjectKey("", NAME), "")
    account = deployment.get("serviceAccountName") or NAME
    yield Delete(_ACCOUNT, ObjectKey(NAMESPACE, account), "")
    yield Delete(_NAMESPACE, ObjectKey("", NAMESPACE), "")


def _rights(account: str) -> Iterator[Apply]:
    # A gardenlet installs operators and whatever they need, so no smaller role would do.
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    role = {"metadata": {"name": NAME, "labels": _LABELS}, "rules": rules}
    yield apply(_CLUSTER_ROLE, ObjectKey("", NAME), role)
    reference = {"apiGroup": _CLUSTER_ROLE.group, "kind": _CLUSTER_ROLE.name, "name": NAME}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    binding = {
        "metadata": {"name": NAME, "labels": _LABELS},
        "roleRef": reference,
        "subjects": [subject],
    }
    yield apply(CLUSTER_ROLE_BINDING, ObjectKey("", NAME), binding)


def _deployment(shoot: Shoot, given: Raw, account: str, config: Raw) -> Draft:
    annotations = {
        **(given.get("podAnnotations") or {}),
        "checksum/configmap-gardenlet-config": checksum(config),
    }
    pod = {
        "serviceAccountName": account,
        "priorityClassName": "gardener-system-critical",
        "containers": [_container(shoot, given)],
        "volumes": [
            {"name": "config", "configMap": {"name": CONFIG}},
            *(given.get("additionalVolumes") or ()),
        ],
    }
    if tolerations := given.get("tolerations"):
        pod["tolerations"] = tolerations
    labels = {**_LABELS, **(given.get("podLabels") or {})}
    spec = {
        "replicas": _or(given.get("replicaCount"), 2),
        "revisionHistoryLimit": _or(given.get("revisionHistoryLimit"), 2),
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
    }
    return {**_named(NAME), "spec": spec}


def _container(shoot: Shoot, given: Raw) -> Draft:
    image = given.get("image") or {}
    container: Draft = {
        "name": NAME,
        "image": image.get("ref") or _image(image),
        "args": [f"--config={_CONFIG_PATH}/config.yaml"],
        "env": [*_environment(shoot), *(given.get("env") or ())],
        "volumeMounts": [
            {"name": "config", "mountPath": _CONFIG_PATH, "readOnly": True},
            *(given.get("additionalVolumeMounts") or ()),
        ],
    }
    if policy := image.get("pullPolicy"):
        container["imagePullPolicy"] = policy
    if resources := given.get("resources"):
        container["resources"] = resources
    if _or(given.get("enableHealthProbes"), True):
        probe = {"httpGet": {"path": "/healthz", "port": 2728, "scheme": "HTTP"}}
        container["livenessProbe"] = {**probe, "initialDelaySeconds": 15, "periodSeconds": 10}
        ready = {"httpGet": {"path": "/readyz", "port": 2728, "scheme": "HTTP"}}
        container["readinessProbe"] = {**ready, "initialDelaySeconds": 10, "periodSeconds": 5}
    return container


def _image(image: Raw) -> str:
    tag = image.get("tag")
    return f"{image.get('repository') or IMAGE}{':' + tag if tag else ''}"


def _environment(shoot: Shoot) -> Iterator[Draft]:
    """Let the gardenlet talk to its API server by the outer name, which its certificate has."""
    domain = shoot.spec.dns.domain if shoot.spec.dns is not None else ""
    if domain:
        yield {"name": "KUBERNETES_SERVICE_HOST", "value": f"api.{domain}"}


def _named(name: str) -> Draft:
    labels = {**_LABELS, names.MANAGED_BY: "espalier"}
    return {"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}}


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value
