"""The permits of a pool: the permitted size for a requested one."""

from collections.abc import Mapping, Sequence

import pytest

from webhook.domain.pools import permits
from webhook.domain.pools.discovery import Permits
from webhook.domain.pools.permits import (
    GrantedSize,
    PermittedSize,
    SetState,
    SizeRequest,
    ZoneMachines,
)

ONE_MORE = Permits(1, 0)
ONE_LESS = Permits(0, 1)
BOTH = Permits(2, 1)


def at_rest(name: str, size: int = 3) -> ZoneMachines:
    return ZoneMachines(name, size, (SetState(f"{name}-old", size, size, size),))


def rolling(
    name: str, old: int, new: int, *, ready: int | None = None, size: int = 3
) -> ZoneMachines:
    """A zone between two templates, `ready` of whose new machines are available."""
    serving = new if ready is None else ready
    sets = (SetState(f"{name}-old", old, old, old), SetState(f"{name}-new", new, serving, new))
    return ZoneMachines(name, size, sets)


def permit_size(
    zones: Sequence[ZoneMachines],
    requested: SizeRequest,
    bounds: Permits = ONE_MORE,
    granted: Mapping[str, GrantedSize] | None = None,
) -> PermittedSize:
    return permits.permit_size(bounds, zones, granted or {}, requested)


FREE, PERMIT = False, True


@pytest.mark.parametrize(
    ("zones", "requested", "bounds", "permitted"),
    [
        pytest.param(
            [ZoneMachines("a", 3, (SetState("s", 1, 1, 1),))],
            SizeRequest("a", "s", 1, 3),
            ONE_MORE,
            PermittedSize(3, FREE),
            id="growth up to the replicas is free",
        ),
        pytest.param(
            [at_rest("a"), at_rest("b")],
            SizeRequest("a", "a-new", 0, 1),
            ONE_MORE,
            PermittedSize(1, PERMIT),
            id="the first surge machine of the pool takes a permit",
        ),
        pytest.param(
            [at_rest("a"), rolling("b", 3, 1)],
            SizeRequest("a", "a-new", 0, 1),
            ONE_MORE,
            PermittedSize(0, FREE),
            id="another zone has the only permit",
        ),
        pytest.param(
            [at_rest("a"), rolling("b", 3, 1)],
            SizeRequest("a", "a-new", 0, 3),
            BOTH,
            PermittedSize(1, PERMIT),
            id="what is left of the surge is given, not nothing",
        ),
        pytest.param(
            [ZoneMachines("a", 5, (SetState("a-old", 3, 3, 3), SetState("a-new", 1, 1, 1)))],
            SizeRequest("a", "a-new", 1, 4),
            ONE_MORE,
            PermittedSize(3, PERMIT),
            id="free up to the replicas, beyond by a permit",
        ),
        pytest.param(
            [ZoneMachines("a", 3, (SetState("a-old", 2, 2, 3), SetState("a-new", 1, 1, 1)))],
            SizeRequest("a", "a-new", 1, 2),
            ONE_MORE,
            PermittedSize(1, FREE),
            id="a machine that drains still has its permit",
        ),
        pytest.param(
            [ZoneMachines("a", 3, (SetState("a-old", 1, 1, 3), SetState("a-new", 1, 1, 1)))],
            SizeRequest("a", "a-new", 1, 2),
            ONE_MORE,
            PermittedSize(2, FREE),
            id="machines that drain never stop growth up to the replicas",
        ),
        pytest.param(
            [at_rest("a")._replace(held=True)],
            SizeRequest("a", "a-new", 0, 1),
            ONE_MORE,
            PermittedSize(0, FREE),
            id="a zone that is held out gets no surge",
        ),
        pytest.param(
            [ZoneMachines("a", 5, (SetState("a-old", 3, 3, 3),), held=True)],
            SizeRequest("a", "a-old", 3, 5),
            ONE_MORE,
            PermittedSize(5, FREE),
            id="a zone that is held out may have what it wants",
        ),
        pytest.param(
            [ZoneMachines("a", 1, (SetState("a-old", 4, 4, 4),)), at_rest("b")],
            SizeRequest("b", "b-new", 0, 1),
            ONE_MORE,
            PermittedSize(0, FREE),
            id="a zone that was just scaled down uses permits until it is",
        ),
    ],
)
def test_growth(
    zones: list[ZoneMachines], requested: SizeRequest, bounds: Permits, permitted: PermittedSize
) -> None:
    assert permit_size(zones, requested, bounds) == permitted


