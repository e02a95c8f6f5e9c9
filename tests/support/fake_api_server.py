"""The fake API server of tests: objects with versions in memory, and an event for every change.

It keeps the rules that controllers rely on: versions, preconditions, generations, subresources,
finalizers and, roughly, which field manager owns what. `fake_cluster` has the client and the cache
of a process over it.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tests.support.clocks import FakeClock
from webhook.cluster.errors import AlreadyExistsError, ConflictError, InvalidError, NotFoundError
from webhook.domain.options import Options
from webhook.kube import patches
from webhook.kube.meta import Draft, Object, ObjectKey, Raw
from webhook.kube.timestamps import format_time
from webhook.state.snapshot import Snapshot

SUCCESS: Draft = {"kind": "Status", "status": "Success"}


class WatchEvent(NamedTuple):
    """A change of an object; a deleted one has no body."""

    model: type[Object]
    key: ObjectKey
    body: Draft | None


class FakeApiServer:
    """Stores objects by model and key.

    `put`, `change` and `drop` are for tests and bypass the rules; the verbs are for clients.
    """

    def __init__(self, clock: FakeClock | None = None) -> None:
        self.objects: dict[tuple[type[Object], ObjectKey], Draft] = {}
        self.events: list[WatchEvent] = []
        self.watchers: list[Callable[[], None]] = []
        """Called after every event."""
        self.validate: Callable[[type[Object], Draft], str | None] = lambda _model, _body: None
        """Why an object that a client writes is invalid, if it is, as `FIELD: MESSAGE`."""
        self._clock = clock
        self._applied: dict[tuple[type[Object], ObjectKey, str], Draft] = {}

    @property
    def version(self) -> int:
        return len(self.events)

    # What a test does.

    def put(self, model: type[Object], body: Raw) -> Draft:
        """Store an object as it is, under a new version."""
        metadata = dict(body["metadata"])
        number = self.version + 1
        metadata.setdefault("uid", f"uid-{number}")
        metadata.setdefault("creationTimestamp", self._created_at(number))
        metadata.setdefault("generation", 1)
        obj = {**body, "metadata": {**metadata, "resourceVersion": str(number)}}
        self._record(model, key_of(obj), obj)
        return obj

    def change(self, model: type[Object], key: ObjectKey, change: Raw) -> Draft:
        """Merge a patch into an object, whatever its parts; it may have preconditions."""
        old = self.find(model, key)
        new = _patched(old, change)
        return self.put(model, self._with_generation(model, old, new))

    def copy_from(self, other: "FakeApiServer") -> None:
        """Store all objects of another server, with their uids."""
        self._applied = copy.deepcopy(other._applied)
        for (model, _key), body in other.objects.items():
            self.put(model, copy.deepcopy(body))

    def drop(self, model: type[Object], key: ObjectKey) -> None:
        """Remove an object, whatever its finalizers."""
        self._record(model, key, None)

    def find(self, model: type[Object], key: ObjectKey) -> Draft:
        try:
            return self.objects[model, key]
        except KeyError:
            details = {"name": key.name}
            raise NotFoundError(404, "NotFound", f"{key} not found", details) from None

    def bodies(self, model: type[Object]) -> list[Draft]:
        return [body for (found, _), body in self.objects.items() if found is model]

    def read(self, model: type[Object]) -> list[Any]:
        """Decode all objects of a kind."""
        return [msgspec.convert(body, model, strict=False) for body in self.bodies(model)]

    def snapshot(self, models: Sequence[type[Object]], options: Options, at: FakeClock) -> Snapshot:
        """Return a snapshot of what is stored, without the lag of any cache."""
        objects = [obj for model in models for obj in self.read(model)]
        return Snapshot.of(objects, options=options, taken_at=at.now())

    # What a client does.

    def create(self, model: type[Object], key: ObjectKey, draft: Raw) -> Draft:
        if (model, key) in self.objects:
            raise AlreadyExistsError(409, "AlreadyExists", f"{key} exists")
        return self._create(model, key, draft)

    def update(
        self, model: type[Object], key: ObjectKey, draft: Raw, subresource: str = ""
    ) -> Draft:
        """Replace an object; the version is a precondition."""
        old = self.find(model, key)
        if draft["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "resourceVersion differs")
        metadata = {**draft["metadata"], "uid": old["metadata"]["uid"]}
        return self._replace(model, old, {**draft, "metadata": metadata}, subresource)

    def patch(
        self,
        model: type[Object],
        key: ObjectKey,
        change: Raw | Sequence[Raw],
        subresource: str = "",
    ) -> Draft:
        """Apply a merge patch or a JSON patch; a uid and a version in it are preconditions."""
        old = self.find(model, key)
        return self._replace(model, old, _patched(old, change), subresource)

    def apply(
        self, model: type[Object], key: ObjectKey, draft: Raw, manager: str, subresource: str = ""
    ) -> Draft:
        """Apply on the server side: fields that the manager applied before and omits now go.

        A version is a precondition.
        """
        before = self._applied.get((model, key, manager), {})
        old = self.objects.get((model, key))
        version = draft["metadata"].get("resourceVersion") if "metadata" in draft else None
        if version:
            if old is None or old["metadata"]["resourceVersion"] != version:
                raise ConflictError(409, "Conflict", "resourceVersion differs")
            unversioned = {k: v for k, v in draft["metadata"].items() if k != "resourceVersion"}
            draft = {**draft, "metadata": unversioned}
        self._applied[model, key, manager] = copy.deepcopy(dict(draft))
        if old is None:
            return self._create(model, key, draft)
        kept = _without(old, before, draft)
        new: Draft = patches.merge(kept, dict(draft))
        for name, by in (("finalizers", None), ("ownerReferences", "uid")):
            some = kept["metadata"].get(name) or []
            more = draft.get("metadata", {}).get(name) or []
            if some or more:
                new["metadata"][name] = _union(some, more, by)
        return self._replace(model, old, new, subresource)

    def delete(
        self, model: type[Object], key: ObjectKey, uid: str = "", version: str = ""
    ) -> Draft:
        """Delete an object, or mark it as terminating while it has finalizers."""
        old = self.find(model, key)
        metadata = old["metadata"]
        if uid and uid != metadata["uid"]:
            raise ConflictError(409, "Conflict", "uid differs")
        if version and version != metadata["resourceVersion"]:
            raise ConflictError(409, "Conflict", "resourceVersion differs")
        if not metadata.get("finalizers"):
            self.drop(model, key)
            return dict(SUCCESS)
        if metadata.get("deletionTimestamp"):
            return old
        terminating = {
            "deletionTimestamp": self._created_at(self.version),
            "generation": metadata.get("generation", 0) + 1,
        }
        return self.put(model, {**copy.deepcopy(old), "metadata": {**metadata, **terminating}})

    def raises_generation(self, model: type[Object], old: Draft, new: Draft) -> bool:
        """Return whether a write raises the generation; `new` may still be changed here."""
        return bool(new.get("spec") != old.get("spec"))

    def _create(self, model: type[Object], key: ObjectKey, draft: Raw) -> Draft:
        namespace = {"namespace": key.namespace} if key.namespace else {}
        metadata = {"name": key.name, **namespace, **draft.get("metadata", {})}
        new = {**copy.deepcopy(dict(draft)), "metadata": metadata}
        self._check(model, new)
        return self.put(model, new)

    def _check(self, model: type[Object], new: Draft) -> None:
        message = self.validate(model, new)
        if message:
            causes = [{"field": message.partition(":")[0], "message": message.partition(": ")[2]}]
            raise InvalidError(422, "Invalid", message, {"causes": causes})

    def _replace(self, model: type[Object], old: Draft, new: Draft, subresource: str = "") -> Draft:
        if subresource == "status":
            new = {**old, "status": new.get("status") or {}}
        else:
            status = {"status": old["status"]} if "status" in old else {}
            new = {**{name: new[name] for name in new if name != "status"}, **status}
        if new == old:
            return old
        if subresource != "status":
            self._check(model, new)
            new = self._with_generation(model, old, new)
        metadata = new["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self.drop(model, key_of(old))
            return dict(SUCCESS)
        return self.put(model, new)

    def _with_generation(self, model: type[Object], old: Draft, new: Draft) -> Draft:
        if self.raises_generation(model, old, new):
            generation = old["metadata"].get("generation", 0) + 1
            new["metadata"] = {**new["metadata"], "generation": generation}
        return new

    def _created_at(self, number: int) -> str:
        if self._clock is not None:
            return format_time(self._clock.now())
        return f"2026-01-01T00:00:{number % 60:02}Z"

    def _record(self, model: type[Object], key: ObjectKey, body: Draft | None) -> None:
        if body is None:
            del self.objects[model, key]
        else:
            self.objects[model, key] = body
        self.events.append(WatchEvent(model, key, body))
        for watcher in self.watchers:
            watcher()


def key_of(body: Raw) -> ObjectKey:
    return ObjectKey(body["metadata"].get("namespace", ""), body["metadata"]["name"])


def _patched(old: Draft, change: Raw | Sequence[Raw]) -> Draft:
    new: Any
    if isinstance(change, Mapping):
        new = patches.merge(old, dict(change))
    else:
        new = patches.apply(old, [dict(operation) for operation in change])
    for name in ("uid", "resourceVersion"):
        if new["metadata"][name] != old["metadata"][name]:
            raise ConflictError(409, "Conflict", f"{name} differs")
    patched: Draft = new
    return patched


def _without(old: Any, before: Any, now: Any) -> Any:
    """Remove from an object what a manager applied before and no longer does."""
    if not (isinstance(old, dict) and isinstance(before, dict) and isinstance(now, Mapping)):
        return old
    result = {}
    for key, value in old.items():
        if key in before and key not in now:
            continue
        result[key] = _without(value, before.get(key), now.get(key)) if key in now else value
    return result


def _union(some: list[Any], more: list[Any], by: str | None) -> list[Any]:
    def key(each: Any) -> Any:
        return each[by] if by else each

    fresh = [key(each) for each in more]
    return [each for each in some if key(each) not in fresh] + more
