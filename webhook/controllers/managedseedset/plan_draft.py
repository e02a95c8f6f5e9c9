"""The plan for a set while it is put together."""

from dataclasses import dataclass, field
from typing import Final, Literal

from webhook.api.event_reasons import Reason
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.domain.sets.rollout import WaitForReplica
from webhook.domain.sets.scale_in import Blocked
from webhook.runtime.actions import Action, Emit

_KIND: Final = kind_of_model(ManagedSeedSet)


@dataclass(slots=True)
class PlanDraft:
    """Collects writes, Events and what the status reports."""

    owner: ManagedSeedSet
    writes: list[Action] = field(default_factory=list)
    events: list[Action] = field(default_factory=list)
    requeue_after: float | None = None
    decided: set[str] = field(default_factory=set)
    """Replicas that this plan chooses for removal or keeps after all; no other step is taken."""
    blocked: tuple[Blocked, ...] = ()
    waits_for: WaitForReplica | None = None
    """The replica that the rolling update waits for, and why."""
    updates: bool = False
    """Whether the plan updates a replica of an earlier revision."""

    def add(self, *writes: Action) -> None:
        self.writes += writes

    def emit(
        self, reason: Reason, message: str, severity: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        self.events.append(Emit(_KIND, self.owner, reason, message, severity))

    def requeue_within(self, seconds: float) -> None:
        """Requeue the set after so many seconds at the latest."""
        if self.requeue_after is None or seconds < self.requeue_after:
            self.requeue_after = seconds
