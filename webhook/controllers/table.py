"""CONTROLLERS: the table of all controllers."""

from typing import Final

from webhook.controllers.gardenerrollout.controller import GARDENER_ROLLOUT
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.controllers.managedseedset.controller import MANAGED_SEED_SET
from webhook.controllers.pools.controller import POOLS
from webhook.controllers.regionconfig.controller import REGION_CONFIG
from webhook.controllers.scheduledscaling.controller import (
    SCHEDULED_SCALING_FLOORS,
    SCHEDULED_SCALING_STATUS,
)
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER, SEED_CORDON
from webhook.controllers.seedcapacity.controller import SEED_CAPACITY
from webhook.controllers.shootsready.controller import SHOOTS_READY
from webhook.placement.bridge import BRIDGE
from webhook.runtime.controller import Controller

CONTROLLERS: Final[tuple[Controller, ...]] = (
    SEED_CAPACITY,
    REGION_CONFIG,
    MANAGED_SEED,
    SHOOTS_READY,
    MANAGED_SEED_SET,
    GARDENER_ROLLOUT,
    SEED_AUTOSCALER,
    SEED_CORDON,
    *BRIDGE,
    *SCHEDULED_SCALING_FLOORS,
    SCHEDULED_SCALING_STATUS,
    *POOLS,
)
"""Run by the leader. The built-in scheduler, `placement.scheduler`, runs beside them."""
