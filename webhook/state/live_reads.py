"""Reads of the API server that a decision needs besides the cache, and the loop around them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from webhook.api.kinds import Kind
from webhook.kube.meta import Object, ObjectKey


class ReviewedUser(Protocol):
    """The user behind a request, as in a SubjectAccessReview."""

    @property
    def username(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def groups(self) -> tuple[str, ...]: ...
    @property
    def extra(self) -> Mapping[str, tuple[str, ...]]: ...


class LiveGet(NamedTuple):
    """Gets one object."""

    model: type[Object]
    key: ObjectKey


class LiveList(NamedTuple):
    """Lists the objects with a label in a namespace, of a kind that is not watched as a whole."""

    model: type[Object]
    namespace: str
    label: str
    value: str

    def matches(self, obj: Object) -> bool:
        """Return whether an object belongs to the list."""
        return (
            isinstance(obj, self.model)
            and obj.namespace == self.namespace
            and obj.metadata.labels.get(self.label) == self.value
        )


class AccessReview(NamedTuple):
    """Checks whether a user may do something; has the attributes of a SubjectAccessReview."""

    username: str
    uid: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str


class RemoteGet(NamedTuple):
    """Gets one object of another cluster, given by its kubeconfig."""

    kubeconfig: str
    kind: Kind
    key: ObjectKey


@dataclass(frozen=True, slots=True)
class Unreachable:
    """The result of a `RemoteGet` from a cluster that did not answer it, and why not."""

    reason: str


LiveRead: TypeAlias = LiveGet | LiveList | AccessReview | RemoteGet
LiveResult: TypeAlias = Object | tuple[Object, ...] | Unreachable | bool | None
LiveResults: TypeAlias = Mapping[LiveRead, LiveResult]
"""The object of a `LiveGet` (None if it does not exist), the objects of a `LiveList`, and for an
`AccessReview` whether it is allowed. A `RemoteGet` that fails is `Unreachable`: another cluster may
be down for long, and the decision has to go on without it."""


T = TypeVar("T")


class MissingReads(NamedTuple):
    """Live reads without whose results there is no value yet."""

    live_reads: Sequence[LiveRead]


class ReadChainError(Exception):
    """The results of live reads led to further live reads too often."""


async def evaluate_with_reads(
    evaluate: Callable[[LiveResults], T | MissingReads],
    read: Callable[[Sequence[LiveRead]], Awaitable[LiveResults]],
    rounds: int,
) -> T:
    """Evaluate until no live read is missing, at most `rounds` times; nothing is read twice.

    The result of one read may lead to the next one: a binding, for example, to its quotas.
    """
    results: LiveResults = {}
    for left in reversed(range(rounds)):
        outcome = evaluate(results)
        if not isinstance(outcome, MissingReads):
            return outcome
        if left:
            results = {**results, **await read(outcome.live_reads)}
    raise ReadChainError
