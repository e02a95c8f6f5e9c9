"""What a plan may ask for: values that say what to write and what must still hold for it."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from webhook.api.kinds import Kind
from webhook.api.meta import Draft, Object, ObjectKey, Raw

MANAGER = "espalier"
"""The field manager of everything that controllers write."""


class Create(NamedTuple):
    """Make an object whose name the plan chose, so that doing it twice is harmless."""

    kind: Kind
    body: Draft

    @property
    def key(self) -> ObjectKey:
        metadata = self.body["metadata"]
        return ObjectKey(metadata.get("namespace") or "", metadata["name"])


class Patch(NamedTuple):
    """Change an object that still has this uid and, unless it is empty, this resourceVersion."""

    kind: Kind
    key: ObjectKey
    change: Raw | Sequence[Raw]
    """A mapping is a merge patch, a sequence is a JSON patch."""
    uid: str
    version: str = ""
    subresource: str = ""


class Apply(NamedTuple):
    """Own some fields of an object by server-side apply; makes it where it is not there."""

    kind: Kind
    key: ObjectKey
    body: Draft
    subresource: str = ""
    force: bool = True
    manager: str = MANAGER


class Delete(NamedTuple):
    """Delete the object that has this uid, and no later one of its name."""

    kind: Kind
    key: ObjectKey
    uid: str
    version: str = ""
    propagation: Literal["Background", "Foreground", "Orphan"] = "Background"


class Emit(NamedTuple):
    """Tell people what happened to an object, as a Kubernetes Event."""

    kind: Kind
    regarding: Object
    reason: str
    message: str
    type: Literal["Normal", "Warning"] = "Normal"


Write: TypeAlias = Create | Patch | Apply | Delete


class Remote(NamedTuple):
    """Write into another cluster, the one that a kubeconfig leads to."""

    kubeconfig: str
    write: Write
    until_gone: bool = False
    """Whether the rest of the plan waits until the object that is deleted is really gone."""

    @property
    def kind(self) -> Kind:
        return self.write.kind

    @property
    def key(self) -> ObjectKey:
        return self.write.key


Action: TypeAlias = Create | Patch | Apply | Delete | Emit | Remote


class Refusal(NamedTuple):
    """The API server's no to a write: it will be the same until somebody changes something."""

    action: Write
    message: str
    causes: tuple[Raw, ...] = ()


class Measure(NamedTuple):
    """Something to export once the writes of a plan are answered: how late it is, or one more."""

    metric: Literal["edge_lateness", "floors_missing"]
    label: str
    since: datetime | None = None
    """The instant from which lateness counts."""


class Plan(NamedTuple):
    """What to do now, in order, and when to look again.

    `refused` says what to do instead of the rest when a write is refused, usually to tell people
    in a condition. It runs later, so it may keep values but not the snapshot.
    """

    actions: tuple[Action, ...] = ()
    requeue_after: float | None = None
    refused: Callable[[Refusal], Iterable[Action]] | None = None
    again: bool = False
    """Look again after the key's growing delay and not before: a write may not show what it says,
    because somebody else has the last word, and its own event must not hasten the next one."""
    measures: tuple[Measure, ...] = ()


NOTHING = Plan()
