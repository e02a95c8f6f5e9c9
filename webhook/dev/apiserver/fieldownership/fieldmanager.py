"""Keep metadata.managedFields on updates, and apply configurations server-side."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.dev.apiserver.fieldownership import (
    conflicts,
    fieldsets,
    lastapplied,
    managers,
    merge,
    prune,
    typedvalues,
    validation,
)
from webhook.dev.apiserver.fieldownership.fieldsets import FieldSet
from webhook.dev.apiserver.fieldownership.managers import (
    APPLY,
    UPDATE,
    ManagedFields,
    Manager,
    VersionedSet,
)
from webhook.kube import jsontext, status
from webhook.kube.meta import Draft

_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_STRIPPED_FIELDS: Final = fieldsets.from_paths(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(
        ("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)
"""The fields that no manager owns."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint that an object is written to: version, subresource and the fields it resets."""

    api_version: str
    kind: str
    schema_of: Callable[[str], Schema | None]
    """Returns the schema of the kind in an apiVersion, None if that is not served any more."""
    subresource: str = ""
    reset: FieldSet = field(default_factory=dict)
    """The fields that a write to the endpoint cannot change."""
    zero: Draft = field(default_factory=dict)
    """The zero value of the kind, whose fields no manager owns on create."""

    @property
    def schema(self) -> Schema:
        """The schema of the kind in the version of the endpoint."""
        return self.schema_of(self.api_version) or {}


def update(endpoint: Endpoint, live: Draft, new: Draft, manager: str, now: str) -> None:
    """Set the managedFields of a new object that replaces a live one ({} on create)."""
    live = live or endpoint.zero
    managed = _decode(endpoint, live, new)
    new.get("metadata", {}).pop("managedFields", None)
    if not managed.managers and live.get("metadata", {}).get("uid"):
        return
    owner = Manager(manager, UPDATE, endpoint.subresource, endpoint.api_version)
    comparison = _take_changed_fields(endpoint, live, new, managed, None, force=True)
    # Fields that the endpoint resets keep their owners.
    taken = fieldsets.recursive_difference(comparison.changed(), endpoint.reset)
    taken = fieldsets.difference(taken, _STRIPPED_FIELDS)
    if taken:
        previous = managed.managers.get(owner)
        fields = fieldsets.union(taken, previous.fields) if previous else taken
        managed.managers[owner] = VersionedSet(fields, endpoint.api_version, now)
    managed.cap_updaters()
    _set_entries(new, managed)


def _decode(endpoint: Endpoint, live: Draft, new: Draft) -> ManagedFields:
    """Decode the entries of the new object if a client may set them, else those of the live one."""
    live_entries = live.get("metadata", {}).get("managedFields")
    new_entries = new.get("metadata", {}).get("managedFields")
    if not endpoint.subresource:
        if managers.is_reset(new_entries):
            return ManagedFields()
        try:
            managed = managers.decode(new_entries)
        except managers.BadEntriesError:
            managed = ManagedFields()
        if managed.managers:
            return managed
    try:
        return managers.decode(live_entries)
    except managers.BadEntriesError:
        return ManagedFields()


def _set_entries(obj: Draft, managed: ManagedFields) -> None:
    if managed.managers:
        obj.setdefault("metadata", {})["managedFields"] = managers.encode(managed)


def _take_changed_fields(
    endpoint: Endpoint,
    live: Draft,
    new: Draft,
    managed: ManagedFields,
    applier: Manager | None,
    *,
    force: bool,
) -> typedvalues.Comparison:
    """Remove changed fields from all other managers; without force, raise ConflictError."""
    before, after = managers.without_entries(live), managers.without_entries(new)
    comparison = typedvalues.compare(before, after, endpoint.schema)
    if not managed.managers:
        return comparison
    comparisons = {endpoint.api_version: comparison.without(endpoint.reset)}
    conflicting: dict[Manager, FieldSet] = {}
    for manager, owned in list(managed.managers.items()):
        if manager == applier:
            continue
        version = owned.api_version
        if version not in comparisons:
            schema = endpoint.schema_of(version)
            if schema is None:
                del managed.managers[manager]
                continue
            comparisons[version] = typedvalues.compare(before, after, schema)
        overlap = fieldsets.intersection(owned.fields, comparisons[version].changed())
        if overlap:
            conflicting[manager] = overlap
    if conflicting and not force:
        raise conflicts.ConflictError(conflicts.from_managers(conflicting))
    for manager, owned in list(managed.managers.items()):
        if manager == applier:
            continue
        kept = fieldsets.difference(owned.fields, conflicting.get(manager, {}))
        kept = fieldsets.difference(kept, comparisons[owned.api_version].removed)
        managed.set(manager, owned.with_fields(kept))
    return comparison


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """A configuration that a manager applies."""

    config: Draft
    manager: str
    force: bool
    now: str


