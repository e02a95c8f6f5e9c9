"""What a pass has decided so far."""

from dataclasses import dataclass, field
from typing import Final, Literal

from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.domain.rollout import Wait
from webhook.domain.scalein import Blocked
from webhook.runtime.actions import Action, Emit

_KIND: Final = kind_of_model(ManagedSeedSet)


@dataclass(slots=True)
class Work:
    """Collects writes and Events, and what the status has to tell."""

    owner: ManagedSeedSet
    writes: list[Action] = field(default_factory=list)
    events: list[Action] = field(default_factory=list)
    requeue_after: float | None = None
    decided: set[str] = field(default_factory=set)
    """Replicas that are to go from now on, or to stay after all: nothing else is done to them."""
    blocked: tuple[Blocked, ...] = ()
    waits_for: Wait | None = None
    """What the rolling update waits for."""

    def add(self, *writes: Action) -> None:
        self.writes += writes

    def tell(
        self, reason: str, message: str, severity: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        self.events.append(Emit(_KIND, self.owner, reason, message, severity))

    def look_again(self, seconds: float) -> None:
        """Come back after so long at the latest."""
        if self.requeue_after is None or seconds < self.requeue_after:
            self.requeue_after = seconds
