"""The controller of ManagedSeeds."""

from typing import Final

from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import CredentialsBinding, SecretBinding
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import mapping
from webhook.controllers.managedseed.plan import plan
from webhook.runtime.controller import Controller, Watch

MANAGED_SEED: Final = Controller(
    "managedseed",
    ManagedSeed,
    plan,
    watches=(Watch(Shoot, mapping.of_shoot), Watch(Seed, mapping.of_seed)),
    reads=(SecretBinding, CredentialsBinding),
    needs=(Shoot, Seed),
    workers=4,
)
