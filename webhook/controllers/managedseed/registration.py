"""The result of registering a Seed by either variant, and what both variants do."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import secrets, status
from webhook.controllers.status_patch import ConditionDraft
from webhook.runtime.actions import Action
from webhook.state.snapshot import Snapshot

SYNC_SECONDS: Final = 3600.0
"""How often Secrets and gardenlets, which are not watched, are checked."""
WAIT_SECONDS: Final = 15.0
"""How soon to check again for a missing object that is not watched."""


class Registration(NamedTuple):
    """The condition of the registration, and the writes that it takes now."""

    condition: ConditionDraft
    actions: tuple[Action, ...] = ()
    observed: bool = False
    """Whether the present spec is applied."""
    requeue_after: float | None = None


def unchanged(
    managed_seed: ManagedSeed, seed: Seed | None, shoot_message: str, note: str = ""
) -> ConditionDraft:
    """Report whether the Seed is registered when nothing is written now."""
    if seed is None:
        return status.not_registered("WaitingForShoot", shoot_message)
    if seed.is_deleting:
        return status.not_registered("SeedDeleting", f"Seed {seed.name} is being deleted")
    return status.registered(managed_seed, note)


def copy_secrets(managed_seed: ManagedSeed, shoot: Shoot, snapshot: Snapshot) -> Iterator[Action]:
    """Copy the Secrets that the Seed refers to."""
    template = managed_seed.seed_template
    if template is not None:
        for copy in secrets.copies(managed_seed, template.spec, shoot, snapshot):
            yield from secrets.write(copy, managed_seed, snapshot)
