"""The record of a pool: what counts, until when, and how it is written down."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.machines import SHOOT_NAMESPACE, deployment
from webhook.api.core import ConfigMap
from webhook.api.decode import convert
from webhook.api.machines import MachineDeployment
from webhook.domain import poolrecord
from webhook.domain.poolencoding import decode, encode, name_of
from webhook.domain.poolrecord import Grant, HeldOut, Record, Target, ZoneState
from webhook.domain.pools import Pool, PoolKey, Zone

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = PoolKey(SHOOT_NAMESPACE, "mcm:key", "pool")
KIND = MachineDeployment.__name__
Z1, Z2 = f"{SHOOT_NAMESPACE}-pool-z1", f"{SHOOT_NAMESPACE}-pool-z2"
POOL = Pool(KEY, 3, 6, 2, (Zone(Z1, 0, 1, "10"), Zone(Z2, 1, 2, "10")))


def _find(*found: MachineDeployment) -> poolrecord.Find:
    return {each.name: each for each in found}.get


def _at(version: str, zone: int = 0) -> MachineDeployment:
    return deployment(zone=zone, metadata={"resourceVersion": version})


def test_for_every_zone_the_larger_of_size_and_target_is_used() -> None:
    record = poolrecord.aim(Record(KEY), Z1, 3, "10", NOW)
    assert poolrecord.used(POOL, Record(KEY)) == 3
    assert poolrecord.used(POOL, record) == 5
    assert poolrecord.left(POOL, record) == 1
    assert poolrecord.used(POOL, poolrecord.aim(record, Z2, 1, "10", NOW)) == 5


def test_a_target_of_a_zone_that_our_cache_does_not_know_counts_too() -> None:
    assert poolrecord.used(POOL, poolrecord.aim(Record(KEY), "z9", 4, "10", NOW)) == 7


def test_nothing_is_left_of_a_pool_that_has_too_many() -> None:
    assert poolrecord.left(POOL, poolrecord.aim(Record(KEY), Z1, 30, "10", NOW)) == 0


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param("9", (True, ""), id="an older version: the write may still come"),
        pytest.param("10", (True, ""), id="the version it insists on: the same"),
        pytest.param("11", (False, "11"), id="a later one: it has come, or never will"),
    ],
)
def test_a_target_counts_until_the_cache_has_overtaken_it(
    seen: str, expected: tuple[bool, str]
) -> None:
    record = poolrecord.aim(Record(KEY), Z1, 3, "10", NOW)
    settled = poolrecord.settle(record, _find(_at(seen)))
    assert (Z1 in settled.targets, settled.seen_through.get(KIND, "")) == expected


def test_a_target_whose_object_the_cache_does_not_show_stays() -> None:
    record = poolrecord.aim(Record(KEY), Z1, 3, "10", NOW)
    assert poolrecord.settle(record, _find()) == record


def test_settling_asks_for_the_latest_version_it_has_counted_on() -> None:
    record = poolrecord.aim(poolrecord.aim(Record(KEY), Z1, 3, "10", NOW), Z2, 3, "10", NOW)
    settled = poolrecord.settle(record, _find(_at("14"), _at("12", zone=1)))
    assert (settled.targets, settled.seen_through) == ({}, {KIND: "14"})


def test_what_must_have_been_seen_never_goes_back_by_itself() -> None:
    record = poolrecord.see(Record(KEY), KIND, "20")
    assert poolrecord.see(record, KIND, "9") == record
    assert poolrecord.reset_seen(record, KIND, "9").seen_through == {KIND: "9"}


def test_a_failed_write_takes_only_its_own_target_out() -> None:
    record = poolrecord.aim(Record(KEY), Z1, 3, "10", NOW)
    assert poolrecord.drop_target(record, Z1, "9") == record
    assert poolrecord.drop_target(record, Z1, "10").targets == {}
    assert poolrecord.drop_target(record, Z2, "10") == record


def test_a_target_is_looked_into_after_ten_seconds() -> None:
    record = poolrecord.aim(Record(KEY), Z1, 3, "10", NOW)
    assert not poolrecord.overdue(record, NOW + timedelta(seconds=9.9))
    assert [*poolrecord.overdue(record, NOW + timedelta(seconds=10))] == [Z1]


@pytest.mark.parametrize(
    ("live", "fate"),
    [
        pytest.param(None, "drop", id="its object is gone"),
        pytest.param(_at("11"), "drop", id="its object has another version: the write fails"),
        pytest.param(_at("10"), "touch", id="the write may still come: it must be made to fail"),
    ],
)
def test_an_overdue_target_is_dropped_only_when_its_write_cannot_come(
    live: MachineDeployment | None, fate: str
) -> None:
    target = Target(target=3, resource_version="10", time="")
    assert poolrecord.judge(target, live) == fate


def test_a_grant_is_the_last_one_and_lives_for_a_minute() -> None:
    once = poolrecord.grant(Record(KEY), "u", "zone", 2, NOW)
    record = poolrecord.grant(once, "u", "zone", 3, NOW)
    assert (record.grants["u"].size, record.grants["u"].zone) == (3, "zone")
    assert poolrecord.stale_grants(record, NOW + timedelta(seconds=59)) == frozenset()
    assert poolrecord.stale_grants(record, NOW + timedelta(seconds=60)) == {"u"}
    assert poolrecord.drop_grants(record, ["u"]).grants == {}
    assert poolrecord.drop_grants(record, ["other"]) is record


@pytest.mark.parametrize(
    ("state", "standing"),
    [
        pytest.param(None, "good", id="nothing known"),
        pytest.param(ZoneState(until="2026-01-01T12:00:01Z"), "bad", id="until later"),
        pytest.param(
            ZoneState(until="2026-01-01T12:00:01Z", on_trial=True), "bad", id="bad before the trial"
        ),
        pytest.param(
            ZoneState(until="2026-01-01T12:00:00Z", on_trial=True), "trial", id="time is over"
        ),
        pytest.param(ZoneState(until="2026-01-01T12:00:00Z", strikes=2), "good", id="healed"),
        pytest.param(ZoneState(until="whenever"), "good", id="a time that nobody can read"),
    ],
)
def test_how_a_zone_stands(state: ZoneState | None, standing: str) -> None:
    record = poolrecord.with_zone(Record(KEY), Z1, state)
    assert record.standing(Z1, NOW) == standing


def test_zones_are_held_out_and_let_in_again() -> None:
    record = poolrecord.hold_out(Record(KEY), Z1, "no quota", NOW)
    assert record.held_out == {Z1: HeldOut(since="2026-01-01T12:00:00Z", reason="no quota")}
    assert poolrecord.let_in(record, Z1) == Record(KEY)


def test_zones_that_are_no_more_are_forgotten() -> None:
    record = poolrecord.hold_out(poolrecord.aim(Record(KEY), Z1, 1, "1", NOW), Z2, "", NOW)
    assert poolrecord.prune(record, [Z2]) == poolrecord.hold_out(Record(KEY), Z2, "", NOW)


def test_pools_have_names_of_their_own_that_kubernetes_takes() -> None:
    keys = [KEY, KEY._replace(discovery="mcm:other"), KEY._replace(name="Pool_X." + "y" * 300)]
    found = [name_of(key) for key in keys]
    assert len({*found}) == len(keys)
    assert found[0].startswith(f"espalier-pool-{SHOOT_NAMESPACE}-pool-")
    assert all(len(name) <= 253 and name == name.lower() and "_" not in name for name in found)


TEXT = st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=8)


@given(
    st.builds(
        Record,
        st.just(KEY),
        targets=st.dictionaries(
            TEXT,
            st.builds(Target, target=st.integers(0, 99), resource_version=TEXT, time=TEXT),
            max_size=3,
        ),
        zones=st.dictionaries(
            TEXT,
            st.builds(ZoneState, until=TEXT, strikes=st.integers(0, 9), on_trial=st.booleans()),
            max_size=3,
        ),
        grants=st.dictionaries(
            TEXT, st.builds(Grant, size=st.integers(0, 99), time=TEXT), max_size=3
        ),
        held_out=st.dictionaries(TEXT, st.builds(HeldOut, since=TEXT, reason=TEXT), max_size=3),
        seen_through=st.dictionaries(TEXT, TEXT, max_size=3),
        version=st.sampled_from(["", "7"]),
    )
)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    assert decode(convert(ConfigMap, encode(record, "espalier-system"))) == record


def test_what_we_did_not_write_is_left_out() -> None:
    draft = encode(poolrecord.aim(Record(KEY), Z1, 3, "10", NOW), "espalier-system")
    draft["data"] |= {"zones": "{", "grants": '{"u": {"size": "many"}}', "more": "?"}
    assert decode(convert(ConfigMap, draft)) == poolrecord.aim(Record(KEY), Z1, 3, "10", NOW)
    draft["data"]["pool"] = "{}"
    assert decode(convert(ConfigMap, draft)) is None
    del draft["metadata"]["labels"]
    assert decode(convert(ConfigMap, draft)) is None
