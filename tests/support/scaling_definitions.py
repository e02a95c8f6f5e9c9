"""CRDs of Tortoise and of the VerticalPodAutoscaler, as far as scheduled scaling uses them."""

from typing import Any

from tests.support import tortoise_rules

Object = dict[str, Any]


def _properties(fields: tuple[str, ...], **known: Object) -> Object:
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    return {
        "type": "object",
        "properties": {**{name: dict(anything) for name in fields}, **known},
    }


def tortoise_definition() -> Object:
    """Tortoise's own CRD, which prunes unknown fields."""
    recommendations = _properties(tortoise_rules.RECOMMENDATIONS)
    schema = {
        "type": "object",
        "properties": {
            "spec": _properties(tortoise_rules.SPEC),
            "status": _properties(tortoise_rules.STATUS, recommendations=recommendations),
        },
    }
    return _definition("autoscaling.mercari.com", "v1beta3", "Tortoise", schema)


def _definition(group: str, version: str, kind: str, schema: Object) -> Object:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **({"subresources": {"status": {}}} if kind == "Tortoise" else {}),
                }
            ],
        },
    }


VPA = _definition(
    "autoscaling.k8s.io",
    "v1",
    "VerticalPodAutoscaler",
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
)
