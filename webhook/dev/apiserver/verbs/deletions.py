"""DELETE of one object or a collection."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from webhook.dev.apiserver.admission.chain import DELETE, Attributes
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import bodies
from webhook.dev.apiserver.endpoints.calls import META_GROUP, Call, dry_run_errors
from webhook.dev.apiserver.endpoints.requestinfo import RequestInfo, is_true
from webhook.dev.apiserver.registry import conversion, objectmeta, strategies
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.entries import Entry, encode
from webhook.dev.apiserver.storage.store import StaleError
from webhook.dev.apiserver.verbs import reads
from webhook.kube import fielderrors, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

POLICIES: Final = ("Foreground", "Background", "Orphan")
_POD_GRACE_SECONDS: Final = 30


@dataclass(slots=True)
class DeleteOptions:
    """DeleteOptions: propagation policy, preconditions, grace period and dry run."""

    propagation: str = ""
    orphan_dependents: bool | None = None
    grace: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False
    raw: Draft | None = None

    def to_object(self) -> Draft:
        """Return the options as webhooks receive them."""
        return {**(self.raw or {}), "kind": "DeleteOptions", "apiVersion": f"{META_GROUP}/v1"}


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of a deletion: the last state of the object, and whether it was removed."""

    entry: Entry
    removed: bool


def delete_options(call: Call) -> DeleteOptions:
    """Parse the options from the body, or from the query if there is no body."""
    raw: Draft = {}
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


def _options_body(call: Call) -> Draft:
    kind = bodies.check_media_type(call.content_type, is_custom=False)
    try:
        value = bodies.decode(call.body, kind, strict=False).value
    except bodies.MalformedError as error:
        problem = f"couldn't get version/kind; json parse error: {error}"
        raise status.bad_request(problem) from error
    if not isinstance(value, dict):
        raise status.bad_request("decoded object cannot be converted to DeleteOptions")
    return value


def _check(options: DeleteOptions, raw: Draft) -> None:
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
    """Handle a DELETE of one object."""
    return await delete_object(core, call, delete_options(call))


async def delete_object(core: Core, call: Call, options: DeleteOptions) -> Deleted:
    """Delete the object of the call; retried on conflicts."""
    collection = core.collection(call.resource)
    while True:
        entry = collection.head(call.key)
        if entry is None:
            raise status.not_found(call.resource.qualified, call.info.name)
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
        conversion.decode_as(call.resource, entry),
        options.to_object(),
        options.dry_run,
        # Webhooks do not receive names when a collection is deleted.
        "" if call.verb == "deletecollection" else entry.name,
        entry.namespace,
    )
    await core.admission.mutate(attributes)
    await core.admission.validate(attributes)
    metadata = obj["metadata"]
    finalizers = _finalizers(strategies.deletion_finalizers(call.resource, obj), options)
    grace = _grace_period(call.resource, obj, options)
    if not finalizers and not grace and not strategies.has_spec_finalizers(call.resource, obj):
        if options.dry_run:
            return Deleted(entry, removed=True)
        return Deleted(await core.store.remove(core.collection(call.resource), entry), removed=True)
    changed = finalizers != (metadata.get("finalizers") or [])
    if changed:
        metadata["finalizers"] = finalizers
    if _set_deletion_timestamp(core, call.resource, obj, grace) or changed:
        if options.dry_run:
            return Deleted(Entry(obj, encode(obj), entry.rv, {}), removed=False)
        entry = await core.store.put(core.collection(call.resource), obj, entry)
    return Deleted(entry, removed=False)


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
    """Return the finalizers with those that the propagation policy requires."""
    orphan, foreground = objectmeta.ORPHAN in present, objectmeta.FOREGROUND in present
    if options.orphan_dependents is not None:
        orphan, foreground = options.orphan_dependents, False
    elif options.propagation:
        orphan = options.propagation == "Orphan"
        foreground = options.propagation == "Foreground"
    kept = [each for each in present if each not in (objectmeta.ORPHAN, objectmeta.FOREGROUND)]
    wanted = kept + [objectmeta.ORPHAN] * orphan + [objectmeta.FOREGROUND] * foreground
    return present if set(wanted) == set(present) else wanted


def _grace_period(resource: Resource, obj: Draft, options: DeleteOptions) -> int:
    """Return the grace period in seconds; only pods have one."""
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
    return int(spec.get("terminationGracePeriodSeconds", _POD_GRACE_SECONDS))


def _set_deletion_timestamp(core: Core, resource: Resource, obj: Draft, grace: int) -> bool:
    """Set the deletion timestamp; return False if nothing changes."""
    metadata = obj["metadata"]
    if resource.storage == "namespaces":
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    if metadata.get("deletionTimestamp"):
        if grace >= int(metadata.get("deletionGracePeriodSeconds") or 0):
            return False
        metadata["deletionGracePeriodSeconds"] = grace
        return True
    metadata["deletionTimestamp"] = objectmeta.timestamp(core.now() + timedelta(seconds=grace))
    if resource.storage != "namespaces":
        metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
    return True


async def delete_collection(core: Core, call: Call) -> tuple[reads.Page, list[Entry]]:
    """Delete all objects that a list with the same selectors returns."""
    options = delete_options(call)
    page = reads.list_page(core, call)
    deleted = []
    for entry in page.entries:
        target = RequestInfo(
            call.info.group,
            call.info.version,
            call.info.resource,
            entry.namespace,
            entry.name,
        )
        single = Call(call.resource, target, call.verb, call.user, warnings=call.warnings)
        try:
            deleted.append((await delete_object(core, single, options)).entry)
        except status.StatusError as error:
            if error.reason != status.NOT_FOUND:
                raise
    return page, deleted
