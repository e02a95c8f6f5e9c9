"""The controller of ManagedSeedSets."""

from typing import Final

from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset import mapping
from webhook.controllers.managedseedset.plan import plan
from webhook.runtime.controller import Controller, Watch

MANAGED_SEED_SET: Final = Controller(
    "managedseedset",
    ManagedSeedSet,
    plan,
    watches=(
        Watch(Shoot, mapping.of_shoot),
        Watch(ManagedSeed, mapping.of_managed_seed),
        Watch(Seed, mapping.of_seed),
        Watch(ControllerRevision, mapping.of_revision),
    ),
    needs=(Shoot, ManagedSeed, Seed),
    workers=2,
)
