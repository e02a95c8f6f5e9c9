"""The dated, read-only view of memory that one decision gets."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Self, TypeVar, cast

import msgspec

from webhook.api.decode import Fault
from webhook.api.kinds import KINDS
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.domain.options import Options
from webhook.state.indexes import CHILDREN_BY_OWNER, Index
from webhook.state.memory import Memory
from webhook.state.questions import Answers, Find, Get, MayI, Question, User
from webhook.state.totals import Total, Vector

T = TypeVar("T", bound=Object)

# A fixed day, so that what is judged without a cluster does not depend on when.
_ONCE: Final = datetime(2026, 1, 1, tzinfo=UTC)
_NO_MODELS: Final[frozenset[type[Object]]] = frozenset()


class StaleSnapshotError(RuntimeError):
    """Raised when a snapshot is used after the turn of the loop that it was taken in."""

    def __init__(self) -> None:
        super().__init__(
            "the snapshot has expired: decide without awaiting, or take a fresh one afterwards"
        )


class _Expired:
    """Stands where memory was, and refuses every use."""

    def __getattr__(self, _name: str) -> Any:
        raise StaleSnapshotError

    def __contains__(self, _model: type[Object]) -> bool:
        raise StaleSnapshotError


_EXPIRED: Final = cast("Memory", _Expired())


class Snapshot:
    """Show the cluster as it is remembered right now.

    It is a view and no copy: it is right because nothing else runs while a decision is made.
    Whoever makes one schedules `expire` for the next turn of the loop, so that any use across
    an `await` raises instead of mixing two states.

    A kind is stale when its watch has been lost for a while, and unserved when the API server
    does not have it. Reads of stale kinds work on what was seen last, and are noted in
    `stale_reads` for the edge, which must not refuse anything on such grounds.
    """

    def __init__(
        self,
        memory: Memory,
        taken_at: datetime,
        *,
        answers: Answers | None = None,
        stale: frozenset[type[Object]] = _NO_MODELS,
        unserved: frozenset[type[Object]] = _NO_MODELS,
    ) -> None:
        self.taken_at = taken_at
        self.options: Options = memory.options
        self._memory = memory
        self._answers = answers or {}
        self._stale = stale
        self._unserved = unserved
        self._questions: dict[Question, None] = {}
        self._stale_reads: dict[type[Object], None] = {}

    @classmethod
    def of(
        cls,
        objects: Iterable[Object] = (),
        *,
        taken_at: datetime = _ONCE,
        options: Options | None = None,
        answers: Answers | None = None,
        stale: Iterable[type[Object]] = (),
        unserved: Iterable[type[Object]] = (),
    ) -> Self:
        """Build one from plain objects, for tests and for judging files; it does not expire."""
        known = [*objects]
        models = {*(kind.model for kind in KINDS), *(type(obj) for obj in known)}
        memory = Memory(models, options=options)
        for obj in known:
            memory.store(type(obj)).put(obj.key, obj, msgspec.json.encode(obj))
        return cls(
            memory,
            taken_at,
            answers=answers,
            stale=frozenset(stale),
            unserved=frozenset(unserved),
        )

    def expire(self) -> None:
        """Refuse every later use."""
        self._memory = _EXPIRED

    @property
    def questions(self) -> Sequence[Question]:
        """What the decision would have to know besides, in the order it was missed."""
        return [*self._questions]

    @property
    def stale_reads(self) -> Collection[type[Object]]:
        """The stale kinds that were relied on in a way that no live read can stand in for."""
        return self._stale_reads.keys()

    def get(self, model: type[T], key: ObjectKey) -> T | None:
        """Give an object as it was last seen or written by us."""
        return self._memory.get(model, key)

    def rely_on(self, model: type[T], key: ObjectKey) -> T | None:
        """Give an object for a decision that cannot ask: one on a stale kind is noted as such."""
        return self._memory_of(model).get(model, key)

    def list(self, model: type[T]) -> Collection[T]:
        return self._memory_of(model).store(model).list()

    def by_index(self, index: Index[T], value: str) -> tuple[T, ...]:
        memory = self._memory_of(index.model) if self._stale else self._memory
        return memory.by_index(index, value)

    def has(self, index: Index[T], value: str) -> bool:
        """Tell whether `by_index` would give anything, without gathering it."""
        return self._memory_of(index.model).has(index, value)

    def children(self, model: type[T], owner: Object) -> tuple[T, ...]:
        """List the objects of a kind that belong to another object."""
        store = self._memory_of(model).store(model)
        return store.by_index(CHILDREN_BY_OWNER.name, owner.uid) if owner.uid else ()

    def total(self, total: Total[T], group: str) -> Vector:
        """Give what the objects of a group use together; a group without any uses nothing."""
        memory = self._memory_of(total.model) if self._stale else self._memory
        return memory.total(total, group)

    def share(self, total: Total[T], key: ObjectKey) -> Vector:
        """Give what one object adds to the sums of its groups; one that is not there adds none."""
        return self._memory_of(total.model).share(total, key)

    def totals(self, total: Total[T]) -> Mapping[str, Vector]:
        """Give what the objects of every group use; a sum that has changed is another object."""
        return self._memory_of(total.model).all_totals(total)

    def raw(self, model: type[Object], key: ObjectKey) -> Draft | None:
        """Give a copy of a whole object, to be edited and written back."""
        raw = self._memory.store(model).raw(key)
        return None if raw is None else _decode(raw)

    def malformed(self, model: type[Object]) -> Mapping[ObjectKey, tuple[Fault, ...]]:
        """Name the objects of a kind that exist but do not decode, and why."""
        return self._memory.store(model).malformed

    def is_stale(self, model: type[Object]) -> bool:
        """Say whether a kind's watch has been lost for a while or never came up."""
        return model in self._stale

    def serves(self, *models: type[Object]) -> bool:
        """Say whether the API server has all of some kinds."""
        return self._unserved.isdisjoint(models)

    def watches(self, model: type[Object]) -> bool:
        """Say whether a kind is in memory at all; reading one that is not raises."""
        return model in self._memory

    def look_up(self, model: type[T], key: ObjectKey) -> T | None:
        """Give an object; one that is not there, or may be outdated, is asked for.

        In the second round, with the answers, None means that it truly does not exist.
        """
        find = self._memory.find
        if not self._answers and not self._stale:
            found = find(model, key)
            if found is not None:
                return found
        question = Get(model, key)
        if question in self._answers:
            answer = self._answers[question]
            return answer if isinstance(answer, model) else None
        known = find(model, key) if model not in self._stale else None
        if known is None:
            self._questions[question] = None
        return known

    def find(self, model: type[T], namespace: str, label: str, value: str) -> tuple[T, ...]:
        """Give the objects that carry a label, of a kind that memory does not hold as a whole."""
        self._memory.models  # noqa: B018 - an expired snapshot answers nothing
        question = Find(model, namespace, label, value)
        answer = self._answers.get(question)
        if isinstance(answer, tuple):
            return tuple(obj for obj in answer if isinstance(obj, model))
        self._questions[question] = None
        return ()

    def may(  # noqa: PLR0913 - the attributes of a SubjectAccessReview
        self,
        user: User,
        verb: str,
        group: str,
        resource: str,
        *,
        subresource: str = "",
        namespace: str = "",
        name: str = "",
    ) -> bool:
        """Say whether a user may do something; no, and a question, as long as nobody knows."""
        self._memory.models  # noqa: B018 - an expired snapshot answers nothing
        extra = tuple(sorted((key, tuple(values)) for key, values in user.extra.items()))
        question = MayI(
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
        if question not in self._answers:
            self._questions[question] = None
        return self._answers.get(question) is True

    def _memory_of(self, model: type[Object]) -> Memory:
        if model in self._stale:
            self._stale_reads[model] = None
        return self._memory


def _decode(raw: bytes) -> Draft:
    draft: dict[str, Any] = msgspec.json.decode(raw)
    return draft
