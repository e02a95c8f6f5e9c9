"""Keep metadata.managedFields while objects are created, updated, patched and applied."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from webhook.api import jsontext, status
from webhook.apiserver.fieldownership import conflicts, managers, merging, sets, values
from webhook.apiserver.fieldownership.managers import APPLY, UPDATE, Managed, Manager, Owned
from webhook.apiserver.fieldownership.schemas import Schema
from webhook.apiserver.fieldownership.sets import FieldSet

Object = dict[str, Any]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_UNOWNED: Final = sets.of(
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


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an object is written: its version, its part, and what cannot be written there."""

    api_version: str
    kind: str
    schema_of: Callable[[str], Schema | None]
    """The schema of the kind in an apiVersion; None for one that is not served any more."""
    subresource: str = ""
    reset: FieldSet = field(default_factory=dict)
    zero: Object = field(default_factory=dict)
    """What an object of the kind holds before anyone wrote to it."""

    @property
    def schema(self) -> Schema:
        return self.schema_of(self.api_version) or {}


def updated(endpoint: Endpoint, live: Object, new: Object, manager: str, now: str) -> None:
    """Set the managed fields of a new object that replaces a live one ({} on create)."""
    live = live or endpoint.zero
    managed = _decoded(endpoint, live, new)
    _forget(new)
    if not managed.owners and live.get("metadata", {}).get("uid"):
        return
    who = Manager(manager, UPDATE, endpoint.subresource, endpoint.api_version)
    difference = _settled(endpoint, live, new, managed, None, force=True)
    # What the endpoint resets does not change hands; what it lost is still nobody's.
    taken = sets.recursive_difference(difference.changed(), endpoint.reset)
    taken = sets.difference(taken, _UNOWNED)
    if taken:
        previous = managed.owners.get(who)
        fields = sets.union(taken, previous.fields) if previous else taken
        managed.owners[who] = Owned(fields, endpoint.api_version, now)
    managed.cap_updaters()
    _write(new, managed)


def _decoded(endpoint: Endpoint, live: Object, new: Object) -> Managed:
    """Take the entries of the new object where a client may set them, else the live ones."""
    kept = live.get("metadata", {}).get("managedFields")
    given = new.get("metadata", {}).get("managedFields")
    if not endpoint.subresource:
        if managers.is_reset(given):
            return Managed()
        try:
            managed = managers.decode(given)
        except managers.BadEntriesError:
            managed = Managed()
        if managed.owners:
            return managed
    try:
        return managers.decode(kept)
    except managers.BadEntriesError:
        return Managed()


def _forget(obj: Object) -> None:
    obj.get("metadata", {}).pop("managedFields", None)


def _write(obj: Object, managed: Managed) -> None:
    if managed.owners:
        obj.setdefault("metadata", {})["managedFields"] = managers.encode(managed)


def _settled(
    endpoint: Endpoint,
    live: Object,
    new: Object,
    managed: Managed,
    self: Manager | None,
    *,
    force: bool,
) -> values.Difference:
    """Take from all other managers what changed; without force, raise if there is any."""
    found: dict[str, values.Difference] = {}
    own = values.compare(_bare(live), _bare(new), endpoint.schema)
    if not managed.owners:
        return own
    found[endpoint.api_version] = own.without(endpoint.reset)
    contested: dict[Manager, FieldSet] = {}
    for manager, owned in list(managed.owners.items()):
        if manager == self:
            continue
        version = owned.api_version
        if version not in found:
            schema = endpoint.schema_of(version)
            if schema is None:
                del managed.owners[manager]
                continue
            found[version] = values.compare(_bare(live), _bare(new), schema)
        overlap = sets.intersection(owned.fields, found[version].changed())
        if overlap:
            contested[manager] = overlap
    if contested and not force:
        raise conflicts.ConflictError(conflicts.of(contested))
    for manager, owned in list(managed.owners.items()):
        if manager == self:
            continue
        left = sets.difference(owned.fields, contested.get(manager, {}))
        managed.set(manager, owned.keeping(sets.difference(left, found[owned.api_version].removed)))
    return own


def _bare(obj: Object) -> Object:
    """Leave out the entries themselves, which belong to nobody."""
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    rest = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": rest}


@dataclass(frozen=True, slots=True)
class Application:
    """A configuration that someone applies."""

    config: Object
    manager: str
    force: bool
    now: str


def applied(endpoint: Endpoint, live: Object, application: Application) -> Object:
    """Merge a configuration into a live object ({} if there is none) and answer the new object.

    Raises StatusError where fields belong to others or the configuration does not fit.
    """
    _check(endpoint, application.config)
    try:
        result = _applied(endpoint, live, application)
    except conflicts.ConflictError as error:
        # kubectl owns what the annotation of its client-side apply still describes; others do not.
        allowed = _last_applied(endpoint, live) if application.manager == "kubectl" else {}
        rest = [found for found in error.conflicts if not sets.has(allowed, found.path)]
        if rest:
            raise conflicts.ConflictError(rest).status() from error
        forced = Application(application.config, application.manager, True, application.now)
        result = _applied(endpoint, live, forced)
    _renew_annotation(result, application)
    return result


