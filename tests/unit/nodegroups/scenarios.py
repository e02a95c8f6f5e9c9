"""Scenarios of two servers with one pool; each one failed once, or would without some check."""

from typing import NamedTuple


class Step(NamedTuple):
    """One step of a scenario: an action of one server or of the seed, with zone and amount."""

    server: int
    what: str
    zone: int = 0
    amount: int = 1


ALL = 4
"""The amount with which a cache receives all events."""


def slow_write(one: int, x: int, y: int, n: int) -> list[Step]:
    """A write takes so long that the other server takes its writer for dead."""
    other = 1 - one
    return [
        *(Step(one, "delay", x, 2), Step(one, "grow", x, n), Step(one, "wait", x, 4)),
        *(Step(one, "sleep", x, 4), Step(other, "deliver", x, ALL), Step(other, "grow", y, ALL)),
        *(Step(other, "wait", x, 2), Step(other, "deliver", x, ALL), Step(one, "release")),
    ]


def lagging_cache(one: int, x: int, y: int, n: int) -> list[Step]:
    """The cache of a server lacks the targets that the other has written and dropped."""
    other = 1 - one
    return [
        *(Step(one, "grow", x, n), Step(one, "wait"), Step(one, "deliver", x, ALL)),
        *(Step(one, "grow", y, 1), Step(one, "wait"), Step(other, "grow", 3 - x - y, ALL)),
        Step(other, "sleep"),
    ]


def higher_target(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server sets a higher target in a zone where a write is delayed."""
    other = 1 - one
    return [
        *(Step(one, "delay", x, 2), Step(one, "grow", x, 1), Step(one, "sleep")),
        *(Step(other, "grow", x, n), Step(other, "wait"), Step(one, "grow", y, ALL)),
    ]


def dead_writer(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server dies, and its write is lost."""
    dead = (
        Step(one, "grow", x, n),
        Step(one, "wait"),
        Step(one, "restart", x, ALL),
        Step(one, "lose"),
    )
    return [Step(one, "delay", x, 2), *dead, Step(1 - one, "grow", y, 1)]


def lost_record(one: int, x: int, y: int, n: int) -> list[Step]:
    """The write of a record is lost, without an answer."""
    asked = (Step(one, "dropped"), Step(one, "grow", x, n), Step(one, "wait", x, 2))
    return [*asked, Step(1 - one, "grow", y, ALL), Step(1 - one, "wait")]


def machine_joins(one: int, x: int, y: int, n: int) -> list[Step]:
    """A machine becomes a Node while a server whose cache lacks it removes its replica."""
    made = (Step(one, "grow", x, n), Step(one, "wait"), Step(one, "list", x))
    held = Step(one, "delay", x, 1)
    gone = (Step(one, "shrink", x, n), Step(one, "delete", x, y + 1))
    sent = (held, gone[0], Step(one, "wait"))
    return [*made, *sent, Step(one, "join", x), Step(one, "release"), *gone]


def repeated_deletion(one: int, x: int, y: int, n: int) -> list[Step]:
    """Nodes are deleted, some of them twice, and replicas without a Node are removed."""
    made = (Step(one, "grow", x, 2), Step(one, "wait"))
    born = (Step(one, "join", x), Step(one, "join", x), Step(one, "deliver", x, ALL))
    gone = (Step(one, "list", x), Step(one, "delete", x, n), Step(one, "wait"))
    return [*made, *born, *gone, Step(one, "delete", x, n), Step(one, "shrink", x, n)]


def older_version(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server sets a higher target for an older version than that of a delayed write."""
    other = 1 - one
    sent = (Step(one, "touch", x, n), Step(one, "deliver", x, ALL), Step(one, "delay", x, 2))
    over = (Step(other, "delay", x, 2), Step(other, "grow", x, n + 1), Step(other, "wait"))
    gone = (Step(other, "restart", x, ALL), Step(other, "grow", y, ALL), Step(other, "wait"))
    return [*sent, Step(one, "grow", x, n), Step(one, "wait"), *over, *gone, Step(one, "release")]


def lower_target(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server sets a lower target than that of a delayed write, and dies."""
    other = 1 - one
    sent = (Step(one, "delay", x, 2), Step(one, "grow", x, n + 1), Step(one, "wait"))
    less = (Step(other, "delay", x, 2), Step(other, "grow", x, 1), Step(other, "wait"))
    gone = (Step(other, "restart", x, ALL), Step(other, "grow", y, ALL), Step(other, "wait"))
    return [*sent, *less, *gone, Step(one, "release")]


def renewed_target(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server drops a target that the other has set again while the first write was delayed."""
    other = 1 - one
    dead = (
        Step(one, "grow", x, n),
        Step(one, "wait"),
        Step(one, "restart", x, ALL),
        Step(one, "lose"),
    )
    late = (Step(one, "sleep", x, 4), Step(other, "deliver", x, ALL), Step(other, "delay", x, 2))
    anew = (Step(one, "deliver", x, ALL), Step(one, "grow", x, n), Step(one, "wait"))
    seen = (Step(other, "deliver", x, 1), Step(one, "release"), Step(other, "wait"))
    asked = (Step(other, "grow", y, ALL), Step(other, "wait"))
    return [Step(one, "delay", x, 2), *dead, *late, *asked, *anew, *seen]


def restart_with_old_cache(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server starts with an older cache than the one by which the other dropped a target."""
    other = 1 - one
    made = (Step(one, "grow", x, n), Step(one, "wait"), Step(one, "restart", x, 1))
    late = (Step(other, "deliver", x, 1), Step(one, "sleep", x, 4), Step(other, "grow", y, 1))
    return [*made, *late, Step(other, "wait"), Step(one, "grow", 3 - x - y, ALL), Step(one, "wait")]


SCENARIOS = (
    *(
        slow_write,
        lagging_cache,
        higher_target,
        dead_writer,
        lost_record,
        machine_joins,
        repeated_deletion,
    ),
    *(older_version, lower_target, renewed_target, restart_with_old_cache),
)
