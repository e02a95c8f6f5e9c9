"""Seeds in zones that the shoot pins, and that do not insist on other ones."""

from collections.abc import Callable
from typing import Final, NamedTuple

from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Mask, Rejection
from webhook.scheduling.framework import Filter, Narrow
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject

ENFORCE: Final = "Enforce"
PREFER: Final = "Prefer"

NOT_PINNED: Final = Rejection("lacks a zone of spec.controlPlane.zones of the shoot")
NO_OVERLAP: Final = Rejection("insists on zones of the shoot's workers and has none of them")
LESS_OVERLAP: Final = Rejection(
    "prefers shoots with workers in its own zones, another seed fits", final=False
)


class _Zones(NamedTuple):
    pinned: frozenset[str] = frozenset()
    workers: frozenset[str] = frozenset()


_ANY: Final = _Zones()


def _aspect(subject: Subject) -> _Zones:
    control_plane = subject.shoot.spec.control_plane
    if control_plane is not None and control_plane.zones:
        return _Zones(pinned=frozenset(control_plane.zones))
    return _ANY if subject.is_multi_zone else _Zones(workers=subject.worker_zones)


def _single_zone_aspect(subject: Subject) -> _Zones:
    return _ANY if subject.is_multi_zone else _aspect(subject)


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


def _prefer(subject: Subject, landscape: Landscape, left: Mask) -> tuple[Mask, Rejection]:
    prefers = landscape.choose("zoneSelection prefers", lambda found: _mode(found) == PREFER)
    if not prefers & left:
        return left, LESS_OVERLAP
    zones = _aspect(subject)
    if zones.pinned or not zones.workers:
        return left, LESS_OVERLAP
    overlapping = landscape.choose(("zones overlap", zones.workers), _overlaps(zones.workers))
    kept = left & (~prefers | overlapping)
    return kept or left, LESS_OVERLAP


def _overlaps(workers: frozenset[str]) -> Callable[[Candidate], bool]:
    return lambda candidate: not workers.isdisjoint(candidate.zones)


ZONE_SELECTION: Final = Filter("zoneSelection", _aspect, _prepare)

SINGLE_ZONE_SELECTION: Final = Filter("zoneSelection", _single_zone_aspect, _prepare)
"""Gardener's: zones that a multi-zone shoot pins are not compared."""

ZONE_PREFERENCE: Final = Narrow("zoneSelection", _prefer)
