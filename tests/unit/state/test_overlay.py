"""Assumed writes that are conditional on a version are replaced by any later version."""

from datetime import UTC, datetime

import pytest

from webhook.api.shoots import Shoot, ShootSpec
from webhook.kube.meta import Metadata, ObjectKey
from webhook.state.cluster_state import ClusterState
from webhook.state.store import Store, StoreEntry

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ObjectKey("garden", "shoot")


def make_shoot(seed: str, version: int) -> Shoot:
    metadata = Metadata(namespace="garden", name="shoot", resource_version=str(version))
    return Shoot(metadata=metadata, spec=ShootSpec(seed_name=seed))


@pytest.fixture
def state() -> ClusterState:
    state = ClusterState([Shoot])
    state.observe(Shoot, KEY, StoreEntry(make_shoot("", 5)), "5")
    state.assume(Shoot, KEY, StoreEntry(make_shoot("ours", 5)), NOW, base="5")
    return state


def seed(state: ClusterState) -> str | None:
    found = state.get(Shoot, KEY)
    return found.spec.seed_name if found else None


def test_an_assumed_write_is_shown_until_the_watch_reports_a_later_version(
    state: ClusterState,
) -> None:
    assert seed(state) == "ours"
    state.observe_version(Shoot, "9")
    state.observe(Shoot, KEY, StoreEntry(make_shoot("", 5)), "5")
    assert seed(state) == "ours"


def test_a_later_version_replaces_an_assumed_write_whoever_wrote_it(state: ClusterState) -> None:
    state.observe(Shoot, KEY, StoreEntry(make_shoot("theirs", 6)), "6")
    assert seed(state) == "theirs"
    state.confirm(Shoot, KEY, "7")
    assert seed(state) == "theirs"


def test_a_deletion_replaces_an_assumed_write(state: ClusterState) -> None:
    state.observe(Shoot, KEY, None, "6")
    assert seed(state) is None


def test_a_list_with_a_later_version_replaces_an_assumed_write(state: ClusterState) -> None:
    staged: Store[Shoot] = state.new_store(Shoot)
    staged.put(KEY, make_shoot("", 5))
    state.replace_store(staged, "8")
    assert seed(state) == "ours"
    staged = state.new_store(Shoot)
    staged.put(KEY, make_shoot("theirs", 9))
    state.replace_store(staged, "9")
    assert seed(state) == "theirs"


def test_a_write_conditional_on_an_outdated_version_is_never_shown() -> None:
    state = ClusterState([Shoot])
    state.observe(Shoot, KEY, StoreEntry(make_shoot("theirs", 6)), "6")
    state.assume(Shoot, KEY, StoreEntry(make_shoot("ours", 5)), NOW, base="5")
    assert seed(state) == "theirs"


def test_a_write_conditional_on_a_version_not_yet_seen_is_shown() -> None:
    state = ClusterState([Shoot])
    state.observe(Shoot, KEY, StoreEntry(make_shoot("", 3)), "3")
    state.assume(Shoot, KEY, StoreEntry(make_shoot("ours", 5)), NOW, base="5")
    state.observe(Shoot, KEY, StoreEntry(make_shoot("", 5)), "5")
    assert seed(state) == "ours"
