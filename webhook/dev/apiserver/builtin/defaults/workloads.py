"""Defaults of workloads and of HorizontalPodAutoscalers."""

from webhook.dev.apiserver.builtin.defaults import pods
from webhook.kube.meta import Draft


def set_deployment_defaults(obj: Draft) -> None:
    """Set the defaults of a Deployment."""
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
    pods.set_pod_template_defaults(spec)


def set_replica_set_defaults(obj: Draft) -> None:
    """Set the defaults of a ReplicaSet."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    pods.set_pod_template_defaults(spec)


def set_stateful_set_defaults(obj: Draft) -> None:
    """Set the defaults of a StatefulSet."""
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
    pods.set_pod_template_defaults(spec)


def set_horizontal_pod_autoscaler_defaults(obj: Draft) -> None:
    """Set the defaults of a HorizontalPodAutoscaler; its default metric is 80 % of cpu."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        up = {"type": "Pods", "value": 4, "periodSeconds": 15}
        full = {"type": "Percent", "value": 100, "periodSeconds": 15}
        _set_scaling_rule_defaults(behavior.setdefault("scaleUp", {}), [up, full]).setdefault(
            "stabilizationWindowSeconds", 0
        )
        _set_scaling_rule_defaults(behavior.setdefault("scaleDown", {}), [full])


def _set_scaling_rule_defaults(rules: Draft, policies: list[Draft]) -> Draft:
    rules.setdefault("selectPolicy", "Max")
    if rules.get("policies") is None:  # an empty list is refused
        rules["policies"] = [dict(policy) for policy in policies]
    return rules
