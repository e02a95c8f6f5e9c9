"""Defaults of the built-in kinds other than Pods and workloads."""

import base64

from webhook.dev.apiserver.builtin.kinds import RBAC
from webhook.kube.meta import Draft


def set_secret_defaults(obj: Draft) -> None:
    """Set the defaults of a Secret, and move its stringData into data, encoded."""
    obj.setdefault("type", "Opaque")
    plain = obj.pop("stringData", None)
    if plain:
        data = obj.get("data") or {}
        data.update({key: base64.b64encode(text.encode()).decode() for key, text in plain.items()})
        obj["data"] = data


def set_namespace_defaults(obj: Draft) -> None:
    """Label a Namespace with its own name, so that selectors can match it."""
    metadata = obj.setdefault("metadata", {})
    if metadata.get("name"):
        labels = metadata.get("labels") or {}
        labels["kubernetes.io/metadata.name"] = metadata["name"]
        metadata["labels"] = labels


def set_service_defaults(obj: Draft) -> None:
    """Set the defaults of a Service; cluster IPs and node ports are allocated elsewhere."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("sessionAffinity", "None")
    spec.setdefault("type", "ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        config.setdefault("timeoutSeconds", 10800)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    kind = spec["type"]
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def set_limit_range_defaults(obj: Draft) -> None:
    """Set the defaults of a LimitRange: `default` from `max`, `defaultRequest` from `default`."""
    for item in (obj.get("spec") or {}).get("limits") or ():
        if item.get("type") != "Container":
            continue
        chain = ("max", "default", "defaultRequest")
        for source, target in (chain[:2], chain[1:], ("min", "defaultRequest")):
            for name, value in (item.get(source) or {}).items():
                item.setdefault(target, {}).setdefault(name, value)


def set_endpoints_defaults(obj: Draft) -> None:
    """Set the defaults of Endpoints."""
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def set_endpoint_slice_defaults(obj: Draft) -> None:
    """Set the defaults of an EndpointSlice."""
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def set_network_policy_defaults(obj: Draft) -> None:
    """Set the defaults of a NetworkPolicy: it covers egress only if it has egress rules."""
    spec = obj.setdefault("spec", {})
    rules = [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]
    for port in (port for rule in rules for port in rule.get("ports") or ()):
        port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def set_binding_defaults(obj: Draft) -> None:
    """Set the defaults of a RoleBinding or ClusterRoleBinding."""
    reference = obj.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = RBAC.group
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = RBAC.group


def set_priority_class_defaults(obj: Draft) -> None:
    """Set the defaults of a PriorityClass."""
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def set_validating_webhooks_defaults(obj: Draft) -> None:
    """Set the defaults of a ValidatingWebhookConfiguration."""
    for webhook in obj.get("webhooks") or ():
        _set_webhook_defaults(webhook)


def set_mutating_webhooks_defaults(obj: Draft) -> None:
    """Set the defaults of a MutatingWebhookConfiguration."""
    for webhook in obj.get("webhooks") or ():
        _set_webhook_defaults(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def _set_webhook_defaults(webhook: Draft) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    webhook.setdefault("matchPolicy", "Equivalent")
    for name in ("namespaceSelector", "objectSelector"):
        if webhook.get(name) is None:
            webhook[name] = {}
    webhook.setdefault("timeoutSeconds", 10)
    for rule in webhook.get("rules") or ():
        rule.setdefault("scope", "*")
    service = (webhook.get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def set_custom_resource_definition_defaults(obj: Draft) -> None:
    """Set the defaults of a CustomResourceDefinition: its names and the conversion strategy."""
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {}).setdefault("strategy", "None")


def set_api_service_defaults(obj: Draft) -> None:
    """Set the defaults of an APIService."""
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)
