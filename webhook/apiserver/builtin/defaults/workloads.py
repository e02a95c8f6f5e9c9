"""Defaults of workloads, of what scales them and of what limits their disruption."""

from typing import Any

from webhook.apiserver.builtin.defaults import pods

Object = dict[str, Any]


def deployment(obj: Object) -> None:
    """Fill in a Deployment."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    pods.template(spec)


def replica_set(obj: Object) -> None:
    """Fill in a ReplicaSet."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    pods.template(spec)


def stateful_set(obj: Object) -> None:
    """Fill in a StatefulSet."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")
    pods.template(spec)


def horizontal_pod_autoscaler(obj: Object) -> None:
    """Fill in a HorizontalPodAutoscaler: without a metric it looks at the processors."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        up = {"type": "Pods", "value": 4, "periodSeconds": 15}
        full = {"type": "Percent", "value": 100, "periodSeconds": 15}
        _scaling(behavior.setdefault("scaleUp", {}), [up, full]).setdefault(
            "stabilizationWindowSeconds", 0
        )
        _scaling(behavior.setdefault("scaleDown", {}), [full])


def _scaling(rules: Object, policies: list[Object]) -> Object:
    rules.setdefault("selectPolicy", "Max")
    if not rules.get("policies"):
        rules["policies"] = [dict(policy) for policy in policies]
    return rules
