"""Warn about tables of distances that cannot be read."""

from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.domain import regions
from webhook.runtime.actions import NOTHING, Emit, Plan
from webhook.runtime.rows import Controller
from webhook.state.snapshot import Snapshot

BROKEN: Final = "RegionConfigBroken"

_CONFIG_MAP: Final = kind_of_model(ConfigMap)


def plan(config_map: ConfigMap, _snapshot: Snapshot) -> Plan:
    """Emit a warning on a broken table; decisions go by the names of regions meanwhile."""
    if config_map.metadata.labels.get(names.REGION_CONFIG_PURPOSE) != names.REGION_CONFIG:
        return NOTHING
    faults = regions.faults(config_map.data)
    if not faults:
        return NOTHING
    message = f"distances are judged by the names of regions: {'; '.join(faults)}"
    return Plan((Emit(_CONFIG_MAP, config_map, BROKEN, message, "Warning"),))


REGIONS: Final = Controller("regions", ConfigMap, plan)
