"""Defaults of all other built-in kinds."""

import base64
from typing import Any

Object = dict[str, Any]

RBAC_GROUP = "rbac.authorization.k8s.io"


def secret(obj: Object) -> None:
    """Fill in a Secret; what is given in plain text is stored encoded."""
    obj.setdefault("type", "Opaque")
    plain = obj.pop("stringData", None)
    if plain:
        data = obj.get("data") or {}
        data.update({key: base64.b64encode(text.encode()).decode() for key, text in plain.items()})
        obj["data"] = data


def namespace(obj: Object) -> None:
    """Fill in a Namespace: its label names it, so that selectors can."""
    metadata = obj.setdefault("metadata", {})
    if metadata.get("name"):
        labels = metadata.get("labels") or {}
        labels["kubernetes.io/metadata.name"] = metadata["name"]
        metadata["labels"] = labels


def service(obj: Object) -> None:
    """Fill in a Service, but for its addresses."""
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


def limit_range(obj: Object) -> None:
    """Fill in a LimitRange: a limit is also the default, and the default also the request."""
    for item in (obj.get("spec") or {}).get("limits") or ():
        if item.get("type") != "Container":
            continue
        chain = ("max", "default", "defaultRequest")
        for source, target in (chain[:2], chain[1:], ("min", "defaultRequest")):
            for name, value in (item.get(source) or {}).items():
                item.setdefault(target, {}).setdefault(name, value)


def endpoints(obj: Object) -> None:
    """Fill in Endpoints."""
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def endpoint_slice(obj: Object) -> None:
    """Fill in an EndpointSlice."""
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def network_policy(obj: Object) -> None:
    """Fill in a NetworkPolicy: it rules what comes in, and what goes out if it says so."""
    spec = obj.setdefault("spec", {})
    rules = [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]
    for port in (port for rule in rules for port in rule.get("ports") or ()):
        port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def binding(obj: Object) -> None:
    """Fill in a RoleBinding or ClusterRoleBinding."""
    reference = obj.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = RBAC_GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = RBAC_GROUP


def priority_class(obj: Object) -> None:
    """Fill in a PriorityClass."""
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def validating_webhooks(obj: Object) -> None:
    """Fill in a ValidatingWebhookConfiguration."""
    for webhook in obj.get("webhooks") or ():
        _webhook(webhook)


def mutating_webhooks(obj: Object) -> None:
    """Fill in a MutatingWebhookConfiguration."""
    for webhook in obj.get("webhooks") or ():
        _webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def _webhook(webhook: Object) -> None:
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


def custom_resource_definition(obj: Object) -> None:
    """Fill in a CustomResourceDefinition: its names; its versions differ in name only."""
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {}).setdefault("strategy", "None")


def api_service(obj: Object) -> None:
    """Fill in an APIService."""
    service = (obj.get("spec") or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)
