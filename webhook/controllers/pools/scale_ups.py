"""Grants what is left of a pool to the zones that asked for more, once a scale-up is complete.

A server does so at the next refresh of an autoscaler. The leader is sooner if the autoscaler scans
rarely, and does it at all if that server is gone.
"""

from collections.abc import Sequence
from datetime import datetime

from webhook.api.pool_records import POOL_RECORD, PoolRecordObject
from webhook.controllers.pools import minimum
from webhook.domain.pools import increases, record_encoding
from webhook.domain.pools.node_groups import ZoneGroup
from webhook.domain.pools.pool_record import PoolRecord
from webhook.runtime.actions import Action, Patch


def plan(
    found: PoolRecordObject, groups: Sequence[ZoneGroup], record: PoolRecord, now: datetime
) -> tuple[Action, ...]:
    """Raise one zone; if none gets more, drop the increases from the record.

    The next zone follows once this write is observed.
    """
    complete_at = increases.complete_at(record)
    if complete_at is None or now < complete_at or record.targets:
        return ()
    sizes = increases.rest_sizes(groups[0].pool, groups, record, now) if groups else {}
    for group in groups:
        if (size := sizes.get(group.zone.name)) is not None:
            return minimum.raise_zone(found, record, group.zone, size, now)
    change = record_encoding.merge_patch(increases.drop(record, record.increases), found.namespace)
    return (Patch(POOL_RECORD, found.key, change, found.uid, found.resource_version),)
