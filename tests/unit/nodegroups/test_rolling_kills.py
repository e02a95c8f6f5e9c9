"""A rolling update converges within its permits if the server is killed after any write.

Here every write kills once. Beside a real machine-controller-manager (tests/faults/test_pools.py) a
run kills only a few times, and a soak at every write.
"""

import pytest

from tests.unit.nodegroups.rolling_pool import RollingPool

ROUNDS = 150


async def run_update(pool: RollingPool, *lives: int | None) -> RollingPool:
    """Roll with servers that are killed after some writes each; the last number repeats."""
    left = iter(lives)
    life = next(left)
    pool.start(life)
    for _ in range(3):
        await pool.run_round()
    pool.change_template()
    for _ in range(ROUNDS):
        if not await pool.run_round():
            # For one round there is no server.
            await pool.run_round()
            life = next(left, life)
            pool.start(life)
        if pool.has_rolled():
            break
    assert pool.has_rolled(), "the update has not ended"
    return pool


@pytest.mark.parametrize(
    ("sizes", "permits"),
    [
        pytest.param((2, 1, 1), (1, 0), id="one surge"),
        pytest.param((1, 1, 1), (2, 1), id="two surge, one unavailable"),
    ],
)
async def test_killed_once_after_any_write(
    sizes: tuple[int, ...], permits: tuple[int, int]
) -> None:
    whole = await run_update(RollingPool(*sizes, permits=permits), None)
    assert whole.written > 3 * len(sizes)
    for writes in range(1, whole.written + 1):
        await run_update(RollingPool(*sizes, permits=permits), writes, None)


async def test_killed_after_every_second_write() -> None:
    """Not after every write: recording a permit is one, and its answer has to arrive."""
    pool = await run_update(RollingPool(1, 1, 1), 2)
    assert pool.killed > 5
