"""DELETE: one object or many, at once or once its finalizers are gone."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from webhook.api import fielderrors, status
from webhook.api.status import Qualified
from webhook.apiserver import bodies, conversion, meta, reading, strategies
from webhook.apiserver.admission import DELETE, Attributes
from webhook.apiserver.calls import META_GROUP, Call, dry_run_errors
from webhook.apiserver.core import Core
from webhook.apiserver.entries import Entry, encode
from webhook.apiserver.requests import Target, is_true
from webhook.apiserver.resources import Resource
from webhook.apiserver.storage import StaleError

Object = dict[str, Any]
POLICIES: Final = ("Foreground", "Background", "Orphan")
_POD_GRACE: Final = 30


@dataclass(slots=True)
class DeleteOptions:
    """How to delete: what becomes of dependents, under which conditions, how soon."""

    propagation: str = ""
    orphan_dependents: bool | None = None
    grace: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False
    raw: Object | None = None

    def to_object(self) -> Object:
        """Write them as webhooks get them."""
        return {**(self.raw or {}), "kind": "DeleteOptions", "apiVersion": f"{META_GROUP}/v1"}


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion answers: whether the object is gone, and its last state."""

    entry: Entry
    gone: bool


def delete_options(call: Call) -> DeleteOptions:
    """Read the options from the body, or, where there is none, from the query."""
    raw: Object = {}
    if call.body:
        raw = _options_body(call)
    else:
        query = call.query
        if "propagationPolicy" in query:
            raw["propagationPolicy"] = query["propagationPolicy"]
        if "orphanDependents" in query:
            raw["orphanDependents"] = is_true(query["orphanDependents"])
        if query.get("gracePeriodSeconds"):
            raw["gracePeriodSeconds"] = _integer(query["gracePeriodSeconds"])
        if query.get("dryRun"):
            raw["dryRun"] = [query["dryRun"]]
    preconditions = raw.get("preconditions") or {}
    options = DeleteOptions(
        raw.get("propagationPolicy") or "",
        raw.get("orphanDependents"),
        raw.get("gracePeriodSeconds"),
        preconditions.get("uid"),
        preconditions.get("resourceVersion"),
        bool(raw.get("dryRun")),
        raw,
    )
    _check(options, raw)
    return options


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error


def _options_body(call: Call) -> Object:
    kind = bodies.check_media_type(call.content_type, is_custom=False)
    try:
        value = bodies.decode(call.body, kind, strict=False).value
    except bodies.MalformedError as error:
        problem = f"couldn't get version/kind; json parse error: {error}"
        raise status.bad_request(problem) from error
    if not isinstance(value, dict):
        raise status.bad_request("decoded object cannot be converted to DeleteOptions")
    return value


def _check(options: DeleteOptions, raw: Object) -> None:
    path = "propagationPolicy"
    errors = []
    if options.orphan_dependents is not None and options.propagation:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(fielderrors.invalid(path, options.propagation, detail))
    if options.propagation and options.propagation not in POLICIES:
        errors.append(fielderrors.not_supported(path, options.propagation, [*POLICIES, "nil"]))
    errors += dry_run_errors(raw.get("dryRun") or [])
    if errors:
        raise status.invalid(Qualified(META_GROUP, "DeleteOptions"), "", errors)


async def delete(core: Core, call: Call) -> Deleted:
    """Answer a DELETE of one object."""
    return await delete_object(core, call, delete_options(call))


async def delete_object(core: Core, call: Call, options: DeleteOptions) -> Deleted:
    """Delete the object that the call names, again if it changed meanwhile."""
    collection = core.collection(call.resource)
    while True:
        entry = collection.head(call.key)
        if entry is None:
            raise status.not_found(call.resource.qualified, call.target.name)
        try:
            return await _delete(core, call, entry, options)
        except StaleError:
            continue


