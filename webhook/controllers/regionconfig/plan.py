"""plan(): an Event for a region ConfigMap that cannot be parsed."""

from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.domain.placement import region_config
from webhook.runtime.actions import NOTHING, Emit, Plan
from webhook.scheduling import profiles, region_strategy
from webhook.state.snapshot import Snapshot

BROKEN: Final = "RegionConfigBroken"

_CONFIG_MAP: Final = kind_of_model(ConfigMap)


def plan(config_map: ConfigMap, snapshot: Snapshot) -> Plan:
    """Warn about a broken table and its effect on scheduling."""
    if config_map.metadata.labels.get(names.REGION_CONFIG_PURPOSE) != names.REGION_CONFIG:
        return NOTHING
    faults = region_config.errors(config_map.data)
    if not faults:
        return NOTHING
    refuses = profiles.PROFILES[snapshot.options.scheduling.profile].requires_region_table
    effect = (
        region_strategy.REGION_TABLE_REQUIRED if refuses else region_strategy.REGION_TABLE_FALLBACK
    )
    message = f"{effect}: {'; '.join(faults)}"
    return Plan((Emit(_CONFIG_MAP, config_map, BROKEN, message, "Warning"),))
