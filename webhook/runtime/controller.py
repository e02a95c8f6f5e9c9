"""The description of a controller: a kind, a pure plan, and the watches that trigger it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from webhook.kube.meta import Object, ObjectKey
from webhook.runtime.actions import Plan
from webhook.runtime.backoff import Delays
from webhook.state.snapshot import Snapshot

Planner: TypeAlias = Callable[..., Plan]
"""Takes the decoded object, the snapshot and the controller's inputs by name; pure.

It neither awaits nor keeps the object or the snapshot."""

Refresh: TypeAlias = Callable[[ObjectKey, Snapshot], Awaitable[None]]
"""Reads what the plan for a key needs besides the snapshot, which is valid until the first await.

While it raises UnavailableError the key is paused."""

Mapper: TypeAlias = Callable[[Any, Any, Snapshot], Iterable[ObjectKey]]
"""Maps a change, given as the old and the new object, to the keys to reconcile; pure."""


class TerminalError(Exception):
    """A plan raises it with the reason if retries cannot help until the object changes."""


class RefusedError(Exception):
    """The API server refused a write and the plan has reported it; it is retried later."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Another kind whose changes trigger a controller."""

    model: type[Object]
    mapper: Mapper


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller: one row of the table `CONTROLLERS`."""

    name: str
    model: type[Object]
    plan: Planner
    watches: tuple[Watch, ...] = ()
    reads: tuple[type[Object], ...] = ()
    """Kinds that the plan reads without a watch of its own; while one is stale it pauses."""
    needs: tuple[type[Object], ...] = ()
    """Kinds that the API server has to serve: without one of them the controller pauses, because
    a kind that is not served is not the same as a kind without objects."""
    workers: int = 1
    delays: Delays | None = None
    """The backoff of a key that failed or is requeued; None for the default."""
    after: str = ""
    """The name of an earlier controller that gets a short head start when both have work."""
    inputs: tuple[str, ...] = ()
    """Keyword arguments of the plan besides object and snapshot; see `with_inputs`."""
    refreshes: tuple[str, ...] = ()
    """Those of its inputs whose `refresh` is awaited before each plan."""
    refresh: tuple[Refresh, ...] = ()
    """The `refresh` of these inputs; set by `with_inputs`."""

    def with_inputs(self, given: Mapping[str, Any]) -> "Controller":
        """Bind all inputs, by name."""
        bound = {name: given[name] for name in self.inputs}
        refresh = tuple(given[name].refresh for name in self.refreshes)
        return replace(self, plan=partial(self.plan, **bound), refresh=refresh)

    @property
    def models(self) -> tuple[type[Object], ...]:
        """All kinds that the plan reads."""
        return (self.model, *(watch.model for watch in self.watches), *self.reads)
