"""The permits of a pool: what a set gets of what it asks for."""

from collections.abc import Mapping, Sequence

import pytest

from webhook.domain import permits
from webhook.domain.permits import Answer, Granted, SetState, Wish, Zone
from webhook.domain.pools import Permits

ONE_MORE = Permits(1, 0)
ONE_LESS = Permits(0, 1)
BOTH = Permits(2, 1)


def at_rest(name: str, size: int = 3) -> Zone:
    return Zone(name, size, (SetState(f"{name}-old", size, size, size),))


def rolling(name: str, old: int, new: int, *, ready: int | None = None, size: int = 3) -> Zone:
    """A zone between two templates, whose new machines serve so far as `ready` says."""
    serving = new if ready is None else ready
    sets = (SetState(f"{name}-old", old, old, old), SetState(f"{name}-new", new, serving, new))
    return Zone(name, size, sets)


def ask(
    zones: Sequence[Zone],
    wish: Wish,
    bounds: Permits = ONE_MORE,
    granted: Mapping[str, Granted] | None = None,
) -> Answer:
    return permits.judge(bounds, zones, granted or {}, wish)


FREE, PERMIT = False, True


@pytest.mark.parametrize(
    ("zones", "wish", "bounds", "answer"),
    [
        pytest.param(
            [Zone("a", 3, (SetState("s", 1, 1, 1),))],
            Wish("a", "s", 1, 3),
            ONE_MORE,
            Answer(3, FREE),
            id="growth up to the replicas is free",
        ),
        pytest.param(
            [at_rest("a"), at_rest("b")],
            Wish("a", "a-new", 0, 1),
            ONE_MORE,
            Answer(1, PERMIT),
            id="the first surge machine of the pool takes a permit",
        ),
        pytest.param(
            [at_rest("a"), rolling("b", 3, 1)],
            Wish("a", "a-new", 0, 1),
            ONE_MORE,
            Answer(0, FREE),
            id="another zone has the only permit",
        ),
        pytest.param(
            [at_rest("a"), rolling("b", 3, 1)],
            Wish("a", "a-new", 0, 3),
            BOTH,
            Answer(1, PERMIT),
            id="what is left of the surge is given, not nothing",
        ),
        pytest.param(
            [Zone("a", 5, (SetState("a-old", 3, 3, 3), SetState("a-new", 1, 1, 1)))],
            Wish("a", "a-new", 1, 4),
            ONE_MORE,
            Answer(3, PERMIT),
            id="free up to the replicas, beyond by a permit",
        ),
        pytest.param(
            [Zone("a", 3, (SetState("a-old", 2, 2, 3), SetState("a-new", 1, 1, 1)))],
            Wish("a", "a-new", 1, 2),
            ONE_MORE,
            Answer(1, FREE),
            id="a machine that drains still has its permit",
        ),
        pytest.param(
            [Zone("a", 3, (SetState("a-old", 1, 1, 3), SetState("a-new", 1, 1, 1)))],
            Wish("a", "a-new", 1, 2),
            ONE_MORE,
            Answer(2, FREE),
            id="machines that drain never stop growth up to the replicas",
        ),
        pytest.param(
            [at_rest("a")._replace(held=True)],
            Wish("a", "a-new", 0, 1),
            ONE_MORE,
            Answer(0, FREE),
            id="a zone that is held out gets no surge",
        ),
        pytest.param(
            [Zone("a", 5, (SetState("a-old", 3, 3, 3),), held=True)],
            Wish("a", "a-old", 3, 5),
            ONE_MORE,
            Answer(5, FREE),
            id="a zone that is held out may have what it wants",
        ),
        pytest.param(
            [Zone("a", 1, (SetState("a-old", 4, 4, 4),)), at_rest("b")],
            Wish("b", "b-new", 0, 1),
            ONE_MORE,
            Answer(0, FREE),
            id="a zone that was just scaled down uses permits until it is",
        ),
    ],
)
def test_growth(zones: list[Zone], wish: Wish, bounds: Permits, answer: Answer) -> None:
    assert ask(zones, wish, bounds) == answer


