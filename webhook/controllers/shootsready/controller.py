"""The controller of condition ShootsReady."""

from typing import Final

from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.controllers.shootsready.plan import of_hosted, plan
from webhook.runtime.controller import Controller, Watch

SHOOTS_READY: Final = Controller(
    "care", ManagedSeed, plan, watches=(Watch(Shoot, of_hosted),), needs=(Shoot,)
)
