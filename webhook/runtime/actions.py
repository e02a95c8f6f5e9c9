"""The actions of a plan, as values: what to write, and the preconditions of each write."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.event_reasons import Reason
from webhook.api.kinds import Kind
from webhook.kube.meta import Draft, Object, ObjectKey, Raw

FIELD_MANAGER: Final = names.FIELD_MANAGER
"""The field manager of everything that controllers write."""


class Create(NamedTuple):
    """Create an object; the plan chooses its name, so that creating it twice is harmless."""

    kind: Kind
    body: Draft

    @property
    def key(self) -> ObjectKey:
        metadata = self.body["metadata"]
        return ObjectKey(metadata.get("namespace") or "", metadata["name"])


class Patch(NamedTuple):
    """Patch an object, if it still has this uid and, unless empty, this resourceVersion."""

    kind: Kind
    key: ObjectKey
    change: Raw | Sequence[Raw]
    """A mapping for a merge patch, a sequence for a JSON patch."""
    uid: str
    version: str = ""
    subresource: str = ""


class Apply(NamedTuple):
    """Own fields of an object by server-side apply; creates the object if it does not exist."""

    kind: Kind
    key: ObjectKey
    body: Draft
    subresource: str = ""
    force: bool = True
    manager: str = FIELD_MANAGER


class Delete(NamedTuple):
    """Delete the object that has this uid, and no later object of the same name."""

    kind: Kind
    key: ObjectKey
    uid: str
    version: str = ""
    propagation: Literal["Background", "Foreground", "Orphan"] = "Background"


class Emit(NamedTuple):
    """Record a Kubernetes Event about an object."""

    kind: Kind
    regarding: Object
    reason: Reason
    message: str
    type: Literal["Normal", "Warning"] = "Normal"


Write: TypeAlias = Create | Patch | Apply | Delete


class RemoteWrite(NamedTuple):
    """A write to another cluster, given by its kubeconfig."""

    kubeconfig: str
    write: Write
    until_gone: bool = False
    """Whether the rest of the plan waits until the deleted object is gone."""

    @property
    def kind(self) -> Kind:
        return self.write.kind

    @property
    def key(self) -> ObjectKey:
        return self.write.key


Action: TypeAlias = Create | Patch | Apply | Delete | Emit | RemoteWrite


class WriteRefusal(NamedTuple):
    """A write that the API server refused; it would refuse a repetition, too."""

    action: Write
    message: str
    causes: tuple[Raw, ...] = ()


class MetricUpdate(NamedTuple):
    """A metric to update after the writes of a plan: a lateness to observe or a counter."""

    metric: Literal["edge_lateness", "floors_missing"]
    label: str
    since: datetime | None = None
    """The time from which the lateness counts."""


class Plan(NamedTuple):
    """The actions to take now, in order, and when to reconcile again.

    `refused` returns the actions that replace the rest of the plan after a refused write, usually
    the update of a condition. It is called later, so it may refer to values but not to the
    snapshot.
    """

    actions: tuple[Action, ...] = ()
    requeue_after: float | None = None
    refused: Callable[[WriteRefusal], Iterable[Action]] | None = None
    requeue_with_backoff: bool = False
    """Reconcile again after the backoff of the key and not before. Another controller may overwrite
    the result of a write, and the event of our own write must not trigger the next one at once."""
    metric_updates: tuple[MetricUpdate, ...] = ()


NOTHING: Final = Plan()
