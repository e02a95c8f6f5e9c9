"""The controller that rolls out changes of sets whose replicas Gardener creates."""

from typing import Final

from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.gardenerrollout.plan import plan
from webhook.controllers.managedseedset import mapping
from webhook.runtime.controller import Controller, Watch

GARDENER_ROLLOUT: Final = Controller(
    "managedseedset.rollout",
    ManagedSeedSet,
    plan,
    watches=(
        Watch(Shoot, mapping.of_shoot),
        Watch(ManagedSeed, mapping.of_managed_seed),
        Watch(Seed, mapping.of_seed),
        Watch(ControllerRevision, mapping.of_revision),
    ),
    needs=(Shoot, ManagedSeed, Seed),
    inputs=("whole_shoots",),
    refreshes=("whole_shoots",),
)