async def _delete(core: Core, call: Call, entry: Entry, options: DeleteOptions) -> Deleted:
    _check_preconditions(call.resource, entry, options)
    obj = entry.decode()
    attributes = Attributes(
        call,
        DELETE,
        None,
        conversion.decoded(call.resource, entry),
        options.to_object(),
        options.dry_run,
        # Webhooks are not told the names of what a whole collection loses.
        "" if call.verb == "deletecollection" else entry.name,
        entry.namespace,
    )
    await core.admission.mutate(attributes)
    await core.admission.validate(attributes)
    metadata = obj["metadata"]
    finalizers = _finalizers(strategies.last_duties(call.resource, obj), options)
    grace = _grace(call.resource, obj, options)
    if not finalizers and not grace and not strategies.outlives(call.resource, obj):
        if options.dry_run:
            return Deleted(entry, gone=True)
        return Deleted(await core.store.remove(core.collection(call.resource), entry), gone=True)
    changed = finalizers != (metadata.get("finalizers") or [])
    if changed:
        metadata["finalizers"] = finalizers
    if _mark(core, call.resource, obj, grace) or changed:
        if options.dry_run:
            return Deleted(Entry(obj, encode(obj), entry.rv, {}), gone=False)
        entry = await core.store.put(core.collection(call.resource), obj, entry)
    return Deleted(entry, gone=False)


def _check_preconditions(resource: Resource, entry: Entry, options: DeleteOptions) -> None:
    kind = Qualified(resource.group, resource.kind)
    if options.uid is not None and options.uid != entry.uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({entry.uid}). The object might have been deleted and then recreated"
        )
        raise status.conflict(kind, entry.name, why)
    wanted = options.resource_version
    if wanted is not None and wanted != str(entry.rv):
        why = (
            f"the ResourceVersion in the precondition ({wanted}) does not match the "
            f"ResourceVersion in record ({entry.rv}). The object might have been modified"
        )
        raise status.conflict(kind, entry.name, why)


def _finalizers(present: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers with what the garbage collector has to do before the end."""
    orphan, foreground = meta.ORPHAN in present, meta.FOREGROUND in present
    if options.orphan_dependents is not None:
        orphan, foreground = options.orphan_dependents, False
    elif options.propagation:
        orphan = options.propagation == "Orphan"
        foreground = options.propagation == "Foreground"
    kept = [one for one in present if one not in (meta.ORPHAN, meta.FOREGROUND)]
    wanted = kept + [meta.ORPHAN] * orphan + [meta.FOREGROUND] * foreground
    return present if set(wanted) == set(present) else wanted


def _grace(resource: Resource, obj: Object, options: DeleteOptions) -> int:
    """Return the seconds that an object is given to end; only pods are given any."""
    if resource.storage != "pods":
        return 0
    spec = obj.get("spec") or {}
    if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in (
        "Failed",
        "Succeeded",
    ):
        return 0
    if options.grace is not None:
        return max(options.grace, 0)
    return int(spec.get("terminationGracePeriodSeconds", _POD_GRACE))


def _mark(core: Core, resource: Resource, obj: Object, grace: int) -> bool:
    """Note that an object is being deleted; False if that was noted before."""
    metadata = obj["metadata"]
    if resource.storage == "namespaces":
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    if metadata.get("deletionTimestamp"):
        if grace >= int(metadata.get("deletionGracePeriodSeconds") or 0):
            return False
        metadata["deletionGracePeriodSeconds"] = grace
        return True
    metadata["deletionTimestamp"] = meta.timestamp(core.now() + timedelta(seconds=grace))
    if resource.storage != "namespaces":
        metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
    return True


async def delete_collection(core: Core, call: Call) -> tuple[reading.Page, list[Entry]]:
    """Delete everything that a list with the same selectors would show."""
    options = delete_options(call)
    page = reading.list_page(core, call)
    deleted = []
    for entry in page.entries:
        target = Target(
            call.target.group,
            call.target.version,
            call.target.resource,
            entry.namespace,
            entry.name,
        )
        one = Call(call.resource, target, call.verb, call.user, warnings=call.warnings)
        try:
            deleted.append((await delete_object(core, one, options)).entry)
        except status.StatusError as error:
            if error.reason != status.NOT_FOUND:
                raise
    return page, deleted