@pytest.mark.parametrize(
    ("zones", "requested", "bounds", "permitted"),
    [
        pytest.param(
            [rolling("a", 3, 1)],
            SizeRequest("a", "a-old", 3, 2),
            ONE_MORE,
            PermittedSize(2, FREE),
            id="a new machine serves, so an old one may go",
        ),
        pytest.param(
            [rolling("a", 3, 1, ready=0)],
            SizeRequest("a", "a-old", 3, 2),
            ONE_MORE,
            PermittedSize(3, FREE),
            id="the new machine does not serve yet",
        ),
        pytest.param(
            [at_rest("a"), at_rest("b")],
            SizeRequest("a", "a-old", 3, 2),
            ONE_LESS,
            PermittedSize(2, PERMIT),
            id="one of the pool may be missing",
        ),
        pytest.param(
            [at_rest("a"), rolling("b", 2, 1, ready=0)],
            SizeRequest("a", "a-old", 3, 2),
            ONE_LESS,
            PermittedSize(3, FREE),
            id="another zone's machine is missing already",
        ),
        pytest.param(
            [at_rest("a")],
            SizeRequest("a", "a-old", 3, 0),
            ONE_LESS,
            PermittedSize(2, PERMIT),
            id="as far as the permits go",
        ),
        pytest.param(
            [
                ZoneMachines("a", 1, at_rest("a").sets),
                ZoneMachines("b", 3, (SetState("b-old", 3, 0, 3),)),
            ],
            SizeRequest("a", "a-old", 3, 1),
            ONE_MORE,
            PermittedSize(1, FREE),
            id="a dead zone never blocks another's scale-down",
        ),
        pytest.param(
            [
                ZoneMachines("a", 0, at_rest("a").sets),
                ZoneMachines("b", 0, (SetState("b-old", 3, 0, 3),)),
            ],
            SizeRequest("a", "a-old", 3, 0),
            ONE_MORE,
            PermittedSize(0, FREE),
            id="hibernation is free",
        ),
        pytest.param(
            [ZoneMachines("a", 3, (SetState("a-old", 3, 1, 3), SetState("a-new", 1, 1, 1)))],
            SizeRequest("a", "a-old", 3, 1),
            ONE_MORE,
            PermittedSize(1, FREE),
            id="machines that do not serve may go: the set deletes them first",
        ),
        pytest.param(
            [rolling("a", 3, 1, ready=0)],
            SizeRequest("a", "a-new", 1, 0),
            ONE_MORE,
            PermittedSize(0, FREE),
            id="a permit that cannot be used is given back",
        ),
    ],
)
def test_shrinking(
    zones: list[ZoneMachines], requested: SizeRequest, bounds: Permits, permitted: PermittedSize
) -> None:
    assert permit_size(zones, requested, bounds) == permitted


@pytest.mark.parametrize(
    ("granted", "requested", "bounds", "permitted"),
    [
        pytest.param(
            {"b-new": GrantedSize("b", 1)},
            SizeRequest("a", "a-new", 0, 1),
            ONE_MORE,
            PermittedSize(0, FREE),
            id="a set that is granted and not made yet has the permit",
        ),
        pytest.param(
            {"a-new": GrantedSize("a", 1)},
            SizeRequest("a", "a-new", 0, 1),
            ONE_MORE,
            PermittedSize(1, PERMIT),
            id="a set's own grant is replaced by its next requested",
        ),
        pytest.param(
            {"b-old": GrantedSize("b", 2)},
            SizeRequest("a", "a-old", 3, 2),
            ONE_LESS,
            PermittedSize(3, FREE),
            id="a machine that is about to go counts as missing",
        ),
        pytest.param(
            {"b-old": GrantedSize("b", 2)},
            SizeRequest("a", "a-new", 0, 1),
            ONE_MORE,
            PermittedSize(1, PERMIT),
            id="but it frees no surge before it went",
        ),
        pytest.param(
            {"gone": GrantedSize("elsewhere", 5)},
            SizeRequest("a", "a-new", 0, 1),
            ONE_MORE,
            PermittedSize(1, PERMIT),
            id="a grant of a zone that is no more counts nothing",
        ),
    ],
)
def test_grants_count_at_their_worst(
    granted: Mapping[str, GrantedSize],
    requested: SizeRequest,
    bounds: Permits,
    permitted: PermittedSize,
) -> None:
    assert permit_size([at_rest("a"), at_rest("b")], requested, bounds, granted) == permitted


def test_every_machine_of_an_unknown_zone_is_surge() -> None:
    assert permit_size([], SizeRequest("a", "s", 0, 2), BOTH) == PermittedSize(2, PERMIT)
    assert permit_size([at_rest("b", 0)], SizeRequest("a", "s", 0, 5), BOTH) == PermittedSize(
        2, PERMIT
    )


def test_an_unchanged_size_needs_no_permit() -> None:
    assert permit_size([at_rest("a")], SizeRequest("a", "a-old", 3, 3)) == PermittedSize(3, False)


def test_used_surge_and_unavailability() -> None:
    zones = [rolling("a", 3, 1), rolling("b", 2, 1, ready=0), at_rest("c")]
    assert permits.surge_used(zones, {}) == 1
    assert permits.unavailable_used(zones, {}) == 1
    assert permits.surge_used(zones, {"c-new": GrantedSize("c", 1)}) == 2
    assert permits.surplus(zones[0]) == 1
