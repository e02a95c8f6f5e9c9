"""Warn about tables of distances that cannot be read."""

from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.domain import regions
from webhook.runtime.actions import NOTHING, Emit, Plan
from webhook.runtime.rows import Controller
from webhook.scheduling import profiles, strategy
from webhook.state.snapshot import Snapshot

BROKEN: Final = "RegionConfigBroken"

_CONFIG_MAP: Final = kind_of_model(ConfigMap)


def plan(config_map: ConfigMap, snapshot: Snapshot) -> Plan:
    """Emit a warning on a broken table, with what becomes of decisions meanwhile."""
    if config_map.metadata.labels.get(names.REGION_CONFIG_PURPOSE) != names.REGION_CONFIG:
        return NOTHING
    faults = regions.faults(config_map.data)
    if not faults:
        return NOTHING
    refuses = profiles.PROFILES[snapshot.options.scheduling.profile].trusts_tables
    effect = strategy.TABLE_REFUSES if refuses else strategy.TABLE_IS_REPLACED
    message = f"{effect}: {'; '.join(faults)}"
    return Plan((Emit(_CONFIG_MAP, config_map, BROKEN, message, "Warning"),))


REGIONS: Final = Controller("regions", ConfigMap, plan)
