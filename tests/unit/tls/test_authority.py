"""An authority signs what TLS and Kubernetes accept, and certificates are renewed in time."""

import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given
from hypothesis import strategies as st

from webhook.tls.authority import Authority, KeyPair, decode_key, needs_renewal

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AUTHORITY = Authority.create("unit-ca", NOW)


def decode(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def test_an_authority_certifies_itself_and_nothing_below_its_leaves():
    certificate = decode(AUTHORITY.pair)
    certificate.verify_directly_issued_by(certificate)
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert (constraints.value.ca, constraints.value.path_length) == (True, 0)


def test_an_authority_read_back_signs_leaves_that_chain_to_it():
    again = Authority(KeyPair(AUTHORITY.pair.certificate, AUTHORITY.pair.key))
    leaf = decode(again.sign_server(["example.test"], NOW))
    leaf.verify_directly_issued_by(decode(AUTHORITY.pair))


def test_a_serving_certificate_carries_every_name_and_address():
    leaf = decode(AUTHORITY.sign_server(["espalier.garden.svc", "127.0.0.1", "::1"], NOW))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["espalier.garden.svc"]
    addresses = [ip_address("127.0.0.1"), ip_address("::1")]
    assert names.get_values_for_type(x509.IPAddress) == addresses


def test_a_serving_certificate_may_have_a_name_longer_than_a_common_name():
    name = ".".join(["a" * 40, "b" * 40, "svc"])
    leaf = decode(AUTHORITY.sign_server([name], NOW))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [name]


def test_a_serving_certificate_without_a_name_is_refused():
    with pytest.raises(ValueError, match="at least one name"):
        AUTHORITY.sign_server([], NOW)


def test_a_client_certificate_names_the_user_and_each_group():
    leaf = decode(AUTHORITY.sign_client("alice", NOW, ["system:masters", "operators"]))
    assert [name.value for name in leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [
        "alice"
    ]
    groups = leaf.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [group.value for group in groups] == ["system:masters", "operators"]


@pytest.mark.parametrize(
    ("pair", "usages"),
    [
        pytest.param(
            AUTHORITY.sign_server(["a"], NOW),
            {ExtendedKeyUsageOID.SERVER_AUTH},
            id="a server may not pose as a client",
        ),
        pytest.param(
            AUTHORITY.sign_client("a", NOW),
            {ExtendedKeyUsageOID.CLIENT_AUTH},
            id="a client may not pose as a server",
        ),
        pytest.param(
            AUTHORITY.sign_peer(["a"], NOW),
            {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH},
            id="a peer is both",
        ),
    ],
)
def test_a_leaf_has_the_key_usages_of_its_purpose_only(pair, usages):
    leaf = decode(pair)
    assert set(leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == usages
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_a_key_belongs_to_its_certificate():
    pair = AUTHORITY.sign_client("a", NOW)
    assert decode_key(pair.key).public_key() == decode(pair).public_key()


def test_a_clock_somewhat_behind_accepts_a_new_certificate():
    leaf = decode(AUTHORITY.sign_server(["a"], NOW))
    assert leaf.not_valid_before_utc == NOW - timedelta(minutes=5)
    assert leaf.not_valid_after_utc == NOW + timedelta(days=365)


def test_a_short_lifetime_is_longer_than_the_clock_skew():
    leaf = AUTHORITY.sign_server(["a"], NOW, timedelta(seconds=30))
    assert not needs_renewal(leaf.certificate, NOW)
    assert needs_renewal(leaf.certificate, NOW + timedelta(seconds=20))


@pytest.mark.parametrize(
    ("after", "due"),
    [
        pytest.param(timedelta(0), False, id="not when it is new"),
        pytest.param(timedelta(hours=20) - timedelta(seconds=1), False, id="not a second early"),
        pytest.param(timedelta(hours=20), True, id="at two thirds of its lifetime"),
        pytest.param(timedelta(hours=31), True, id="after its end"),
    ],
)
def test_a_certificate_needs_renewal_after_two_thirds_of_its_lifetime(after, due):
    # The five minutes before its start belong to its lifetime: 30 hours in all.
    leaf = AUTHORITY.sign_server(["a"], NOW, timedelta(hours=30) - timedelta(minutes=5))
    assert needs_renewal(leaf.certificate, NOW - timedelta(minutes=5) + after) is due


@given(days=st.integers(1, 4000))
def test_no_certificate_needs_renewal_at_first_and_every_one_before_its_end(days):
    leaf = AUTHORITY.sign_client("a", NOW, lifetime=timedelta(days=days))
    assert not needs_renewal(leaf.certificate, NOW)
    assert needs_renewal(leaf.certificate, decode(leaf).not_valid_after_utc)


def test_a_handshake_with_both_certificates_succeeds(tmp_path):
    now = datetime.now(UTC)
    authority = Authority.create("live-ca", now)
    serving, calling = authority.sign_server(["a.test"], now), authority.sign_client("me", now)
    server = _context(ssl.Purpose.CLIENT_AUTH, authority, serving, tmp_path / "server.pem")
    client = _context(ssl.Purpose.SERVER_AUTH, authority, calling, tmp_path / "client.pem")
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    speaker = client.wrap_bio(back, there, server_hostname="a.test")
    listener = server.wrap_bio(there, back, server_side=True)
    for side in (speaker, listener) * 3:
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    certificate = listener.getpeercert()
    assert certificate is not None
    assert certificate["subject"] == ((("commonName", "me"),),)


def _context(
    purpose: ssl.Purpose, authority: Authority, pair: KeyPair, chain: Path
) -> ssl.SSLContext:
    chain.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(purpose, cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(chain)
    return context
