"""The annotation in which kubectl's client-side apply keeps its last configuration."""

from typing import Final

import orjson

from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.dev.apiserver.fieldownership import fieldsets, managers, typedvalues
from webhook.dev.apiserver.fieldownership.fieldsets import FieldSet
from webhook.kube import jsontext
from webhook.kube.meta import Draft

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL: Final = "kubectl"
"""The field manager of kubectl's server-side apply."""


def unchanged_fields(live: Draft, api_version: str, schema: Schema) -> FieldSet:
    """Return the fields of the last client-side apply that still have the applied values."""
    text = (live.get("metadata", {}).get("annotations") or {}).get(ANNOTATION)
    if not text:
        return {}
    try:
        config = jsontext.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(config, dict) or config.get("apiVersion") != api_version:
        return {}
    comparison = typedvalues.compare(config, managers.without_entries(live), schema)
    fields = typedvalues.to_field_set(config, schema)
    for part in comparison:
        fields = fieldsets.difference(fields, part)
    return fields


def update_annotation(result: Draft, applied: Draft) -> None:
    """Set the annotation to an applied configuration, if the object has the annotation."""
    annotations = result.get("metadata", {}).get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return
    config: Draft = jsontext.deep_copy(applied)
    given = config.get("metadata", {}).get("annotations")
    if given:
        given.pop(ANNOTATION, None)
    annotations[ANNOTATION] = jsontext.dumps(config, is_sorted=True).decode() + "\n"
