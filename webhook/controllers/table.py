"""CONTROLLERS: everything that is reconciled, one row a concern."""

from typing import Final

from webhook.controllers.bridge import BRIDGE
from webhook.controllers.capacity import CAPACITY
from webhook.controllers.care import CARE
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.controllers.managedseedset.controller import MANAGED_SEED_SET
from webhook.controllers.pools.controller import POOLS
from webhook.controllers.regions import REGIONS
from webhook.controllers.scaling.floors import FLOORS
from webhook.controllers.scaling.standing import STANDING
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER
from webhook.runtime.rows import Controller

CONTROLLERS: Final[tuple[Controller, ...]] = (
    CAPACITY,
    REGIONS,
    MANAGED_SEED,
    CARE,
    MANAGED_SEED_SET,
    SEED_AUTOSCALER,
    *BRIDGE,
    *FLOORS,
    STANDING,
    *POOLS,
)
"""Run by the replica that leads. The scheduler runs beside them: `controllers.dispatcher`."""
