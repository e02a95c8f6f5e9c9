"""The read-only view of the cluster state, at one instant, that one decision gets."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Self, TypeVar, cast

import msgspec

from webhook.api.decode import MalformedField
from webhook.api.kinds import KINDS, Kind
from webhook.domain.options import Options
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.state.cluster_state import ClusterState
from webhook.state.indexes import CHILDREN_BY_OWNER, Index
from webhook.state.live_reads import (
    AccessReview,
    LiveGet,
    LiveList,
    LiveRead,
    LiveResults,
    RemoteGet,
    ReviewedUser,
    Unreachable,
)
from webhook.state.totals import Total, Vector

T = TypeVar("T", bound=Object)

# A fixed day, so that decisions without a cluster do not depend on the current time.
_DEFAULT_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)
_NO_MODELS: Final[frozenset[type[Object]]] = frozenset()


class StaleSnapshotError(RuntimeError):
    """Raised when a snapshot is used after the turn of the event loop that it was taken in."""

    def __init__(self) -> None:
        super().__init__(
            "the snapshot has expired: decide without awaiting, or take a fresh one afterwards"
        )


class _Expired:
    """Replaces the state of an expired snapshot; every use raises."""

    def __getattr__(self, _name: str) -> Any:
        raise StaleSnapshotError

    def __contains__(self, _model: type[Object]) -> bool:
        raise StaleSnapshotError


_EXPIRED: Final = cast("ClusterState", _Expired())


class Snapshot:
    """The cluster as the cache holds it right now.

    A snapshot is a view, not a copy: it is consistent because nothing else runs while a decision
    is made. The cache schedules `expire` for the next turn of the event loop, so that any use
    across an `await` raises instead of mixing two states.

    A kind is stale when its watch has been lost for a while, and unserved when the API server
    does not serve it. Reads of stale kinds return what was seen last and are recorded in
    `stale_reads`: callers must not refuse anything on their account.
    """

    def __init__(
        self,
        state: ClusterState,
        taken_at: datetime,
        *,
        live_results: LiveResults | None = None,
        stale: frozenset[type[Object]] = _NO_MODELS,
        unserved: frozenset[type[Object]] = _NO_MODELS,
    ) -> None:
        self.taken_at = taken_at
        self.options: Options = state.options
        self._state = state
        self._live_results = live_results or {}
        self._stale = stale
        self._unserved = unserved
        self._live_reads: dict[LiveRead, None] = {}
        self._stale_reads: dict[type[Object], None] = {}

    @classmethod
    def of(
        cls,
        objects: Iterable[Object] = (),
        *,
        taken_at: datetime = _DEFAULT_TIME,
        options: Options | None = None,
        live_results: LiveResults | None = None,
        stale: Iterable[type[Object]] = (),
        unserved: Iterable[type[Object]] = (),
    ) -> Self:
        """Build a snapshot from plain objects, for tests and for files; it does not expire."""
        known = [*objects]
        models = {*(kind.model for kind in KINDS), *(type(obj) for obj in known)}
        state = ClusterState(models, options=options)
        for obj in known:
            state.store(type(obj)).put(obj.key, obj, msgspec.json.encode(obj))
        return cls(
            state,
            taken_at,
            live_results=live_results,
            stale=frozenset(stale),
            unserved=frozenset(unserved),
        )

    def expire(self) -> None:
        """Make every later use raise."""
        self._state = _EXPIRED

    @property
    def live_reads(self) -> Sequence[LiveRead]:
        """The live reads whose results the decision needs, in the order in which it missed them."""
        return [*self._live_reads]

    @property
    def stale_reads(self) -> Collection[type[Object]]:
        """The stale kinds that were read in a way that no live read replaces."""
        return self._stale_reads.keys()

    def get(self, model: type[T], key: ObjectKey) -> T | None:
        """Return an object as last seen, or as last written by us."""
        return self._state.get(model, key)

    def get_counting_stale(self, model: type[T], key: ObjectKey) -> T | None:
        """Return an object as `get` does, and record the read if its kind is stale."""
        return self._state_of(model).get(model, key)

    def list(self, model: type[T]) -> Collection[T]:
        return self._state_of(model).store(model).list()

    def by_index(self, index: Index[T], value: str) -> tuple[T, ...]:
        state = self._state_of(index.model) if self._stale else self._state
        return state.by_index(index, value)

    def has(self, index: Index[T], value: str) -> bool:
        """Return whether `by_index` would find anything, in constant time."""
        return self._state_of(index.model).has(index, value)

    def children(self, model: type[T], owner: Object) -> tuple[T, ...]:
        """Return the objects of a kind with an owner reference to another object."""
        store = self._state_of(model).store(model)
        return store.by_index(CHILDREN_BY_OWNER.name, owner.uid) if owner.uid else ()

    def total(self, total: Total[T], group: str) -> Vector:
        """Return the sum of a group; an empty mapping for a group without objects."""
        state = self._state_of(total.model) if self._stale else self._state
        return state.total(total, group)

    def contribution(self, total: Total[T], key: ObjectKey) -> Vector:
        """Return what one object adds to the sums of its groups; nothing if it does not exist."""
        return self._state_of(total.model).contribution(total, key)

    def totals(self, total: Total[T]) -> Mapping[str, Vector]:
        """Return the sums of all groups; a sum that changes is a new object."""
        return self._state_of(total.model).all_totals(total)

    def raw(self, model: type[Object], key: ObjectKey) -> Draft | None:
        """Return a copy of a whole object, to be edited and written back."""
        raw = self._state.store(model).raw(key)
        return None if raw is None else _decode(raw)

    def malformed(self, model: type[Object]) -> Mapping[ObjectKey, tuple[MalformedField, ...]]:
        """Return the objects of a kind that exist but do not decode, and why."""
        return self._state.store(model).malformed

    def is_stale(self, model: type[Object]) -> bool:
        """Return whether a kind's watch has been lost for a while or never started."""
        return model in self._stale

    def serves(self, *models: type[Object]) -> bool:
        """Return whether the API server serves all of these kinds."""
        return self._unserved.isdisjoint(models)

    def watches(self, model: type[Object]) -> bool:
        """Return whether a kind is watched at all; reading one that is not raises."""
        return model in self._state

    def look_up(self, model: type[T], key: ObjectKey) -> T | None:
        """Return an object, and request a live read if it is absent or its kind is stale.

        With the results of the live reads, None means that the object does not exist.
        """
        find = self._state.find
        if not self._live_results and not self._stale:
            found = find(model, key)
            if found is not None:
                return found
        live_read = LiveGet(model, key)
        if live_read in self._live_results:
            result = self._live_results[live_read]
            return result if isinstance(result, model) else None
        known = find(model, key) if model not in self._stale else None
        if known is None:
            self._live_reads[live_read] = None
        return known

    def look_up_remote(
        self, kubeconfig: str, kind: Kind, key: ObjectKey
    ) -> Object | Unreachable | None:
        """Return an object of another cluster; None, with a live read, until that is known."""
        self._state.models  # noqa: B018 - raises if the snapshot has expired
        live_read = RemoteGet(kubeconfig, kind, key)
        if live_read not in self._live_results:
            self._live_reads[live_read] = None
        result = self._live_results.get(live_read)
        return result if isinstance(result, Object | Unreachable) else None

    def find(self, model: type[T], namespace: str, label: str, value: str) -> tuple[T, ...]:
        """Return the objects with a label, of a kind that is not watched as a whole."""
        self._state.models  # noqa: B018 - raises if the snapshot has expired
        live_read = LiveList(model, namespace, label, value)
        result = self._live_results.get(live_read)
        if isinstance(result, tuple):
            return tuple(obj for obj in result if isinstance(obj, model))
        self._live_reads[live_read] = None
        return ()

    def is_allowed(  # noqa: PLR0913 - the attributes of a SubjectAccessReview
        self,
        user: ReviewedUser,
        verb: str,
        group: str,
        resource: str,
        *,
        subresource: str = "",
        namespace: str = "",
        name: str = "",
    ) -> bool:
        """Return whether a user may do something; False, with a live read, until that is known."""
        self._state.models  # noqa: B018 - raises if the snapshot has expired
        extra = tuple(sorted((key, tuple(values)) for key, values in user.extra.items()))
        live_read = AccessReview(
            user.username,
            user.uid,
            tuple(user.groups),
            extra,
            verb,
            group,
            resource,
            subresource,
            namespace,
            name,
        )
        if live_read not in self._live_results:
            self._live_reads[live_read] = None
        return self._live_results.get(live_read) is True

    def _state_of(self, model: type[Object]) -> ClusterState:
        if model in self._stale:
            self._stale_reads[model] = None
        return self._state


def _decode(raw: bytes) -> Draft:
    draft: dict[str, Any] = msgspec.json.decode(raw)
    return draft
