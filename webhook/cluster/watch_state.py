"""The state of the list and watch of one kind, for readiness, metrics and snapshots."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from webhook.cluster.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    NotFoundError,
    SilentWatchError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
    UnreadableError,
)

# A kind with this many failures in a row no longer delays the sync of the whole cache.
_TOLERATED_FAILURES: Final = 2


ENDED: Final = "ended"
"""The restart reason of a watch that the server ended after the requested time."""
RECONNECTED: Final = "doubted"
"""The restart reason of a watch that we closed because another server may serve the API now."""

# The first match counts. The reasons that servers send are unbounded and therefore no labels.
_REASONS: Final[tuple[tuple[type[ApiError], str], ...]] = (
    (GoneError, "expired"),
    (ThrottledError, "throttled"),
    (NotFoundError, "missing"),
    (UnauthorizedError, "refused"),
    (ForbiddenError, "refused"),
    (SilentWatchError, "silent"),
    (UnreadableError, "unreadable"),
    (UnreachableError, "unreachable"),
)


def reason_of(error: ApiError) -> str:
    """Return the restart reason of an error, as a metric label."""
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "error")


def _no_listener() -> None:
    return


@dataclass(slots=True)
class WatchState:
    """The state of one kind's list and watch."""

    lost_since: float | None
    """The monotonic time at which the watch was lost; None while it is established."""
    synced: bool = False
    """A first list is complete, and the API server has served the kind since."""
    served: bool = True
    """The API server has the kind, as far as we know."""
    failure: ApiError | None = None
    """The last error, until the watch is established again."""
    failures: int = 0
    relists: int = 0
    restarts: Counter[str] = field(default_factory=Counter)
    """The number of restarts of the watch by reason."""
    on_change: Callable[[], None] = field(default=_no_listener, repr=False)

    @property
    def is_settled(self) -> bool:
        """Whether the sync of the cache need not wait for this kind.

        A kind that keeps failing does not delay the others, unless the server throttles us.
        """
        if self.synced or not self.served:
            return True
        return self.failures >= _TOLERATED_FAILURES and not isinstance(self.failure, ThrottledError)

    def lost_for(self, now: float) -> float:
        """Return for how many seconds the watch has been lost; 0 for a kind that is not served."""
        return now - self.lost_since if self.lost_since is not None and self.served else 0.0

    def set_established(self) -> None:
        """Record that the watch is established."""
        self.lost_since, self.failure, self.failures = None, None, 0
        self.on_change()

    def set_lost(self, now: float) -> None:
        """Record that the watch is lost."""
        if self.lost_since is None:
            self.lost_since = now
            self.on_change()

    def record_failure(self, error: ApiError) -> None:
        self.failure = error
        self.failures += 1
        self.on_change()

    def set_synced(self) -> None:
        """Record that a list is complete."""
        self.synced = self.served = True
        self.on_change()

    def set_unserved(self, error: ApiError) -> None:
        """Record that the API server does not have the kind."""
        self.synced = self.served = False
        self.record_failure(error)


@dataclass(frozen=True, slots=True)
class KindStatus:
    """The state of one kind in the cache, for metrics and probes."""

    name: str
    synced: bool
    served: bool
    staleness: float
    objects: int
    malformed: int
    relists: int
    restarts: Mapping[str, int]
    failure: str
