"""The controller of the capacity of seeds."""

from typing import Final

from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.controllers.seedcapacity.plan import plan, seeds_of
from webhook.runtime.controller import Controller, Watch

SEED_CAPACITY: Final = Controller("capacity", Seed, plan, (Watch(ManagedSeed, seeds_of),))
