"""Pool records: targets, grants, zones, and the encoding as a ConfigMap."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.machine_objects import SHOOT_NAMESPACE, deployment
from webhook.api.core import ConfigMap
from webhook.api.decode import convert
from webhook.api.machines import MachineDeployment
from webhook.domain.pools import pool_record
from webhook.domain.pools.discovery import Pool, PoolKey, PoolZone
from webhook.domain.pools.pool_record import (
    HeldOut,
    OpenIncrease,
    PermitGrant,
    PoolRecord,
    SizeTarget,
    ZoneState,
)
from webhook.domain.pools.record_encoding import decode, encode, name_of

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = PoolKey(SHOOT_NAMESPACE, "mcm:key", "pool")
KIND = MachineDeployment.__name__
Z1, Z2 = f"{SHOOT_NAMESPACE}-pool-z1", f"{SHOOT_NAMESPACE}-pool-z2"
POOL = Pool(KEY, 3, 6, 2, (PoolZone(Z1, 0, 1, "10"), PoolZone(Z2, 1, 2, "10")))


def _find(*found: MachineDeployment) -> pool_record.Find:
    return {each.name: each for each in found}.get


def _at(version: str, zone: int = 0) -> MachineDeployment:
    return deployment(zone=zone, metadata={"resourceVersion": version})


def test_for_every_zone_the_larger_of_size_and_target_counts() -> None:
    record = pool_record.add_target(PoolRecord(KEY), Z1, 3, "10", NOW)
    assert pool_record.committed_size(POOL, PoolRecord(KEY)) == 3
    assert pool_record.committed_size(POOL, record) == 5
    assert pool_record.remaining_size(POOL, record) == 1
    assert pool_record.committed_size(POOL, pool_record.add_target(record, Z2, 1, "10", NOW)) == 5


def test_a_target_of_a_zone_that_is_not_cached_counts() -> None:
    assert (
        pool_record.committed_size(
            POOL, pool_record.add_target(PoolRecord(KEY), "z9", 4, "10", NOW)
        )
        == 7
    )


def test_the_remaining_size_is_never_negative() -> None:
    assert (
        pool_record.remaining_size(POOL, pool_record.add_target(PoolRecord(KEY), Z1, 30, "10", NOW))
        == 0
    )


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param("9", (True, ""), id="an older version: the write may still come"),
        pytest.param("10", (True, ""), id="the version it requires: the same"),
        pytest.param("11", (False, "11"), id="a later one: it has come, or never will"),
    ],
)
def test_a_target_counts_until_the_cache_shows_a_later_version(
    seen: str, expected: tuple[bool, str]
) -> None:
    record = pool_record.add_target(PoolRecord(KEY), Z1, 3, "10", NOW)
    pruned = pool_record.drop_observed_targets(record, _find(_at(seen)))
    assert (Z1 in pruned.targets, pruned.seen_through.get(KIND, "")) == expected


def test_a_target_whose_object_is_not_cached_stays() -> None:
    record = pool_record.add_target(PoolRecord(KEY), Z1, 3, "10", NOW)
    assert pool_record.drop_observed_targets(record, _find()) == record


def test_dropping_targets_raises_seen_through_to_the_latest_version() -> None:
    record = pool_record.add_target(
        pool_record.add_target(PoolRecord(KEY), Z1, 3, "10", NOW), Z2, 3, "10", NOW
    )
    pruned = pool_record.drop_observed_targets(record, _find(_at("14"), _at("12", zone=1)))
    assert (pruned.targets, pruned.seen_through) == ({}, {KIND: "14"})


def test_seen_through_is_never_lowered_except_by_reset() -> None:
    record = pool_record.raise_seen_through(PoolRecord(KEY), KIND, "20")
    assert pool_record.raise_seen_through(record, KIND, "9") == record
    assert pool_record.reset_seen_through(record, KIND, "9").seen_through == {KIND: "9"}


def test_a_failed_write_removes_only_its_own_target() -> None:
    record = pool_record.add_target(PoolRecord(KEY), Z1, 3, "10", NOW)
    assert pool_record.drop_target(record, Z1, "9") == record
    assert pool_record.drop_target(record, Z1, "10").targets == {}
    assert pool_record.drop_target(record, Z2, "10") == record


def test_a_target_is_overdue_after_ten_seconds() -> None:
    record = pool_record.add_target(PoolRecord(KEY), Z1, 3, "10", NOW)
    assert not pool_record.overdue(record, NOW + timedelta(seconds=9.9))
    assert [*pool_record.overdue(record, NOW + timedelta(seconds=10))] == [Z1]


@pytest.mark.parametrize(
    ("live", "fate"),
    [
        pytest.param(None, "drop", id="its object is gone"),
        pytest.param(_at("11"), "drop", id="its object has another version: the write fails"),
        pytest.param(_at("10"), "touch", id="the write may still come: it must be made to fail"),
    ],
)
def test_an_overdue_target_is_dropped_only_if_its_write_can_no_longer_happen(
    live: MachineDeployment | None, fate: str
) -> None:
    target = SizeTarget(target=3, resource_version="10", time="")
    assert pool_record.resolve_overdue(target, live) == fate


def test_a_grant_replaces_the_last_one_and_expires_after_a_minute() -> None:
    once = pool_record.add_grant(PoolRecord(KEY), "u", "zone", 2, NOW)
    record = pool_record.add_grant(once, "u", "zone", 3, NOW)
    assert (record.grants["u"].size, record.grants["u"].zone) == (3, "zone")
    assert pool_record.stale_grants(record, NOW + timedelta(seconds=59)) == frozenset()
    assert pool_record.stale_grants(record, NOW + timedelta(seconds=60)) == {"u"}
    assert pool_record.drop_grants(record, ["u"]).grants == {}
    assert pool_record.drop_grants(record, ["other"]) is record


@pytest.mark.parametrize(
    ("state", "zone_health"),
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
def test_zone_health(state: ZoneState | None, zone_health: str) -> None:
    record = pool_record.with_zone_state(PoolRecord(KEY), Z1, state)
    assert record.zone_health(Z1, NOW) == zone_health


def test_zones_are_held_out_and_included_again() -> None:
    record = pool_record.hold_out(PoolRecord(KEY), Z1, "no quota", NOW)
    assert record.held_out == {Z1: HeldOut(since="2026-01-01T12:00:00Z", reason="no quota")}
    assert pool_record.end_hold_out(record, Z1) == PoolRecord(KEY)


def test_zones_that_no_longer_exist_are_removed() -> None:
    record = pool_record.hold_out(
        pool_record.add_target(PoolRecord(KEY), Z1, 1, "1", NOW), Z2, "", NOW
    )
    assert pool_record.prune(record, [Z2]) == pool_record.hold_out(PoolRecord(KEY), Z2, "", NOW)


def test_names_of_records_are_unique_and_valid() -> None:
    keys = [KEY, KEY._replace(discovery="mcm:other"), KEY._replace(name="Pool_X." + "y" * 300)]
    found = [name_of(key) for key in keys]
    assert len({*found}) == len(keys)
    assert found[0].startswith(f"espalier-pool-{SHOOT_NAMESPACE}-pool-")
    assert all(len(name) <= 253 and name == name.lower() and "_" not in name for name in found)


TEXT = st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=8)


@given(
    st.builds(
        PoolRecord,
        st.just(KEY),
        targets=st.dictionaries(
            TEXT,
            st.builds(SizeTarget, target=st.integers(0, 99), resource_version=TEXT, time=TEXT),
            max_size=3,
        ),
        increases=st.dictionaries(
            TEXT,
            st.builds(
                OpenIncrease, wanted=st.integers(0, 99), granted=st.integers(0, 99), time=TEXT
            ),
            max_size=3,
        ),
        zones=st.dictionaries(
            TEXT,
            st.builds(ZoneState, until=TEXT, strikes=st.integers(0, 9), on_trial=st.booleans()),
            max_size=3,
        ),
        grants=st.dictionaries(
            TEXT, st.builds(PermitGrant, size=st.integers(0, 99), time=TEXT), max_size=3
        ),
        held_out=st.dictionaries(TEXT, st.builds(HeldOut, since=TEXT, reason=TEXT), max_size=3),
        seen_through=st.dictionaries(TEXT, TEXT, max_size=3),
        version=st.sampled_from(["", "7"]),
    )
)
def test_an_encoded_record_decodes_to_the_same_record(record: PoolRecord) -> None:
    assert decode(convert(ConfigMap, encode(record, "espalier-system"))) == record


def test_malformed_entries_are_ignored() -> None:
    draft = encode(pool_record.add_target(PoolRecord(KEY), Z1, 3, "10", NOW), "espalier-system")
    draft["data"] |= {"zones": "{", "grants": '{"u": {"size": "many"}}', "more": "?"}
    assert decode(convert(ConfigMap, draft)) == pool_record.add_target(
        PoolRecord(KEY), Z1, 3, "10", NOW
    )
    draft["data"]["pool"] = "{}"
    assert decode(convert(ConfigMap, draft)) is None
    del draft["metadata"]["labels"]
    assert decode(convert(ConfigMap, draft)) is None
