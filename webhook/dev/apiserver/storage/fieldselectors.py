"""Field selectors: the selectable fields of each kind and their values."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.dev.apiserver import jsonpath
from webhook.dev.apiserver.registry.registry import Registry
from webhook.dev.apiserver.registry.resources import Resource
from webhook.kube.meta import Raw
from webhook.kube.requirements import SelectorError

SELECTABLE: Final[Mapping[str, Mapping[str, str]]] = {
    "pods": {
        "spec.nodeName": ".spec.nodeName",
        "spec.restartPolicy": ".spec.restartPolicy",
        "spec.schedulerName": ".spec.schedulerName",
        "spec.serviceAccountName": ".spec.serviceAccountName",
        "spec.hostNetwork": ".spec.hostNetwork",
        "status.phase": ".status.phase",
        "status.podIP": ".status.podIP",
        "status.nominatedNodeName": ".status.nominatedNodeName",
    },
    "events": {
        "involvedObject.kind": ".involvedObject.kind",
        "involvedObject.namespace": ".involvedObject.namespace",
        "involvedObject.name": ".involvedObject.name",
        "involvedObject.uid": ".involvedObject.uid",
        "involvedObject.apiVersion": ".involvedObject.apiVersion",
        "involvedObject.resourceVersion": ".involvedObject.resourceVersion",
        "involvedObject.fieldPath": ".involvedObject.fieldPath",
        "reason": ".reason",
        "reportingComponent": ".reportingComponent",
        "source": ".source.component",
        "type": ".type",
    },
    "secrets": {"type": ".type"},
    "namespaces": {"status.phase": ".status.phase"},
    "nodes": {"spec.unschedulable": ".spec.unschedulable"},
    "services": {"spec.clusterIP": ".spec.clusterIP", "spec.type": ".spec.type"},
    "replicasets.apps": {"status.replicas": ".status.replicas"},
    "customresourcedefinitions.apiextensions.k8s.io": {},
}
"""Selectable fields of Kubernetes v1.36, beside name and namespace."""


def selectable_fields(registry: Registry, storage: str, obj: Raw) -> dict[str, str]:
    """Return the selectable fields of an object with their values."""
    metadata = obj["metadata"]
    fields = {"metadata.name": metadata.get("name", "")}
    if metadata.get("namespace"):
        fields["metadata.namespace"] = metadata["namespace"]
    for name, path in _paths(registry, storage).items():
        found = jsonpath.find(obj, path)
        if found and found[0] is not None:
            fields[name] = _text(found[0])
    return fields


def _paths(registry: Registry, storage: str) -> Mapping[str, str]:
    if storage in SELECTABLE:
        return SELECTABLE[storage]
    resource = registry.of_storage(storage)
    if resource is None:
        return {}
    return {path.removeprefix("."): path for path in resource.selectable}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_EVENTS_V1_FIELDS: Final = {
    "metadata.name": "metadata.name",
    "metadata.namespace": "metadata.namespace",
    "reason": "reason",
    "reportingController": "reportingComponent",
    "type": "type",
    **{
        f"regarding.{name}": f"involvedObject.{name}"
        for name in (
            "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
        )
    },
}  # fmt: skip
"""Selectable fields of events.k8s.io, and their names in the core group, which is stored."""


def _convert_events_v1_field(field: str, value: str) -> tuple[str, str]:
    if field in _EVENTS_V1_FIELDS:
        return _EVENTS_V1_FIELDS[field], value
    raise SelectorError(f"field label not supported: {field}")


def field_label_converter(resource: Resource) -> Callable[[str, str], tuple[str, str]]:
    """Return a function that converts field labels and rejects unsupported ones."""
    if resource.identity == "events.events.k8s.io":
        return _convert_events_v1_field
    known = {"metadata.name", *SELECTABLE.get(resource.storage, {})}
    known |= {path.removeprefix(".") for path in resource.selectable}
    if resource.namespaced or not resource.is_custom:
        known.add("metadata.namespace")

    def convert(field: str, value: str) -> tuple[str, str]:
        if field in known:
            return field, value
        if resource.is_custom or resource.storage in SELECTABLE:
            raise SelectorError(f"field label not supported: {field}")
        raise SelectorError(
            f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        )

    return convert
