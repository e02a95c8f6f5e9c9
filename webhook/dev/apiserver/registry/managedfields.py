"""Tracks managedFields of writes, with the schema and the reset fields of each endpoint."""

import logging
from datetime import datetime
from functools import lru_cache
from typing import Any

from webhook.dev.apiserver.builtin import encoding, schemas
from webhook.dev.apiserver.fieldownership import fieldmanager, fieldschemas, fieldsets, validation
from webhook.dev.apiserver.fieldownership.fieldmanager import ApplyRequest, Endpoint
from webhook.dev.apiserver.registry.objectmeta import timestamp
from webhook.dev.apiserver.registry.registry import Registry
from webhook.dev.apiserver.registry.resources import STATUS, Resource
from webhook.kube.meta import Draft

logger = logging.getLogger(__name__)


def endpoint_of(registry: Registry, resource: Resource, subresource: str = "") -> Endpoint:
    """Return the endpoint of a resource or subresource, for field management."""

    def schema_of(api_version: str) -> Any:
        group, _, version = api_version.rpartition("/")
        found = registry.get(group, version, resource.plural)
        return None if found is None else raw_schema(found)

    reset = fieldsets.from_paths()
    if resource.has_status and subresource == "":
        reset = fieldsets.from_paths((STATUS,))
    elif subresource == STATUS:
        reset = _reset_by_status(resource)
    zero = {} if resource.builtin is None else encoding.zero_value(resource.builtin.component)
    return Endpoint(resource.api_version, resource.kind, schema_of, subresource, reset, zero)


def _reset_by_status(resource: Resource) -> Any:
    if resource.is_custom:
        return fieldsets.from_paths(("metadata",), ("spec",))
    return fieldsets.from_paths(("spec",))


@lru_cache(maxsize=512)
def raw_schema(resource: Resource) -> Any:
    """Return the schema by which the fields of a resource are owned and merged."""
    if resource.builtin is not None:
        return schemas.expand(resource.builtin.component)
    return fieldschemas.for_custom_resource(dict(resource.raw_schema) or None)


def track_update(endpoint: Endpoint, live: Draft, new: Draft, manager: str, now: datetime) -> None:
    """Update managedFields for a create or update; validation rejects what cannot be tracked."""
    if not _versions_have_all_fields(endpoint, live, new):
        new["metadata"].pop("managedFields", None)
        return
    try:
        fieldmanager.update(endpoint, live, new, manager, timestamp(now))
    except fieldschemas.BadItemError as error:
        logger.debug("managedFields were not updated", extra={"error": str(error)})


def _versions_have_all_fields(endpoint: Endpoint, live: Draft, new: Draft) -> bool:
    """Return whether the versions of all managers have the fields of both objects.

    Kubernetes cannot compare objects in a version that lacks fields, and drops managedFields then.
    """
    entries = live.get("metadata", {}).get("managedFields") or ()
    versions = {entry.get("apiVersion") for entry in entries} - {endpoint.api_version}
    known = [schema for version in versions if (schema := endpoint.schema_of(version)) is not None]
    return not any(
        validation.validate({**obj, "metadata": {}}, schema)
        for schema in known
        for obj in (live, new)
    )


def apply(
    endpoint: Endpoint, live: Draft, config: Draft, manager: str, *, force: bool, now: datetime
) -> Draft:
    """Merge an applied configuration into the live object."""
    return fieldmanager.apply(endpoint, live, ApplyRequest(config, manager, force, timestamp(now)))
