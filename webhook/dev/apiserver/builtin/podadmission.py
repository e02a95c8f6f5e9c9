"""The admission plugins for new Pods: ServiceAccount, Priority and DefaultTolerationSeconds."""

import secrets
from typing import Final

from webhook.dev.apiserver.builtin.reader import Reader
from webhook.kube import gotext, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

_MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_TOKEN_SECONDS: Final = 3607
_PODS: Final = Qualified("", "pods")
_SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_NODE_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def admit(obj: Draft, namespace: str, reader: Reader) -> None:
    """Mutate a new Pod; reject it if its ServiceAccount or PriorityClass does not exist."""
    _set_service_account(obj, namespace, reader)
    _set_tolerations(obj["spec"])
    _set_priority(obj, reader)


def _name(obj: Draft) -> str:
    return str(obj["metadata"].get("name") or "")


def _set_service_account(obj: Draft, namespace: str, reader: Reader) -> None:
    spec = obj["spec"]
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = reader.get("serviceaccounts", namespace, name)
    if account is None:
        reason = f"error looking up service account {namespace}/{name}: serviceaccount "
        raise status.forbidden(_PODS, _name(obj), f"{reason}{gotext.quote(name)} not found")
    if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account["imagePullSecrets"]
    automount = spec.get("automountServiceAccountToken")
    if automount is None:
        automount = account.get("automountServiceAccountToken", True)
    if automount:
        _mount_token(spec)


def _mount_token(spec: Draft) -> None:
    suffix = "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(5))
    volume = f"kube-api-access-{suffix}"
    needed = False
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        mounts = container.get("volumeMounts") or []
        if all(mount.get("mountPath") != _MOUNT_PATH for mount in mounts):
            mount = {"name": volume, "readOnly": True, "mountPath": _MOUNT_PATH}
            container["volumeMounts"] = [*mounts, mount]
            needed = True
    if needed:
        spec["volumes"] = [*(spec.get("volumes") or ()), _token_volume(volume)]


def _token_volume(name: str) -> Draft:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": authority},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}


def _set_tolerations(spec: Draft) -> None:
    """Tolerate a node that is not ready or unreachable for five minutes, unless the Pod does."""
    tolerations = spec.get("tolerations") or []
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _NODE_TAINTS
        if not any(_tolerates(toleration, key) for toleration in tolerations)
    ]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def _tolerates(toleration: Draft, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in (
        "NoExecute",
        None,
        "",
    )


def _set_priority(obj: Draft, reader: Reader) -> None:
    spec = obj["spec"]
    name = spec.get("priorityClassName", "")
    value, policy = 0, "PreemptLowerPriority"
    if name in _SYSTEM_PRIORITIES:
        value = _SYSTEM_PRIORITIES[name]
    elif name:
        priority_class = reader.get("priorityclasses.scheduling.k8s.io", "", name)
        if priority_class is None:
            reason = f"no PriorityClass with name {name} was found"
            raise status.forbidden(_PODS, _name(obj), reason)
        value, policy = (
            priority_class.get("value", 0),
            priority_class.get("preemptionPolicy", policy),
        )
    else:
        for default in reader.list("priorityclasses.scheduling.k8s.io"):
            if default.get("globalDefault"):
                spec["priorityClassName"] = default["metadata"]["name"]
                value, policy = default.get("value", 0), default.get("preemptionPolicy", policy)
    if spec.get("priority") not in (None, value):
        reason = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod "
            f"spec; priority admission controller computed {value} from the given PriorityClass "
            "name"
        )
        raise status.forbidden(_PODS, _name(obj), reason)
    spec["priority"] = value
    spec.setdefault("preemptionPolicy", policy)
