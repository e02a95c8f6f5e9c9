"""Assumed writes that insist on a version give way to whatever comes after it."""

from datetime import UTC, datetime

import pytest

from webhook.api.meta import Metadata, ObjectKey
from webhook.api.shoots import Shoot, ShootSpec
from webhook.state.memory import Memory
from webhook.state.store import Entry, Store

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ObjectKey("garden", "shoot")


def make_shoot(seed: str, version: int) -> Shoot:
    metadata = Metadata(namespace="garden", name="shoot", resource_version=str(version))
    return Shoot(metadata=metadata, spec=ShootSpec(seed_name=seed))


@pytest.fixture
def memory() -> Memory:
    memory = Memory([Shoot])
    memory.observe(Shoot, KEY, Entry(make_shoot("", 5)), "5")
    memory.assume(Shoot, KEY, Entry(make_shoot("ours", 5)), NOW, base="5")
    return memory


def seed(memory: Memory) -> str | None:
    found = memory.get(Shoot, KEY)
    return found.spec.seed_name if found else None


def test_it_is_shown_as_long_as_the_watch_shows_nothing_later(memory: Memory) -> None:
    assert seed(memory) == "ours"
    memory.observe_version(Shoot, "9")
    memory.observe(Shoot, KEY, Entry(make_shoot("", 5)), "5")
    assert seed(memory) == "ours"


def test_a_later_version_is_the_truth_whoever_wrote_it(memory: Memory) -> None:
    memory.observe(Shoot, KEY, Entry(make_shoot("theirs", 6)), "6")
    assert seed(memory) == "theirs"
    memory.confirm(Shoot, KEY, "7")
    assert seed(memory) == "theirs"


def test_an_object_that_is_gone_is_gone(memory: Memory) -> None:
    memory.observe(Shoot, KEY, None, "6")
    assert seed(memory) is None


def test_a_list_is_the_truth_too(memory: Memory) -> None:
    staged: Store[Shoot] = memory.stage(Shoot)
    staged.put(KEY, make_shoot("", 5))
    memory.adopt(staged, "8")
    assert seed(memory) == "ours"
    staged = memory.stage(Shoot)
    staged.put(KEY, make_shoot("theirs", 9))
    memory.adopt(staged, "9")
    assert seed(memory) == "theirs"


def test_a_write_at_a_version_that_is_past_is_never_shown() -> None:
    memory = Memory([Shoot])
    memory.observe(Shoot, KEY, Entry(make_shoot("theirs", 6)), "6")
    memory.assume(Shoot, KEY, Entry(make_shoot("ours", 5)), NOW, base="5")
    assert seed(memory) == "theirs"


def test_a_write_at_a_version_that_the_watch_has_not_shown_yet_is_shown() -> None:
    memory = Memory([Shoot])
    memory.observe(Shoot, KEY, Entry(make_shoot("", 3)), "3")
    memory.assume(Shoot, KEY, Entry(make_shoot("ours", 5)), NOW, base="5")
    memory.observe(Shoot, KEY, Entry(make_shoot("", 5)), "5")
    assert seed(memory) == "ours"
