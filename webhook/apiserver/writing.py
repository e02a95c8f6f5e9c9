"""Create and update: from a decoded object to a durable one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from webhook.api import fielderrors, gotext, status
from webhook.api.status import Qualified
from webhook.apiserver import conversion, meta, ownership, strategies
from webhook.apiserver.admission import CREATE, UPDATE, Attributes
from webhook.apiserver.builtin import preparing
from webhook.apiserver.calls import Call, WriteOptions, manager_of, write_options
from webhook.apiserver.collection import Collection
from webhook.apiserver.core import Core
from webhook.apiserver.decoding import decode_object
from webhook.apiserver.entries import Entry, encode, key_of
from webhook.apiserver.fieldownership import tracking
from webhook.apiserver.lookup import Lookup
from webhook.apiserver.storage import StaleError

Object = dict[str, Any]
#: Makes the new object from the live one ({} where there is none).
Transform: TypeAlias = Callable[[Object], Object]

_NAME_TRIES: Final = 8
#: Kinds that a PUT creates, and kinds whose PUT must name a resourceVersion.
_CREATED_BY_PUT: Final = frozenset(
    {
        "endpoints", "events", "limitranges", "services", "leases.coordination.k8s.io",
        "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
    }
)  # fmt: skip
_CONDITIONAL: Final = frozenset(
    {
        "leases.coordination.k8s.io", "poddisruptionbudgets.policy",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Written:
    """What a write answers."""

    entry: Entry
    created: bool = False


async def create(core: Core, call: Call) -> Written:
    """Answer a POST to a resource."""
    options = write_options(call, "CreateOptions")
    obj = decode_object(call, options.field_validation)
    for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        obj["metadata"].pop(name, None)
    meta.settle_namespace(obj, call.namespace)
    where = ownership.endpoint(core.registry, call.resource)
    ownership.updated(where, {}, obj, manager_of(options, call.user_agent), core.now())
    return Written(await create_object(core, call, obj, options), created=True)


async def create_object(core: Core, call: Call, obj: Object, options: WriteOptions) -> Entry:
    """Take a new object through admission and validation into the store."""
    resource = call.resource
    if obj["metadata"].get("resourceVersion"):
        raise status.failure(500, "", "resourceVersion should not be set on objects to be created")
    attributes = Attributes(
        call, CREATE, obj, None, options.to_object("CreateOptions"), options.dry_run
    )
    attributes.name = obj["metadata"].get("name") or call.target.name
    await core.admission.mutate(attributes)
    generated = bool(obj["metadata"].get("generateName")) and not obj["metadata"].get("name")
    for attempt in range(_NAME_TRIES if generated else 1):
        if generated:
            obj["metadata"].pop("name", None)
        meta.fill_system_fields(obj, core.now())
        strategies.prepare_create(resource, obj)
        if resource.builtin is not None:
            preparing.create(resource.builtin, obj, Lookup(core))
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
            if generated and attempt < _NAME_TRIES - 1:
                continue
            raise _exists(core, call, obj, generated=generated) from error
    raise status.internal_error("unreachable")


def _exists(core: Core, call: Call, obj: Object, *, generated: bool) -> status.StatusError:
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
    core: Core, call: Call, obj: Object, expected: Entry | None, *, dry_run: bool
) -> Entry:
    collection = core.collection(call.resource)
    obj = conversion.to_store(call.resource, obj)
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


async def rewrite(core: Core, call: Call, transform: Transform, options: WriteOptions) -> None:
    """Change a stored object from the inside: nobody is asked, only the version is checked."""
    collection = core.collection(call.resource)
    while True:
        entry = collection.head(call.key)
        if entry is None:
            raise status.not_found(call.resource.qualified, call.target.name)
        obj = transform(entry.decode())
        if options.dry_run:
            return
        try:
            await core.store.put(collection, obj, entry)
        except StaleError:
            continue
        return


async def update(core: Core, call: Call) -> Written:
    """Answer a PUT to an object."""
    options = write_options(call, "UpdateOptions")
    sent = decode_object(call, options.field_validation)
    meta.settle_namespace(sent, call.namespace)
    check_name(call, sent)
    where = ownership.endpoint(core.registry, call.resource, call.target.subresource)
    manager = manager_of(options, call.user_agent)

    def replace(live: Object) -> Object:
        new: Object = _copy(sent)
        ownership.updated(where, live, new, manager, core.now())
        return new

    change = Change(core, call, options, replace)
    change.allow_create = call.resource.storage in _CREATED_BY_PUT and not call.target.subresource
    return await change.run(uid=sent["metadata"].get("uid") or "")


def _copy(obj: Object) -> Object:
    # A retry must not see what admission made of the object the first time.
    return {**obj, "metadata": dict(obj["metadata"])}


def check_name(call: Call, obj: Object) -> None:
    """Refuse an object that is not the one that the path names."""
    name = obj["metadata"].get("name") or ""
    if not name:
        raise status.bad_request(
            f"the name of the object ({call.target.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != call.target.name:
        raise status.bad_request(
            f"the name of the object ({name}) does not match the name on the URL "
            f"({call.target.name})"
        )


class Change:
    """Replace an object by what `transform` makes of it, again if it changed meanwhile."""

    def __init__(self, core: Core, call: Call, options: WriteOptions, transform: Transform) -> None:
        self._core = core
        self._call = call
        self._options = options
        self._transform = transform
        self.allow_create = False

    @property
    def _collection(self) -> Collection:
        return self._core.collection(self._call.resource)

    async def run(self, uid: str = "") -> Written:
        """Try until nobody interferes; `uid` is that of the only object that may be meant."""
        while True:
            entry = self._collection.head(self._call.key)
            try:
                if entry is None:
                    return await self._create(uid)
                return await self._replace(entry, uid)
            except StaleError:
                continue

    async def _create(self, uid: str) -> Written:
        call = self._call
        if not self.allow_create:
            raise status.not_found(call.resource.qualified, call.target.name)
        if uid:
            raise status.conflict(
                call.resource.qualified,
                call.target.name,
                f"uid mismatch: the provided object specified uid {uid}, and no existing object "
                "was found",
            )
        obj = self._transform({})
        obj["metadata"].pop("resourceVersion", None)
        return Written(await create_object(self._core, call, obj, self._options), created=True)

    async def _replace(self, entry: Entry, uid: str) -> Written:
        call, options = self._call, self._options
        live = conversion.decoded(call.resource, entry)
        if uid and uid != entry.uid:
            why = _uid_mismatch(call, uid, entry)
            raise status.conflict(call.resource.qualified, entry.name, why)
        obj = self._transform(conversion.decoded(call.resource, entry))
        self._check_version(obj, entry)
        attributes = Attributes(
            call, UPDATE, obj, live, options.to_object("UpdateOptions"), options.dry_run, entry.name
        )
        await self._core.admission.mutate(attributes)
        meta.carry_over(obj, live)
        strategies.prepare_update(call.resource, obj, live, call.target.subresource)
        if call.resource.builtin is not None and not call.target.subresource:
            preparing.update(call.resource.builtin, obj, live, Lookup(self._core))
        part = call.target.subresource
        if errors := strategies.validate_update(call.resource, obj, live, part, call.warn):
            raise status.invalid(call.resource.qualified_kind, entry.name, errors)
        for warning in strategies.warnings(call.resource, obj, live):
            call.warn(warning)
        tracking.keep_times(live, obj)
        await self._core.admission.validate(attributes)
        return Written(await self._finish(obj, entry))

    def _check_version(self, obj: Object, entry: Entry) -> None:
        resource = self._call.resource
        given = obj["metadata"].get("resourceVersion") or ""
        if not given or given == "0":
            if resource.is_custom or resource.storage in _CONDITIONAL:
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

    async def _finish(self, obj: Object, entry: Entry) -> Entry:
        call, dry_run = self._call, self._options.dry_run
        metadata = obj["metadata"]
        ended = is_finished(metadata) and not strategies.outlives(call.resource, obj)
        if ended and not dry_run:
            # The last finalizer is gone, which is what the deletion was waiting for.
            await self._core.store.remove(self._collection, entry)
            return Entry(obj, encode(obj), entry.rv, {})
        metadata["resourceVersion"] = str(entry.rv)
        stored = conversion.to_store(call.resource, obj)
        if encode(stored) == entry.data or stored == entry.decode():
            return entry
        return await _store(self._core, call, obj, entry, dry_run=dry_run)


def is_finished(metadata: Object) -> bool:
    """Tell whether an object that is being deleted has nothing left to wait for."""
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
