"""Objects that the tests of this suite create."""

from typing import Any


def make_definition(group: str) -> dict[str, Any]:
    """A CRD that uses most features of schemas."""
    part = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
    }
    spec = {
        "type": "object",
        "description": "What the widget should be.",
        "required": ["size"],
        "properties": {
            "size": {"type": "string", "enum": ["small", "large"], "description": "How big."},
            "replicas": {"type": "integer", "format": "int32", "default": 1, "minimum": 0},
            "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 10},
            "when": {"type": "string", "format": "date-time"},
            "tags": {
                "type": "array",
                "maxItems": 3,
                "x-kubernetes-list-type": "set",
                "items": {"type": "string"},
            },
            "parts": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": part,
            },
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    status = {
        "type": "object",
        "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
    }
    schema = {
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": spec, "status": status},
    }
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    columns = [
        {"name": "Size", "type": "string", "jsonPath": ".spec.size"},
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
    ]
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale},
        "additionalPrinterColumns": columns,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [version],
        },
    }


def make_namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def make_prometheus() -> list[dict[str, Any]]:
    """The kinds of the Prometheus operator that we write, with their minimal schemas."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{kind.lower()}s.monitoring.coreos.com"},
            "spec": {
                "group": "monitoring.coreos.com",
                "names": {"plural": f"{kind.lower()}s", "kind": kind},
                "scope": "Namespaced",
                "versions": [version],
            },
        }
        for kind in ("PrometheusRule", "ServiceMonitor")
    ]
