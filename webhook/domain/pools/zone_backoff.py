"""Backoff of zones that lack resources: when a zone is avoided, for how long, and its retry."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from webhook.api.machines import Machine, MachineDeployment
from webhook.domain.options import NodeGroupsOptions
from webhook.domain.pools import machines
from webhook.domain.pools.pool_record import ZoneState, parse_instant
from webhook.kube import timestamps

STRIKES_EXPIRE_AFTER: Final = timedelta(hours=3)
"""After this time without a failure, the next one counts as the first."""


class ZoneFailure(NamedTuple):
    """The failed creation of a machine at a time; the pair is counted once."""

    machine: str
    at: datetime

    @property
    def text(self) -> str:
        return f"{self.machine}@{timestamps.format_time(self.at)}"


def failures(deployment: MachineDeployment, existing: Iterable[Machine]) -> list[ZoneFailure]:
    """Return the machines that failed for lack of resources, from the MachineDeployment's status.

    The list is empty for a moment whenever a machine is replaced, so that proves nothing.
    """
    uids = {machine.name: machine.uid for machine in existing}
    return [
        ZoneFailure(uids.get(failed.name) or failed.name, parse_instant(operation.last_update_time))
        for failed in deployment.status.failed_machines
        if machines.is_resource_exhausted(operation := failed.last_operation)
    ]


def add_strike(
    state: ZoneState | None, failure: ZoneFailure, now: datetime, options: NodeGroupsOptions
) -> ZoneState:
    """Return the state of a zone that is avoided from now on, twice as long as the last time."""
    known = state or ZoneState()
    forgotten = now - parse_instant(known.until) > STRIKES_EXPIRE_AFTER
    strikes = 1 if forgotten else known.strikes + 1
    return msgspec.structs.replace(
        known,
        until=timestamps.format_time(now + backoff_duration(strikes, options)),
        strikes=strikes,
        last_failure=failure.text,
        on_trial=True,
    )


def backoff_duration(strikes: int, options: NodeGroupsOptions) -> timedelta:
    """Return how long a zone is avoided after a number of failures in a row."""
    doublings: int = 2 ** max(0, min(strikes, 10) - 1)
    seconds = min(options.longest_backoff_seconds, options.backoff_seconds * doublings)
    return timedelta(seconds=seconds)


def advance(
    state: ZoneState | None,
    failed: Sequence[ZoneFailure],
    existing: Iterable[Machine],
    now: datetime,
    options: NodeGroupsOptions,
) -> ZoneState | None:
    """Return the current state of a zone; None once there is nothing to record.

    A failure while the zone is avoided is only recorded. After that, a new failure adds a strike,
    and a machine that became available since the last failure ends the trial.
    """
    latest = max(failed, key=lambda each: each.at, default=None)
    is_new = latest is not None and (state is None or latest.text != state.last_failure)
    if state is None:
        return add_strike(None, latest, now, options) if latest is not None else None
    if state.unproven and _has_joined_since(existing, parse_instant(state.unproven)):
        state = msgspec.structs.replace(state, unproven="")
    until = parse_instant(state.until)
    if now < until:
        if latest is not None and is_new:
            return msgspec.structs.replace(state, last_failure=latest.text)
        return state
    if latest is not None and is_new and latest.at > _failed_at(state):
        return add_strike(state, latest, now, options)
    if state.on_trial and _has_joined_since(existing, _failed_at(state)):
        return msgspec.structs.replace(state, on_trial=False)
    in_use = state.on_trial or state.backed_off or state.unproven
    return None if now - until > STRIKES_EXPIRE_AFTER and not in_use else state


def record_autoscaler_backoff(
    state: ZoneState | None, backed_off: bool, now: datetime
) -> ZoneState | None:
    """Record since when cluster-autoscaler itself backs off from a zone, or that it stopped.

    The end of its backoff proves nothing: until a machine has joined, other zones keep the zone's
    minimum.
    """
    known = state or ZoneState()
    if bool(known.backed_off) == backed_off:
        return state
    if backed_off:
        return msgspec.structs.replace(known, backed_off=timestamps.format_time(now))
    return msgspec.structs.replace(known, backed_off="", unproven=known.backed_off)


def avoided_since(state: ZoneState, options: NodeGroupsOptions) -> datetime:
    """Return since when a zone is avoided, or was before it is tried again."""
    if state.backed_off or state.unproven:
        return parse_instant(state.backed_off or state.unproven)
    return parse_instant(state.until) - backoff_duration(state.strikes, options)


def _failed_at(state: ZoneState) -> datetime:
    return parse_instant(state.last_failure.rpartition("@")[2])


def _has_joined_since(existing: Iterable[Machine], failed: datetime) -> bool:
    return any(
        machines.is_available(each)
        and parse_instant(each.status.current_status.last_update_time) > failed
        for each in existing
    )
