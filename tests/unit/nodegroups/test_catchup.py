"""The first call of a connection waits for the cache."""

import asyncio

import pytest

from tests.support.clocks import FakeClock
from tests.unit.nodegroups.fake_seed import CALLER, Seed, SeedServer, zone_key
from webhook.api.machines import MachineDeployment
from webhook.nodegroups import provider_pb2
from webhook.nodegroups.catchup import CacheLagError

REFRESH = provider_pb2.RefreshRequest()


def _lagging() -> tuple[Seed, SeedServer, FakeClock]:
    seed, clock = Seed(), FakeClock()
    seed.add_pool(1, 0, 0)
    server = SeedServer(seed, clock)
    server.deliver()
    seed.change(MachineDeployment, zone_key(0), {"spec": {"replicas": 2}})
    return seed, server, clock


async def test_the_first_refresh_of_a_connection_waits_for_the_cache() -> None:
    _seed, server, clock = _lagging()
    refreshing = asyncio.create_task(server.provider.refresh(CALLER, REFRESH))
    await clock.advance(1)
    assert not refreshing.done()
    server.deliver()
    await clock.advance(1)
    await refreshing
    assert server.group(0).target == 2


async def test_a_cache_that_does_not_catch_up_is_an_error() -> None:
    _seed, server, clock = _lagging()
    refreshing = asyncio.create_task(server.provider.refresh(CALLER, REFRESH))
    await clock.advance(4)
    with pytest.raises(CacheLagError):
        await refreshing


async def test_a_deleted_zone_has_to_be_deleted_from_the_cache() -> None:
    seed, server, clock = _lagging()
    server.deliver()
    seed.drop(MachineDeployment, zone_key(2))
    refreshing = asyncio.create_task(server.provider.refresh(CALLER, REFRESH))
    await clock.advance(1)
    assert not refreshing.done()
    server.deliver()
    await clock.advance(1)
    await refreshing


async def test_later_refreshes_use_the_cache_without_an_api_server() -> None:
    _seed, server, _clock = _lagging()
    server.deliver()
    await server.provider.refresh(CALLER, REFRESH)
    server.is_away = True
    await server.provider.refresh(CALLER, REFRESH)
