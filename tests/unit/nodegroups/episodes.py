"""Stories of two servers with one pool that once went wrong, or would but for one check."""

from typing import NamedTuple


class Step(NamedTuple):
    """Something that happens: to one of both servers, in a zone, so much."""

    server: int
    what: str
    zone: int = 0
    amount: int = 1


ALL = 4
"""The amount by which a server sees everything that happened so far."""


def sleeper(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server's write is on its way for so long that the other takes it for dead."""
    other = 1 - one
    return [
        *(Step(one, "held", x, 2), Step(one, "grow", x, n), Step(one, "wait", x, 4)),
        *(Step(one, "sleep", x, 4), Step(other, "look", x, ALL), Step(other, "grow", y, ALL)),
        *(Step(other, "wait", x, 2), Step(other, "look", x, ALL), Step(one, "arrive")),
    ]


def straggler(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server has seen nothing of what the other has written and struck out."""
    other = 1 - one
    return [
        *(Step(one, "grow", x, n), Step(one, "wait"), Step(one, "look", x, ALL)),
        *(Step(one, "grow", y, 1), Step(one, "wait"), Step(other, "grow", 3 - x - y, ALL)),
        Step(other, "sleep"),
    ]


def successor(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server aims higher than the one whose write is on its way, in the same zone."""
    other = 1 - one
    return [
        *(Step(one, "held", x, 2), Step(one, "grow", x, 1), Step(one, "sleep")),
        *(Step(other, "grow", x, n), Step(other, "wait"), Step(one, "grow", y, ALL)),
    ]


def widow(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server dies with a write on its way that never comes."""
    dead = (
        Step(one, "grow", x, n),
        Step(one, "wait"),
        Step(one, "restart", x, ALL),
        Step(one, "vanish"),
    )
    return [Step(one, "held", x, 2), *dead, Step(1 - one, "grow", y, 1)]


def ghost(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server's entry in the record never came, and nobody told it so."""
    asked = (Step(one, "dropped"), Step(one, "grow", x, n), Step(one, "wait", x, 2))
    return [*asked, Step(1 - one, "grow", y, ALL), Step(1 - one, "wait")]


def newborn(one: int, x: int, y: int, n: int) -> list[Step]:
    """A machine becomes a Node while a server, who has not seen it, gives its replica up."""
    made = (Step(one, "grow", x, n), Step(one, "wait"), Step(one, "list", x))
    held = Step(one, "held", x, 1)
    gone = (Step(one, "shrink", x, n), Step(one, "delete", x, y + 1))
    sent = (held, gone[0], Step(one, "wait"))
    return [*made, *sent, Step(one, "join", x), Step(one, "arrive"), *gone]


def farewell(one: int, x: int, y: int, n: int) -> list[Step]:
    """Nodes are deleted, some of them twice, and what is no Node is taken back."""
    made = (Step(one, "grow", x, 2), Step(one, "wait"))
    born = (Step(one, "join", x), Step(one, "join", x), Step(one, "look", x, ALL))
    gone = (Step(one, "list", x), Step(one, "delete", x, n), Step(one, "wait"))
    return [*made, *born, *gone, Step(one, "delete", x, n), Step(one, "shrink", x, n)]


def usurper(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server whose cache is held aims higher at an older version than a write on its way."""
    other = 1 - one
    sent = (Step(one, "touch", x, n), Step(one, "look", x, ALL), Step(one, "held", x, 2))
    over = (Step(other, "held", x, 2), Step(other, "grow", x, n + 1), Step(other, "wait"))
    gone = (Step(other, "restart", x, ALL), Step(other, "grow", y, ALL), Step(other, "wait"))
    return [*sent, Step(one, "grow", x, n), Step(one, "wait"), *over, *gone, Step(one, "arrive")]


def lesser(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server aims lower than a write that is on its way, and dies with its own."""
    other = 1 - one
    sent = (Step(one, "held", x, 2), Step(one, "grow", x, n + 1), Step(one, "wait"))
    less = (Step(other, "held", x, 2), Step(other, "grow", x, 1), Step(other, "wait"))
    gone = (Step(other, "restart", x, ALL), Step(other, "grow", y, ALL), Step(other, "wait"))
    return [*sent, *less, *gone, Step(one, "arrive")]


def renewal(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server strikes out what another has aimed at anew while that write slept."""
    other = 1 - one
    dead = (
        Step(one, "grow", x, n),
        Step(one, "wait"),
        Step(one, "restart", x, ALL),
        Step(one, "vanish"),
    )
    late = (Step(one, "sleep", x, 4), Step(other, "look", x, ALL), Step(other, "held", x, 2))
    anew = (Step(one, "look", x, ALL), Step(one, "grow", x, n), Step(one, "wait"))
    seen = (Step(other, "look", x, 1), Step(one, "arrive"), Step(other, "wait"))
    asked = (Step(other, "grow", y, ALL), Step(other, "wait"))
    return [Step(one, "held", x, 2), *dead, *late, *asked, *anew, *seen]


def laggard(one: int, x: int, y: int, n: int) -> list[Step]:
    """A server starts with an older view than the one by which another struck something out."""
    other = 1 - one
    made = (Step(one, "grow", x, n), Step(one, "wait"), Step(one, "restart", x, 1))
    late = (Step(other, "look", x, 1), Step(one, "sleep", x, 4), Step(other, "grow", y, 1))
    return [*made, *late, Step(other, "wait"), Step(one, "grow", 3 - x - y, ALL), Step(one, "wait")]


EPISODES = (
    *(sleeper, straggler, successor, widow, ghost, newborn, farewell),
    *(usurper, lesser, renewal, laggard),
)
