"""A server that is killed after any of its writes in a roll: all converges, nothing is passed."""

import pytest

from tests.unit.nodegroups.rolls import Roll

ROUNDS = 150


async def rolled(roll: Roll, *lives: int | None) -> Roll:
    """Roll with servers that live so many writes each, one after another; the last life repeats."""
    left = iter(lives)
    life = next(left)
    roll.start(life)
    for _ in range(3):
        await roll.play()
    roll.change_template()
    for _ in range(ROUNDS):
        if not await roll.play():
            # Nobody admits anything for a moment; then the next one comes.
            await roll.play()
            life = next(left, life)
            roll.start(life)
        if roll.has_rolled():
            break
    assert roll.has_rolled(), "it has not ended"
    return roll


@pytest.mark.parametrize(
    ("sizes", "permits"),
    [
        pytest.param((2, 1, 1), (1, 0), id="one more"),
        pytest.param((1, 1, 1), (2, 1), id="two more and one less"),
    ],
)
async def test_killed_after_any_one_write_of_a_roll(
    sizes: tuple[int, ...], permits: tuple[int, int]
) -> None:
    whole = await rolled(Roll(*sizes, permits=permits), None)
    assert whole.written > 3 * len(sizes)
    for writes in range(1, whole.written + 1):
        await rolled(Roll(*sizes, permits=permits), writes, None)


async def test_killed_after_every_second_write_of_a_roll() -> None:
    """With one write a life nobody would ever hear of a permit: taking it is a write already."""
    roll = await rolled(Roll(1, 1, 1), 2)
    assert roll.killed > 5
