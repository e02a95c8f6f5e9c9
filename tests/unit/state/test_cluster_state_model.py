"""ClusterState against a naive model: events, writes and relists in any order read the same."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from webhook.api.cloudprofiles import CloudProfile
from webhook.api.shoots import Shoot, ShootSpec, ShootStatus
from webhook.kube.meta import KindKey, Metadata, ObjectKey
from webhook.state.cluster_state import ClusterState
from webhook.state.indexes import INDEXES, SHOOTS_BY_SEED
from webhook.state.store import StoreEntry
from webhook.state.totals import SEED_USAGE, Reader, Total, Vector

START = datetime(2026, 1, 1, tzinfo=UTC)

SEEDS = ("", "alpha", "beta")
NAMES = ("a", "b", "c")
PROFILES = ("small", "large")


def profile_of(shoot: Shoot) -> Iterable[KindKey]:
    return ((CloudProfile, ObjectKey("", shoot.spec.cloud_profile_name)),)


def weigh(shoot: Shoot, reader: Reader) -> Vector:
    profile = reader.get(CloudProfile, ObjectKey("", shoot.spec.cloud_profile_name))
    weight = Decimal(profile.metadata.labels["weight"]) if profile else Decimal(0)
    return {"weight": weight, "shoots": Decimal(1)}


WEIGHTS: Total[Shoot] = Total(
    "weights", Shoot, lambda shoot: (shoot.spec.purpose,), weigh, profile_of
)

shoots = st.builds(
    lambda name, spec_seed, status_seed, profile, purpose: Shoot(
        metadata=Metadata(namespace="garden", name=name),
        spec=ShootSpec(seed_name=spec_seed, cloud_profile_name=profile, purpose=purpose),
        status=ShootStatus(seed_name=status_seed),
    ),
    st.sampled_from(NAMES),
    st.sampled_from(SEEDS),
    st.sampled_from(SEEDS),
    st.sampled_from(PROFILES),
    st.sampled_from(("test", "live")),
)


def at_version(shoot: Shoot, version: int) -> Shoot:
    metadata = Metadata(namespace=shoot.namespace, name=shoot.name, resource_version=str(version))
    return Shoot(metadata=metadata, spec=shoot.spec, status=shoot.status)


class ClusterStateMachine(RuleBasedStateMachine):
    """A ClusterState beside plain dicts of seen objects, assumed writes and profiles."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ClusterState([Shoot, CloudProfile], INDEXES, (SEED_USAGE, WEIGHTS))
        self.version = 1
        self.now = START
        self.seen: dict[ObjectKey, Shoot] = {}
        self.profiles: dict[str, Decimal] = {}
        # key -> (object or None, version or 0 while in flight, version last seen, expiry)
        self.assumed: dict[ObjectKey, tuple[Shoot | None, int, int, datetime]] = {}

    def _record_seen(self, key: ObjectKey, version: int) -> None:
        if key in self.assumed:
            obj, written, _, expires = self.assumed[key]
            if written and version >= written:
                del self.assumed[key]
            else:
                self.assumed[key] = (obj, written, version, expires)

    @rule(shoot=shoots)
    def the_watch_reports_a_shoot(self, shoot: Shoot) -> None:
        self.version += 1
        shoot = at_version(shoot, self.version)
        before = self.state.observe(Shoot, shoot.key, StoreEntry(shoot), str(self.version))
        assert before == self.seen.get(shoot.key)
        self.seen[shoot.key] = shoot
        self._record_seen(shoot.key, self.version)

    @rule(name=st.sampled_from(NAMES))
    def the_watch_reports_a_deletion(self, name: str) -> None:
        self.version += 1
        key = ObjectKey("garden", name)
        assert self.state.observe(Shoot, key, None, str(self.version)) == self.seen.pop(key, None)
        self._record_seen(key, self.version)

    @rule()
    def the_watch_reports_a_bookmark(self) -> None:
        self.version += 1
        self.state.observe_version(Shoot, str(self.version))
        for key in [*self.assumed]:
            self._record_seen(key, self.version)

    @rule(listed=st.lists(shoots, max_size=3))
    def a_relist_replaces_everything(self, listed: list[Shoot]) -> None:
        self.version += 1
        store = self.state.new_store(Shoot)
        self.seen = {}
        for shoot in listed:
            fresh = at_version(shoot, self.version)
            store.put(fresh.key, fresh)
            self.seen[fresh.key] = fresh
        self.state.replace_store(store, str(self.version))
        for key in [*self.assumed]:
            self._record_seen(key, self.version)

    @rule(name=st.sampled_from(PROFILES), weight=st.integers(1, 9))
    def a_profile_changes(self, name: str, weight: int) -> None:
        self.version += 1
        metadata = Metadata(
            name=name, labels={"weight": str(weight)}, resource_version=str(self.version)
        )
        profile = CloudProfile(metadata=metadata)
        self.state.observe(CloudProfile, profile.key, StoreEntry(profile), str(self.version))
        self.profiles[name] = Decimal(weight)

    @rule(weights=st.dictionaries(st.sampled_from(PROFILES), st.integers(1, 9)))
    def the_profiles_are_relisted(self, weights: dict[str, int]) -> None:
        self.version += 1
        store = self.state.new_store(CloudProfile)
        for name, weight in weights.items():
            profile = CloudProfile(metadata=Metadata(name=name, labels={"weight": str(weight)}))
            store.put(profile.key, profile)
        self.state.replace_store(store, str(self.version))
        self.profiles = {name: Decimal(weight) for name, weight in weights.items()}

    @rule(shoot=shoots, deleted=st.booleans(), seconds=st.integers(1, 5))
    def a_write_is_assumed(self, shoot: Shoot, deleted: bool, seconds: int) -> None:
        expires = self.now + timedelta(seconds=seconds)
        entry = None if deleted else StoreEntry(shoot)
        self.state.assume(Shoot, shoot.key, entry, expires)
        shown = self.seen.get(shoot.key)
        at = int(shown.resource_version) if shown else 0
        if shoot.key in self.assumed:
            at = self.assumed[shoot.key][2]
        self.assumed[shoot.key] = (None if deleted else shoot, 0, at, expires)

    @rule(name=st.sampled_from(NAMES), early=st.booleans())
    def a_write_is_confirmed(self, name: str, early: bool) -> None:
        key = ObjectKey("garden", name)
        if not early:
            self.version += 1
        self.state.confirm(Shoot, key, str(self.version))
        if key in self.assumed:
            obj, _, seen, expires = self.assumed[key]
            if seen >= self.version:
                del self.assumed[key]
            else:
                self.assumed[key] = (obj, self.version, seen, expires)

    @rule(name=st.sampled_from(NAMES))
    def a_write_fails(self, name: str) -> None:
        key = ObjectKey("garden", name)
        self.state.forget(Shoot, key)
        self.assumed.pop(key, None)

    @rule(seconds=st.integers(1, 4))
    def time_passes(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        due = {key for key, entry in self.assumed.items() if entry[3] <= self.now}
        assert {*self.state.expire(self.now).get(Shoot, ())} == due
        for key in due:
            del self.assumed[key]

    @invariant()
    def every_read_agrees_with_the_model(self) -> None:
        expected = dict(self.seen)
        for key, (obj, *_) in self.assumed.items():
            if obj is None:
                expected.pop(key, None)
            else:
                expected[key] = obj
        assert {shoot.key: shoot for shoot in self.state.store(Shoot).list()} == expected
        for seed in SEEDS[1:]:
            there = {
                key
                for key, shoot in expected.items()
                if seed in (shoot.spec.seed_name, shoot.status.seed_name)
            }
            assert {shoot.key for shoot in self.state.by_index(SHOOTS_BY_SEED, seed)} == there
            usage = self.state.total(SEED_USAGE, seed)
            assert usage.get("shoots", 0) == len(there)

    @rule(parts=st.integers(1, 4))
    def sums_are_refreshed_while_idle(self, parts: int) -> None:
        for _ in range(parts):
            self.state.refresh_one()

    @rule(purpose=st.sampled_from(("test", "live")))
    def sums_over_other_objects_agree(self, purpose: str) -> None:
        shown = [shoot for shoot in self.state.store(Shoot).list() if shoot.spec.purpose == purpose]
        weight = sum(
            self.profiles.get(shoot.spec.cloud_profile_name, Decimal(0)) for shoot in shown
        )
        total = self.state.total(WEIGHTS, purpose)
        assert total == ({"weight": weight, "shoots": Decimal(len(shown))} if shown else {})


ClusterStateMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None
)
TestClusterState = ClusterStateMachine.TestCase