def _check(endpoint: Endpoint, config: Object) -> None:
    version, kind = config.get("apiVersion", ""), config.get("kind", "")
    what = f"{version if '/' in version else f'/{version}'}, Kind={kind}"
    if (version, kind) != (endpoint.api_version, endpoint.kind):
        raise status.bad_request(f"invalid object type: {what}")
    metadata = config.get("metadata") or {}
    if metadata.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")
    found = merging.objections(config, endpoint.schema)
    if found:
        subject = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        text = (
            found[0] if len(found) == 1 else "\n".join(["errors:", *(f"  {one}" for one in found)])
        )
        message = f"failed to create typed patch object ({subject}; {what}): {text}"
        raise status.failure(500, "", message)


def _applied(endpoint: Endpoint, live: Object, application: Application) -> Object:
    try:
        managed = managers.decode(live.get("metadata", {}).get("managedFields"))
    except managers.BadEntriesError as error:
        raise status.failure(500, "", f"failed to decode managed fields: {error}") from error
    bare = _bare(live)
    if not managed.owners and live:
        first = Manager(_BEFORE_FIRST_APPLY, UPDATE, endpoint.subresource, endpoint.api_version)
        everything = values.compare({}, bare, endpoint.schema).added
        fields = sets.difference(everything, _UNOWNED)
        managed.set(first, Owned(fields, endpoint.api_version, application.now))
    who = Manager(application.manager, APPLY, endpoint.subresource)
    last = managed.owners.get(who)
    new = merging.merged(bare, application.config, endpoint.schema)
    fields = values.held(application.config, endpoint.schema)
    fields = sets.recursive_difference(fields, endpoint.reset)
    managed.owners[who] = Owned(fields, endpoint.api_version, application.now)
    if last is not None:
        new = _pruned(endpoint, new, managed, last)
    _settled(endpoint, bare, new, managed, who, force=application.force)
    unchanged = new == bare
    since = (last.time if last else None) if unchanged else application.now
    managed.set(who, Owned(sets.difference(fields, _UNOWNED), endpoint.api_version, since))
    result: Object = jsontext.loads(jsontext.dumps(new))
    _drop_emptied(result, bare)
    _write(result, managed)
    return result


def _drop_emptied(new: Object, live: Object) -> None:
    """Drop the nulls that pruning left for what it emptied; nulls that someone wrote stay."""
    for name, before in live.items():
        if name not in new:
            continue
        if new[name] is None and before is not None:
            del new[name]
        elif isinstance(before, dict) and isinstance(new[name], dict):
            _drop_emptied(new[name], before)


def _pruned(endpoint: Endpoint, merged: Object, managed: Managed, last: Owned) -> Object:
    """Remove what the manager applied before, does not apply now, and nobody else owns."""
    schema = endpoint.schema_of(last.api_version)
    if schema is None:
        return merged
    before = values.named(last.fields, schema)
    rest = values.removed(merged, before, schema)
    owned: FieldSet = {}
    for keeper in managed.owners.values():
        owned = sets.union(owned, keeper.fields)
    have = values.named(values.held(merged, schema), schema)
    keep = sets.union(values.named(values.held(rest, schema), schema), values.named(owned, schema))
    rest = values.removed(merged, sets.difference(have, keep), schema)
    gone = sets.difference(have, values.named(values.held(rest, schema), schema))
    pruned: Object = values.removed(merged, sets.intersection(gone, before), schema)
    return pruned


def _last_applied(endpoint: Endpoint, live: Object) -> FieldSet:
    text = (live.get("metadata", {}).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return {}
    try:
        config = jsontext.loads(text)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(config, dict) or config.get("apiVersion") != endpoint.api_version:
        return {}
    schema = endpoint.schema
    difference = values.compare(config, _bare(live), schema)
    fields = values.held(config, schema)
    for part in difference:
        fields = sets.difference(fields, part)
    return fields


def _renew_annotation(result: Object, application: Application) -> None:
    """Let kubectl's own client-side annotation follow its server-side apply, if it is there."""
    annotations = result.get("metadata", {}).get("annotations") or {}
    if application.manager != "kubectl" or not annotations.get(LAST_APPLIED):
        return
    config: Object = jsontext.loads(jsontext.dumps(application.config))
    given = config.get("metadata", {}).get("annotations")
    if given:
        given.pop(LAST_APPLIED, None)
    annotations[LAST_APPLIED] = jsontext.dumps(config, is_sorted=True).decode() + "\n"


def keep_times(live: Object, new: Object) -> None:
    """Take back new timestamps where nothing else changed, so that a repetition writes nothing."""
    before = live.get("metadata", {}).get("managedFields")
    after = new.get("metadata", {}).get("managedFields")
    if before and after and _timeless(before) == _timeless(after) and _bare(live) == _bare(new):
        new["metadata"]["managedFields"] = before


def _timeless(entries: list[Object]) -> list[bytes]:
    rows = ({key: value for key, value in entry.items() if key != "time"} for entry in entries)
    return sorted(jsontext.dumps(row, is_sorted=True) for row in rows)
