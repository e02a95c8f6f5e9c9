"""POST and PUT: takes a decoded object through admission and validation into the store."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from webhook.dev.apiserver.admission.chain import CREATE, UPDATE, Attributes
from webhook.dev.apiserver.builtin import preparation
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints.calls import (
    Call,
    WriteOptions,
    field_manager_of,
    write_options,
)
from webhook.dev.apiserver.endpoints.decoding import decode_object
from webhook.dev.apiserver.fieldownership import fieldmanager
from webhook.dev.apiserver.registry import conversion, managedfields, objectmeta, strategies
from webhook.dev.apiserver.storage.collection import Collection
from webhook.dev.apiserver.storage.entries import Entry, encode, key_of
from webhook.dev.apiserver.storage.lookup import StoreReader
from webhook.dev.apiserver.storage.store import StaleError
from webhook.kube import fielderrors, gotext, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

Transform: TypeAlias = Callable[[Draft], Draft]
"""Returns the new object for the live one, which is {} if there is none."""

_NAME_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write."""

    entry: Entry
    created: bool = False


async def create(core: Core, call: Call) -> WriteResult:
    """Handle a POST to a resource."""
    options = write_options(call, "CreateOptions")
    obj = decode_object(call, options.field_validation)
    for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        obj["metadata"].pop(name, None)
    objectmeta.ensure_namespace(obj, call.namespace)
    endpoint = managedfields.endpoint_of(core.registry, call.resource)
    managedfields.track_update(
        endpoint, {}, obj, field_manager_of(options, call.user_agent), core.now()
    )
    return WriteResult(await create_object(core, call, obj, options), created=True)


async def create_object(core: Core, call: Call, obj: Draft, options: WriteOptions) -> Entry:
    """Admit, validate and store a new object."""
    resource = call.resource
    if obj["metadata"].get("resourceVersion"):
        raise status.failure(500, "", "resourceVersion should not be set on objects to be created")
    attributes = Attributes(
        call, CREATE, obj, None, options.to_object("CreateOptions"), options.dry_run
    )
    attributes.name = obj["metadata"].get("name") or call.info.name
    await core.admission.mutate(attributes)
    generated = bool(obj["metadata"].get("generateName")) and not obj["metadata"].get("name")
    for attempt in range(_NAME_ATTEMPTS if generated else 1):
        if generated:
            obj["metadata"].pop("name", None)
        objectmeta.fill_system_fields(obj, core.now())
        strategies.prepare_create(resource, obj)
        if resource.builtin is not None:
            preparation.prepare_create(resource.builtin, obj, StoreReader(core))
        if errors := strategies.validate_create(resource, obj, call.warn):
            name = obj["metadata"].get("name") or ""
            raise status.invalid(resource.qualified_kind, name, errors)
        for warning in strategies.warnings(resource, obj, None):
            call.warn(warning)
        attributes.name = obj["metadata"]["name"]
        await core.admission.validate(attributes)
        try:
            return await _store(core, call, obj, None, dry_run=options.dry_run)
        except StaleError as error:
            if generated and attempt < _NAME_ATTEMPTS - 1:
                continue
            raise _already_exists(core, call, obj, generated=generated) from error
    raise status.internal_error("unreachable")


def _already_exists(core: Core, call: Call, obj: Draft, *, generated: bool) -> status.StatusError:
    resource, name = call.resource.qualified, obj["metadata"]["name"]
    error = status.already_exists(resource, name)
    taken = core.collection(call.resource).head(key_of(obj["metadata"].get("namespace", ""), name))
    if taken is not None and taken.decode()["metadata"].get("deletionTimestamp"):
        error.status["message"] = f"object is being deleted: {error.status['message']}"
    if generated:
        error.status["message"] = (
            f"{resource} {gotext.quote(name)} already exists, the server was not able to generate "
            "a unique name for the object"
        )
        error.status["details"]["retryAfterSeconds"] = 1
    return error


async def _store(
    core: Core, call: Call, obj: Draft, expected: Entry | None, *, dry_run: bool
) -> Entry:
    collection = core.collection(call.resource)
    obj = conversion.to_storage(call.resource, obj)
    if not dry_run:
        return await core.store.put(collection, obj, expected)
    metadata = obj["metadata"]
    if collection.head(key_of(metadata.get("namespace", ""), metadata["name"])) is not expected:
        raise StaleError(metadata["name"])
    if expected is None:
        metadata.pop("resourceVersion", None)
    else:
        metadata["resourceVersion"] = str(expected.rv)
    return Entry(obj, encode(obj), core.store.rv, {})


async def update_stored(
    core: Core, call: Call, transform: Transform, options: WriteOptions
) -> None:
    """Update a stored object without admission and validation; retried on conflicts."""
    collection = core.collection(call.resource)
    while True:
        entry = collection.head(call.key)
        if entry is None:
            raise status.not_found(call.resource.qualified, call.info.name)
        obj = transform(entry.decode())
        if options.dry_run:
            return
        try:
            await core.store.put(collection, obj, entry)
        except StaleError:
            continue
        return


