"""Seeds that have the pinned zones of the shoot, and whose `zoneSelection` accepts its workers."""

from collections.abc import Callable
from typing import Final, NamedTuple

from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Mask, Rejection
from webhook.scheduling.framework import Filter, GroupFilter
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo

ENFORCE: Final = "Enforce"
PREFER: Final = "Prefer"

NOT_PINNED: Final = Rejection("lacks a zone of spec.controlPlane.zones of the shoot")
NO_OVERLAP: Final = Rejection("enforces zoneSelection and has no zone of the shoot's workers")
LESS_OVERLAP: Final = Rejection(
    "prefers shoots with workers in its own zones, another seed fits", final=False
)


class _Zones(NamedTuple):
    pinned: frozenset[str] = frozenset()
    workers: frozenset[str] = frozenset()


_ANY: Final = _Zones()


def _aspect(info: ShootInfo) -> _Zones:
    control_plane = info.shoot.spec.control_plane
    if control_plane is not None and control_plane.zones:
        return _Zones(pinned=frozenset(control_plane.zones))
    return _ANY if info.is_multi_zone else _Zones(workers=info.worker_zones)


def _single_zone_aspect(info: ShootInfo) -> _Zones:
    return _ANY if info.is_multi_zone else _aspect(info)


def _prepare(zones: _Zones) -> Check:
    pinned, workers = zones

    def check(candidate: Candidate) -> Rejection | None:
        if pinned:
            return None if pinned <= candidate.zones else NOT_PINNED
        if workers and _mode(candidate) == ENFORCE and workers.isdisjoint(candidate.zones):
            return NO_OVERLAP
        return None

    return check


def _mode(candidate: Candidate) -> str:
    settings = candidate.seed.spec.settings
    selection = settings.zone_selection if settings is not None else None
    return selection.mode if selection is not None else ""


def _prefer(info: ShootInfo, table: SeedTable, remaining: Mask) -> tuple[Mask, Rejection]:
    prefers = table.select("zoneSelection prefers", lambda found: _mode(found) == PREFER)
    if not prefers & remaining:
        return remaining, LESS_OVERLAP
    zones = _aspect(info)
    if zones.pinned or not zones.workers:
        return remaining, LESS_OVERLAP
    overlapping = table.select(("zones overlap", zones.workers), _overlaps(zones.workers))
    kept = remaining & (~prefers | overlapping)
    return kept or remaining, LESS_OVERLAP


def _overlaps(workers: frozenset[str]) -> Callable[[Candidate], bool]:
    return lambda candidate: not workers.isdisjoint(candidate.zones)


ZONE_SELECTION: Final = Filter("zoneSelection", _aspect, _prepare)

SINGLE_ZONE_SELECTION: Final = Filter("zoneSelection", _single_zone_aspect, _prepare)
"""Gardener's filter: pinned zones of a multi-zone shoot are not compared."""

ZONE_PREFERENCE: Final = GroupFilter("zoneSelection", _prefer)
