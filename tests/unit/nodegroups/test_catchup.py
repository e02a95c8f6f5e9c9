"""A new connection is not answered from a cache that lags behind the API server."""

import asyncio

import pytest

from tests.clocks import FakeClock
from tests.unit.nodegroups.seed import CALLER, Seed, SeedServer, zone_key
from webhook.api.machines import MachineDeployment
from webhook.nodegroups import provider_pb2 as wire
from webhook.nodegroups.catchup import NotCaughtUpError

REFRESH = wire.RefreshRequest()


def _lagging() -> tuple[Seed, SeedServer, FakeClock]:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(1, 0, 0)
    server = SeedServer(seed, clock)
    server.look()
    seed.change(MachineDeployment, zone_key(0), {"spec": {"replicas": 2}})
    return seed, server, clock


async def test_the_first_refresh_of_a_connection_waits_for_the_cache() -> None:
    _seed, server, clock = _lagging()
    refreshing = asyncio.create_task(server.provider.refresh(CALLER, REFRESH))
    await clock.advance(1)
    assert not refreshing.done()
    server.look()
    await clock.advance(1)
    await refreshing
    assert server.group(0).target == 2


async def test_a_cache_that_does_not_catch_up_is_said_to_lag() -> None:
    _seed, server, clock = _lagging()
    refreshing = asyncio.create_task(server.provider.refresh(CALLER, REFRESH))
    await clock.advance(4)
    with pytest.raises(NotCaughtUpError):
        await refreshing


async def test_a_zone_that_is_gone_must_be_gone_here_too() -> None:
    seed, server, clock = _lagging()
    server.look()
    seed.drop(MachineDeployment, zone_key(2))
    refreshing = asyncio.create_task(server.provider.refresh(CALLER, REFRESH))
    await clock.advance(1)
    assert not refreshing.done()
    server.look()
    await clock.advance(1)
    await refreshing


async def test_later_refreshes_come_from_memory_even_when_nobody_answers() -> None:
    _seed, server, _clock = _lagging()
    server.look()
    await server.provider.refresh(CALLER, REFRESH)
    server.is_away = True
    await server.provider.refresh(CALLER, REFRESH)
