"""Seeds are exported by seed and resource; deleted ones leave no series."""

from prometheus_client import CollectorRegistry, generate_latest

from tests.support.fake_cache import FakeCache
from tests.support.landscape_objects import MULTI_ZONE, make_seed, make_shoot
from webhook.controllers.seedcapacity.collector import SeedCollector
from webhook.state.snapshot import Snapshot


def snapshot() -> Snapshot:
    seeds = [make_seed("a", shoots="0.5k"), make_seed("b", shoots="many")]
    return Snapshot.of([*seeds, make_shoot(seed="a", ha=MULTI_ZONE)])


def expose(synced: bool) -> str:
    registry = CollectorRegistry()
    registry.register(SeedCollector(FakeCache(snapshot, synced=synced)))
    return generate_latest(registry).decode()


def test_seeds_are_exported() -> None:
    text = expose(synced=True)
    assert 'espalier_seed_capacity{resource="shoots",seed="a"} 500.0' in text
    assert 'espalier_seed_allocatable{resource="shoots",seed="a"} 500.0' in text
    assert 'espalier_seed_used{resource="shoots",seed="a"} 1.0' in text
    assert 'espalier_seed_used{resource="persistent-volumes",seed="a"} 3.0' in text
    assert 'seed="b"' not in text


def test_nothing_is_exported_before_the_cache_is_synced() -> None:
    assert "seed=" not in expose(synced=False)
