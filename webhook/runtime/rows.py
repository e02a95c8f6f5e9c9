"""What a controller is: a row that names a kind, a pure plan, and what wakes it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from webhook.api.meta import Object, ObjectKey
from webhook.runtime.actions import Plan
from webhook.runtime.backoff import Delays
from webhook.state.snapshot import Snapshot

Planner: TypeAlias = Callable[[Any, Snapshot], Plan]
"""Gets the object, decoded, and the snapshot; neither awaits nor keeps either."""

Mapper: TypeAlias = Callable[[Any, Any, Snapshot], Iterable[ObjectKey]]
"""Says which keys a change concerns, given the object before and after it; pure."""


class TerminalError(Exception):
    """Trying again cannot help until the object changes; a plan raises it with the reason."""


class RefusedError(Exception):
    """The API server refused a write, and the plan has told people; tried again later."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Another kind whose changes concern a controller's objects."""

    model: type[Object]
    mapper: Mapper


@dataclass(frozen=True, slots=True)
class Controller:
    """A row of the table of controllers."""

    name: str
    model: type[Object]
    plan: Planner
    watches: tuple[Watch, ...] = ()
    reads: tuple[type[Object], ...] = ()
    """Kinds that the plan reads without being woken by them; while one is lost it pauses."""
    needs: tuple[type[Object], ...] = ()
    """Those of its kinds without which the plan would be wrong: where the API server does not have
    one it pauses, because none there is not the same as none known."""
    workers: int = 1
    delays: Delays | None = None
    """How long a key waits that failed, or that has to be looked at again; None for the usual."""
    after: str = ""
    """The row above this one that goes first, for a moment, when both have work."""

    @property
    def models(self) -> tuple[type[Object], ...]:
        """Every kind that the plan looks at."""
        return (self.model, *(watch.model for watch in self.watches), *self.reads)
