from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.tls.authority import Authority
from webhook.tls.bundle import BundleError, is_issued_by, parse_certificates, validate_bundle
from webhook.tls.material import CertificateProfile, Material, advance

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
PROFILE = CertificateProfile(
    ("espalier.garden.svc", "127.0.0.1"), leaf_lifetime=30 * DAY, authority_lifetime=300 * DAY
)


def make(now: datetime = NOW) -> Material:
    return Material.create(PROFILE, now)


def test_new_material_is_valid_and_round_trips_through_its_secret() -> None:
    material = make()
    validate_bundle(material.bundle, NOW)
    assert material.successor is None
    assert Material.decode(material.encode()) == material
    assert {"tls.crt", "tls.key", "ca.crt"} <= set(material.encode())
    with_successor = material.with_successor(PROFILE, NOW)
    assert Material.decode(with_successor.encode()) == with_successor


@pytest.mark.parametrize("missing", ["tls.crt", "tls.key", "ca.crt", "authority.key"])
def test_a_missing_file_of_a_secret_is_named(missing: str) -> None:
    files = make().encode()
    del files[missing]
    with pytest.raises(BundleError, match=f"{missing} is missing"):
        Material.decode(files)


def test_nothing_changes_before_two_thirds_of_a_lifetime() -> None:
    material = make()
    later = NOW + 19 * DAY
    assert advance(material, PROFILE, later, published=False) is material


def test_a_leaf_is_renewed_at_two_thirds_of_its_lifetime_by_the_same_authority() -> None:
    material = make()
    renewed = advance(material, PROFILE, NOW + 20 * DAY, published=False)
    assert renewed.leaf != material.leaf
    assert renewed == replace(material, leaf=renewed.leaf)
    validate_bundle(renewed.bundle, NOW + 20 * DAY)


def test_a_leaf_that_lacks_a_name_is_renewed() -> None:
    profile = replace(PROFILE, names=(*PROFILE.names, "espalier.other.svc"))
    assert advance(make(), profile, NOW, published=False).leaf != make().leaf
    narrower = replace(PROFILE, names=("127.0.0.1",))
    material = make()
    assert advance(material, narrower, NOW, published=False) is material


def test_an_authority_is_rotated_in_steps() -> None:
    due = NOW + 200 * DAY
    old = make()
    old = replace(old, leaf=old.authority.sign_server(PROFILE.names, due, 30 * DAY))

    begun = advance(old, PROFILE, due, published=False)
    assert begun.successor is not None
    assert begun.leaf == old.leaf
    assert len(parse_certificates(begun.trusted)) == 2

    assert advance(begun, PROFILE, due + DAY, published=False) is begun

    done = advance(begun, PROFILE, due + DAY, published=True)
    assert done.successor is None
    assert done.authority == begun.successor
    assert is_issued_by(done.leaf.certificate, begun.successor.certificate)
    assert done.trusted == begun.trusted

    later = due + DAY + timedelta(minutes=50)
    assert advance(done, PROFILE, later, published=True) is done
    final = advance(done, PROFILE, due + DAY + timedelta(minutes=70), published=True)
    assert final.trusted == done.authority.certificate


def test_an_expired_authority_is_replaced_at_once() -> None:
    old = make()
    new = advance(old, PROFILE, NOW + 301 * DAY, published=False)
    assert new.authority != old.authority
    assert new.trusted == new.authority.certificate
    validate_bundle(new.bundle, NOW + 301 * DAY)


def test_a_leaf_of_a_foreign_authority_is_replaced() -> None:
    foreign = Authority.create("other", NOW).sign_server(PROFILE.names, NOW)
    renewed = advance(replace(make(), leaf=foreign), PROFILE, NOW, published=False)
    validate_bundle(renewed.bundle, NOW)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=25))
def test_at_any_time_the_served_pair_is_valid_and_was_trusted_before(
    steps: list[tuple[int, bool]],
) -> None:
    material, now = make(), NOW
    for days, published in steps:
        now += days * DAY
        before = material
        material = advance(material, PROFILE, now, published=published)
        validate_bundle(material.bundle, now)
        alive = now < parse_certificates(before.authority.certificate)[0].not_valid_after_utc
        if alive:
            assert is_issued_by(material.leaf.certificate, before.trusted)
        assert advance(material, PROFILE, now, published=False) is material
