"""Zones that lack resources: when one is avoided, for how long, and when it is tried again."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from webhook.api import timestamps
from webhook.api.machines import Machine, MachineDeployment
from webhook.domain import machines
from webhook.domain.options import NodeGroupsOptions
from webhook.domain.poolrecord import ZoneState, parse_instant

FORGOTTEN: Final = timedelta(hours=3)
"""After this long without a failure the next one counts as the first."""


class Failure(NamedTuple):
    """One machine that could not be had, at a time: both together are counted once."""

    machine: str
    at: datetime

    @property
    def text(self) -> str:
        return f"{self.machine}@{timestamps.format_time(self.at)}"


def failures(deployment: MachineDeployment, existing: Iterable[Machine]) -> list[Failure]:
    """List the machines that failed for want of resources, as the deployment reports them.

    The list is empty for a moment whenever a machine is replaced, which says nothing.
    """
    uids = {machine.name: machine.uid for machine in existing}
    return [
        Failure(uids.get(failed.name) or failed.name, parse_instant(operation.last_update_time))
        for failed in deployment.status.failed_machines
        if machines.lacks_resources(operation := failed.last_operation)
    ]


def strike(
    state: ZoneState | None, failure: Failure, now: datetime, options: NodeGroupsOptions
) -> ZoneState:
    """Avoid a zone from now on, twice as long as the last time."""
    known = state or ZoneState()
    forgotten = now - parse_instant(known.until) > FORGOTTEN
    strikes = 1 if forgotten else known.strikes + 1
    return msgspec.structs.replace(
        known,
        until=timestamps.format_time(now + duration(strikes, options)),
        strikes=strikes,
        last_failure=failure.text,
        on_trial=True,
    )


def duration(strikes: int, options: NodeGroupsOptions) -> timedelta:
    """Say how long a zone is avoided."""
    doublings: int = 2 ** max(0, min(strikes, 10) - 1)
    seconds = min(options.longest_backoff_seconds, options.backoff_seconds * doublings)
    return timedelta(seconds=seconds)


def follow(
    state: ZoneState | None,
    failed: Sequence[Failure],
    existing: Iterable[Machine],
    now: datetime,
    options: NodeGroupsOptions,
) -> ZoneState | None:
    """Bring what is remembered of a zone up to now; None once there is nothing to remember.

    While a zone is avoided anyway a further failure is only noted. After that a new one strikes
    again, and a machine that came to serve since the last failure proves the zone good.
    """
    latest = max(failed, key=lambda each: each.at, default=None)
    is_new = latest is not None and (state is None or latest.text != state.last_failure)
    if state is None:
        return strike(None, latest, now, options) if latest is not None else None
    until = parse_instant(state.until)
    if now < until:
        if latest is not None and is_new:
            return msgspec.structs.replace(state, last_failure=latest.text)
        return state
    if latest is not None and is_new and latest.at > _failed_at(state):
        return strike(state, latest, now, options)
    if state.on_trial and _has_joined_since(existing, _failed_at(state)):
        return msgspec.structs.replace(state, on_trial=False)
    over = now - until > FORGOTTEN and not state.on_trial and not state.backed_off
    return None if over else state


def back_off(state: ZoneState | None, backed_off: bool, now: datetime) -> ZoneState | None:
    """Note since when cluster-autoscaler itself avoids a zone, or that it does no more."""
    known = state or ZoneState()
    if bool(known.backed_off) == backed_off:
        return state
    since = timestamps.format_time(now) if backed_off else ""
    changed = msgspec.structs.replace(known, backed_off=since)
    return None if changed == ZoneState() else changed


def since(state: ZoneState, options: NodeGroupsOptions) -> datetime:
    """Say when a zone became bad."""
    if state.backed_off:
        return parse_instant(state.backed_off)
    return parse_instant(state.until) - duration(state.strikes, options)


def _failed_at(state: ZoneState) -> datetime:
    return parse_instant(state.last_failure.rpartition("@")[2])


def _has_joined_since(existing: Iterable[Machine], failed: datetime) -> bool:
    return any(
        machines.is_available(each)
        and parse_instant(each.status.current_status.last_update_time) > failed
        for each in existing
    )
