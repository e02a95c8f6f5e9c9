"""How well one kind is followed: what readiness, metrics and snapshots want to know."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from webhook.cluster.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    NotFoundError,
    QuietError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
    UnreadableError,
)

# So many failures in a row are no hiccup.
_PATIENCE: Final = 2


ENDED: Final = "ended"
"""The reason of a watch's restart that has none: servers end watches in time, as asked."""
DOUBTED: Final = "doubted"
"""The reason where whoever served the kind may have gone, though the watch still stood."""

# The first that fits; reasons that servers give are no labels, as there is no end of them.
_REASONS: Final[tuple[tuple[type[ApiError], str], ...]] = (
    (GoneError, "expired"),
    (ThrottledError, "throttled"),
    (NotFoundError, "missing"),
    (UnauthorizedError, "refused"),
    (ForbiddenError, "refused"),
    (QuietError, "silent"),
    (UnreadableError, "unreadable"),
    (UnreachableError, "unreachable"),
)


def reason_of(error: ApiError) -> str:
    """Say in a word why a watch is begun again."""
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), "error")


def _nobody() -> None:
    return


@dataclass(slots=True)
class Standing:
    """The state of one kind's list and watch."""

    lost_since: float | None
    """When the watch was lost, in monotonic seconds; None while it stands."""
    synced: bool = False
    """A first list is complete, and the kind has been served ever since."""
    served: bool = True
    """The server has the kind, as far as we know."""
    failure: ApiError | None = None
    """What went wrong last, until the watch stands again."""
    failures: int = 0
    relists: int = 0
    restarts: Counter[str] = field(default_factory=Counter)
    """How often the watch was begun again, by reason."""
    on_change: Callable[[], None] = field(default=_nobody, repr=False)

    @property
    def is_settled(self) -> bool:
        """Say whether a server that is reachable leaves nothing to wait for, for now.

        A kind that fails again and again holds nobody else up, unless the server asks for patience.
        """
        if self.synced or not self.served:
            return True
        return self.failures >= _PATIENCE and not isinstance(self.failure, ThrottledError)

    def lost_for(self, now: float) -> float:
        """Say for how many seconds the watch has been lost; a kind that is not served is not."""
        return now - self.lost_since if self.lost_since is not None and self.served else 0.0

    def gain(self) -> None:
        """Note that the watch stands."""
        self.lost_since, self.failure, self.failures = None, None, 0
        self.on_change()

    def lose(self, now: float) -> None:
        """Note that the watch is lost."""
        if self.lost_since is None:
            self.lost_since = now
            self.on_change()

    def fail(self, error: ApiError) -> None:
        self.failure = error
        self.failures += 1
        self.on_change()

    def sync(self) -> None:
        """Note that a list is complete."""
        self.synced = self.served = True
        self.on_change()

    def leave(self, error: ApiError) -> None:
        """Note that the server does not have the kind."""
        self.synced = self.served = False
        self.fail(error)


@dataclass(frozen=True, slots=True)
class KindStatus:
    """What there is to say about one kind, for metrics and probes."""

    name: str
    synced: bool
    served: bool
    staleness: float
    objects: int
    malformed: int
    relists: int
    restarts: Mapping[str, int]
    failure: str