def apply(endpoint: Endpoint, live: Draft, request: ApplyRequest) -> Draft:
    """Merge a configuration into a live object ({} if there is none) and return the new object.

    Raises StatusError if fields belong to other managers or the configuration is not valid.
    """
    _validate(endpoint, request.config)
    try:
        result = _apply(endpoint, live, request)
    except conflicts.ConflictError as error:
        # kubectl may take the fields that its last client-side apply set.
        allowed: FieldSet = {}
        if request.manager == lastapplied.KUBECTL:
            allowed = lastapplied.unchanged_fields(live, endpoint.api_version, endpoint.schema)
        rest = [each for each in error.conflicts if not fieldsets.has(allowed, each.path)]
        if rest:
            raise conflicts.ConflictError(rest).status() from error
        forced = ApplyRequest(request.config, request.manager, True, request.now)
        result = _apply(endpoint, live, forced)
    if request.manager == lastapplied.KUBECTL:
        lastapplied.update_annotation(result, request.config)
    return result


def _validate(endpoint: Endpoint, config: Draft) -> None:
    version, kind = config.get("apiVersion", ""), config.get("kind", "")
    kind_text = f"{version if '/' in version else f'/{version}'}, Kind={kind}"
    if (version, kind) != (endpoint.api_version, endpoint.kind):
        raise status.bad_request(f"invalid object type: {kind_text}")
    metadata = config.get("metadata") or {}
    if metadata.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")
    errors = validation.validate(config, endpoint.schema)
    if errors:
        subject = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        text = errors[0]
        if len(errors) > 1:
            text = "\n".join(["errors:", *(f"  {error}" for error in errors)])
        message = f"failed to create typed patch object ({subject}; {kind_text}): {text}"
        raise status.failure(500, "", message)


def _apply(endpoint: Endpoint, live: Draft, request: ApplyRequest) -> Draft:
    try:
        managed = managers.decode(live.get("metadata", {}).get("managedFields"))
    except managers.BadEntriesError as error:
        raise status.failure(500, "", f"failed to decode managed fields: {error}") from error
    live_fields = managers.without_entries(live)
    if not managed.managers and live:
        first = Manager(_BEFORE_FIRST_APPLY, UPDATE, endpoint.subresource, endpoint.api_version)
        everything = typedvalues.compare({}, live_fields, endpoint.schema).added
        fields = fieldsets.difference(everything, _STRIPPED_FIELDS)
        managed.set(first, VersionedSet(fields, endpoint.api_version, request.now))
    owner = Manager(request.manager, APPLY, endpoint.subresource)
    last = managed.managers.get(owner)
    new = merge.merge(live_fields, request.config, endpoint.schema)
    fields = typedvalues.to_field_set(request.config, endpoint.schema)
    fields = fieldsets.recursive_difference(fields, endpoint.reset)
    managed.managers[owner] = VersionedSet(fields, endpoint.api_version, request.now)
    if last is not None and (schema := endpoint.schema_of(last.api_version)) is not None:
        new = prune.prune(new, managed, last, schema)
    _take_changed_fields(endpoint, live_fields, new, managed, owner, force=request.force)
    time: str | None = request.now
    if new == live_fields:
        time = last.time if last else None
    fields = fieldsets.difference(fields, _STRIPPED_FIELDS)
    managed.set(owner, VersionedSet(fields, endpoint.api_version, time))
    result: Draft = jsontext.deep_copy(new)
    prune.remove_emptied(result, live_fields)
    _set_entries(result, managed)
    return result


def ignore_timestamp_changes(live: Draft, new: Draft) -> None:
    """Keep the live managedFields if only timestamps differ, so that nothing is written."""
    before = live.get("metadata", {}).get("managedFields")
    after = new.get("metadata", {}).get("managedFields")
    if (
        before
        and after
        and _without_times(before) == _without_times(after)
        and managers.without_entries(live) == managers.without_entries(new)
    ):
        new["metadata"]["managedFields"] = before


def _without_times(entries: list[Draft]) -> list[bytes]:
    rows = ({key: value for key, value in entry.items() if key != "time"} for entry in entries)
    return sorted(jsontext.dumps(row, is_sorted=True) for row in rows)
