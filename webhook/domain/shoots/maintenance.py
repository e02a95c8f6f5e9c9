"""The maintenance window of a Shoot."""

import re
from datetime import datetime, timedelta, timezone
from typing import Final

from webhook.api.shoots import Shoot
from webhook.kube.meta import Raw

_CLOCK: Final = re.compile(r"([01]\d|2[0-3])([0-5]\d)([0-5]\d)([+-])([01]\d|2[0-3])([0-5]\d)\Z")
_DAY: Final = timedelta(days=1)


def is_confined(shoot: Shoot) -> bool:
    """Return whether changes of the spec are confined to the window."""
    maintenance = shoot.spec.maintenance
    return maintenance is not None and maintenance.confine_spec_update_rollout


def is_spec_confined(spec: Raw) -> bool:
    """Return whether an undecoded spec confines its changes to the window."""
    return bool((spec.get("maintenance") or {}).get("confineSpecUpdateRollout"))


def next_opening(shoot: Shoot, now: datetime) -> datetime | None:
    """Return when the window opens next; now if it is open, None without a valid window."""
    maintenance = shoot.spec.maintenance
    window = maintenance.time_window if maintenance is not None else None
    if window is None:
        return None
    begin, end = _today(window.begin, now), _today(window.end, now)
    if begin is None or end is None:
        return None
    # Yesterday's window may extend into today.
    for day in (-_DAY, timedelta(0), _DAY):
        first, last = begin + day, end + day
        if last <= first:
            last += _DAY
        if now < last:
            return max(now, first)
    return begin + 2 * _DAY


def _today(text: str, now: datetime) -> datetime | None:
    """Parse a time of day such as 220000+0100, on the current day in its time zone."""
    found = _CLOCK.match(text)
    if found is None:
        return None
    hours, minutes, seconds = (int(part) for part in found.groups()[:3])
    shift = timedelta(hours=int(found[5]), minutes=int(found[6]))
    there = now.astimezone(timezone(shift if found[4] == "+" else -shift))
    return there.replace(hour=hours, minute=minutes, second=seconds, microsecond=0)