@pytest.mark.parametrize(
    ("zones", "wish", "bounds", "answer"),
    [
        pytest.param(
            [rolling("a", 3, 1)],
            Wish("a", "a-old", 3, 2),
            ONE_MORE,
            Answer(2, FREE),
            id="a new machine serves, so an old one may go",
        ),
        pytest.param(
            [rolling("a", 3, 1, ready=0)],
            Wish("a", "a-old", 3, 2),
            ONE_MORE,
            Answer(3, FREE),
            id="the new machine does not serve yet",
        ),
        pytest.param(
            [at_rest("a"), at_rest("b")],
            Wish("a", "a-old", 3, 2),
            ONE_LESS,
            Answer(2, PERMIT),
            id="one of the pool may be missing",
        ),
        pytest.param(
            [at_rest("a"), rolling("b", 2, 1, ready=0)],
            Wish("a", "a-old", 3, 2),
            ONE_LESS,
            Answer(3, FREE),
            id="another zone's machine is missing already",
        ),
        pytest.param(
            [at_rest("a")],
            Wish("a", "a-old", 3, 0),
            ONE_LESS,
            Answer(2, PERMIT),
            id="as far as the permits go",
        ),
        pytest.param(
            [Zone("a", 1, at_rest("a").sets), Zone("b", 3, (SetState("b-old", 3, 0, 3),))],
            Wish("a", "a-old", 3, 1),
            ONE_MORE,
            Answer(1, FREE),
            id="a dead zone never blocks another's scale-down",
        ),
        pytest.param(
            [Zone("a", 0, at_rest("a").sets), Zone("b", 0, (SetState("b-old", 3, 0, 3),))],
            Wish("a", "a-old", 3, 0),
            ONE_MORE,
            Answer(0, FREE),
            id="hibernation is free",
        ),
        pytest.param(
            [Zone("a", 3, (SetState("a-old", 3, 1, 3), SetState("a-new", 1, 1, 1)))],
            Wish("a", "a-old", 3, 1),
            ONE_MORE,
            Answer(1, FREE),
            id="machines that do not serve may go: the set deletes them first",
        ),
        pytest.param(
            [rolling("a", 3, 1, ready=0)],
            Wish("a", "a-new", 1, 0),
            ONE_MORE,
            Answer(0, FREE),
            id="a permit that cannot be used is given back",
        ),
    ],
)
def test_shrinking(zones: list[Zone], wish: Wish, bounds: Permits, answer: Answer) -> None:
    assert ask(zones, wish, bounds) == answer


@pytest.mark.parametrize(
    ("granted", "wish", "bounds", "answer"),
    [
        pytest.param(
            {"b-new": Granted("b", 1)},
            Wish("a", "a-new", 0, 1),
            ONE_MORE,
            Answer(0, FREE),
            id="a set that is granted and not made yet has the permit",
        ),
        pytest.param(
            {"a-new": Granted("a", 1)},
            Wish("a", "a-new", 0, 1),
            ONE_MORE,
            Answer(1, PERMIT),
            id="a set's own grant is replaced by its next request",
        ),
        pytest.param(
            {"b-old": Granted("b", 2)},
            Wish("a", "a-old", 3, 2),
            ONE_LESS,
            Answer(3, FREE),
            id="a machine that is about to go counts as missing",
        ),
        pytest.param(
            {"b-old": Granted("b", 2)},
            Wish("a", "a-new", 0, 1),
            ONE_MORE,
            Answer(1, PERMIT),
            id="but it frees no surge before it went",
        ),
        pytest.param(
            {"gone": Granted("elsewhere", 5)},
            Wish("a", "a-new", 0, 1),
            ONE_MORE,
            Answer(1, PERMIT),
            id="a grant of a zone that is no more counts nothing",
        ),
    ],
)
def test_grants_count_at_their_worst(
    granted: Mapping[str, Granted], wish: Wish, bounds: Permits, answer: Answer
) -> None:
    assert ask([at_rest("a"), at_rest("b")], wish, bounds, granted) == answer


def test_all_that_a_zone_unknown_so_far_asks_for_is_surge() -> None:
    assert ask([], Wish("a", "s", 0, 2), BOTH) == Answer(2, PERMIT)
    assert ask([at_rest("b", 0)], Wish("a", "s", 0, 5), BOTH) == Answer(2, PERMIT)


def test_a_write_that_changes_no_size_is_no_question() -> None:
    assert ask([at_rest("a")], Wish("a", "a-old", 3, 3)) == Answer(3, False)


def test_what_is_used_of_both_semaphores_is_told() -> None:
    zones = [rolling("a", 3, 1), rolling("b", 2, 1, ready=0), at_rest("c")]
    assert permits.surge_used(zones, {}) == 1
    assert permits.unavailable_used(zones, {}) == 1
    assert permits.surge_used(zones, {"c-new": Granted("c", 1)}) == 2
    assert permits.surplus(zones[0]) == 1