async def update(core: Core, call: Call) -> WriteResult:
    """Handle a PUT of an object."""
    options = write_options(call, "UpdateOptions")
    sent = decode_object(call, options.field_validation)
    objectmeta.ensure_namespace(sent, call.namespace)
    check_name(call, sent)
    endpoint = managedfields.endpoint_of(core.registry, call.resource, call.info.subresource)
    manager = field_manager_of(options, call.user_agent)

    def replace(live: Draft) -> Draft:
        new: Draft = _copy(sent)
        managedfields.track_update(endpoint, live, new, manager, core.now())
        return new

    change = GuaranteedUpdate(core, call, options, replace)
    change.allow_create = (
        strategies.allows_create_on_update(call.resource) and not call.info.subresource
    )
    return await change.run(uid=sent["metadata"].get("uid") or "")


def _copy(obj: Draft) -> Draft:
    # A retry must not see the mutations of the first attempt.
    return {**obj, "metadata": dict(obj["metadata"])}


def check_name(call: Call, obj: Draft) -> None:
    """Raise a 400 if the name of the object is not that of the path."""
    name = obj["metadata"].get("name") or ""
    if not name:
        raise status.bad_request(
            f"the name of the object ({call.info.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != call.info.name:
        raise status.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.info.name})"
        )


class GuaranteedUpdate:
    """Replaces an object by its transformation; retried on conflicts."""

    def __init__(self, core: Core, call: Call, options: WriteOptions, transform: Transform) -> None:
        self._core = core
        self._call = call
        self._options = options
        self._transform = transform
        self.allow_create = False

    @property
    def _collection(self) -> Collection:
        return self._core.collection(self._call.resource)

    async def run(self, uid: str = "") -> WriteResult:
        """Update until there is no conflict; `uid` is a precondition, if given."""
        while True:
            entry = self._collection.head(self._call.key)
            try:
                if entry is None:
                    return await self._create(uid)
                return await self._replace(entry, uid)
            except StaleError:
                continue

    async def _create(self, uid: str) -> WriteResult:
        call = self._call
        if not self.allow_create:
            raise status.not_found(call.resource.qualified, call.info.name)
        if uid:
            raise status.conflict(
                call.resource.qualified,
                call.info.name,
                f"uid mismatch: the provided object specified uid {uid}, and no existing object "
                "was found",
            )
        obj = self._transform({})
        obj["metadata"].pop("resourceVersion", None)
        return WriteResult(await create_object(self._core, call, obj, self._options), created=True)

    async def _replace(self, entry: Entry, uid: str) -> WriteResult:
        call, options = self._call, self._options
        live = conversion.decode_as(call.resource, entry)
        if uid and uid != entry.uid:
            why = _uid_mismatch(call, uid, entry)
            raise status.conflict(call.resource.qualified, entry.name, why)
        obj = self._transform(conversion.decode_as(call.resource, entry))
        self._check_version(obj, entry)
        attributes = Attributes(
            call, UPDATE, obj, live, options.to_object("UpdateOptions"), options.dry_run, entry.name
        )
        await self._core.admission.mutate(attributes)
        objectmeta.keep_system_fields(obj, live)
        strategies.prepare_update(call.resource, obj, live, call.info.subresource)
        if call.resource.builtin is not None and not call.info.subresource:
            preparation.prepare_update(call.resource.builtin, obj, live, StoreReader(self._core))
        subresource = call.info.subresource
        if errors := strategies.validate_update(call.resource, obj, live, subresource, call.warn):
            raise status.invalid(call.resource.qualified_kind, entry.name, errors)
        for warning in strategies.warnings(call.resource, obj, live):
            call.warn(warning)
        fieldmanager.ignore_timestamp_changes(live, obj)
        await self._core.admission.validate(attributes)
        return WriteResult(await self._finish(obj, entry))

    def _check_version(self, obj: Draft, entry: Entry) -> None:
        resource = self._call.resource
        given = obj["metadata"].get("resourceVersion") or ""
        if not given or given == "0":
            if not strategies.allows_unconditional_update(resource):
                path = "metadata.resourceVersion"
                error = fielderrors.invalid(path, 0, "must be specified for an update")
                kind = Qualified(resource.group, resource.plural)
                raise status.invalid(kind, entry.name, [error])
            obj["metadata"]["resourceVersion"] = str(entry.rv)
        elif not given.isdigit():
            problem = f"strconv.ParseUint: parsing {gotext.quote(given)}: invalid syntax"
            raise status.failure(500, "", problem)
        elif int(given) != entry.rv:
            raise status.conflict(resource.qualified, entry.name)

    async def _finish(self, obj: Draft, entry: Entry) -> Entry:
        call, dry_run = self._call, self._options.dry_run
        metadata = obj["metadata"]
        removable = is_deletable(metadata) and not strategies.has_spec_finalizers(
            call.resource, obj
        )
        if removable and not dry_run:
            # The last finalizer of a deleted object was removed.
            await self._core.store.remove(self._collection, entry)
            return Entry(obj, encode(obj), entry.rv, {})
        metadata["resourceVersion"] = str(entry.rv)
        stored = conversion.to_storage(call.resource, obj)
        if encode(stored) == entry.data or stored == entry.decode():
            return entry
        return await _store(self._core, call, obj, entry, dry_run=dry_run)


def is_deletable(metadata: Draft) -> bool:
    """Return whether a deleted object has no finalizers and no grace period left."""
    return bool(
        metadata.get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )


def _uid_mismatch(call: Call, uid: str, entry: Entry) -> str:
    resource = call.resource
    place = f"{resource.group}/{resource.plural}" if resource.is_custom else resource.plural
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{place}/{entry.key}, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: "
        f"{uid}, UID in object meta: {entry.uid}"
    )
