from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from webhook.tls.authority import Authority, KeyPair
from webhook.tls.bundle import (
    Bundle,
    BundleError,
    is_issued_by,
    load_directory,
    merge_certificates,
    parse_certificates,
    share_issuer,
    validate_bundle,
    write_directory,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ONE = Authority.create("one", NOW)
TWO = Authority.create("two", NOW)
LEAF = ONE.sign_server(["localhost"], NOW, timedelta(days=1))
OTHER = TWO.sign_server(["localhost"], NOW)


@pytest.mark.parametrize(
    ("bundle", "fault"),
    [
        pytest.param(Bundle(LEAF, ONE.certificate), None, id="a whole pair of its authority"),
        pytest.param(Bundle(LEAF), None, id="no authority given"),
        pytest.param(
            Bundle(LEAF, TWO.certificate + ONE.certificate), None, id="one authority of several"
        ),
        pytest.param(
            Bundle(KeyPair(LEAF.certificate, OTHER.key), ONE.certificate),
            "tls.key does not belong to tls.crt",
            id="the key of another certificate",
        ),
        pytest.param(
            Bundle(LEAF, TWO.certificate),
            "tls.crt was not issued by ca.crt",
            id="the authority of another leaf",
        ),
        pytest.param(
            Bundle(KeyPair(LEAF.certificate[:200], LEAF.key)),
            "tls.crt holds no readable certificate",
            id="half a certificate",
        ),
        pytest.param(
            Bundle(KeyPair(b"", LEAF.key)), "tls.crt holds no readable certificate", id="no bytes"
        ),
        pytest.param(
            Bundle(KeyPair(LEAF.certificate, LEAF.key[:100])),
            "tls.key holds no readable private key",
            id="half a key",
        ),
    ],
)
def test_validate_bundle(bundle: Bundle, fault: str | None) -> None:
    if fault is None:
        validate_bundle(bundle, NOW)
    else:
        with pytest.raises(BundleError, match=fault):
            validate_bundle(bundle, NOW)


def test_a_certificate_is_good_until_the_moment_it_expires() -> None:
    validate_bundle(Bundle(LEAF), NOW + timedelta(hours=23, minutes=59))
    with pytest.raises(BundleError, match="expired at 2026-03-02"):
        validate_bundle(Bundle(LEAF), NOW + timedelta(days=1))


def test_is_issued_by_follows_the_chain() -> None:
    assert is_issued_by(LEAF.certificate, ONE.certificate)
    assert not is_issued_by(LEAF.certificate, TWO.certificate)
    assert not is_issued_by(LEAF.certificate, b"")
    assert not is_issued_by(b"nonsense", ONE.certificate)
    both = merge_certificates(ONE.certificate, TWO.certificate)
    assert is_issued_by(OTHER.certificate, both)
    assert not share_issuer(LEAF.certificate, OTHER.certificate, both)
    assert share_issuer(LEAF.certificate, LEAF.certificate, both)
    assert not share_issuer(LEAF.certificate, LEAF.certificate, b"")


def test_merging_keeps_each_certificate_once_and_in_order() -> None:
    joined = merge_certificates(ONE.certificate, TWO.certificate, ONE.certificate, b"")
    assert parse_certificates(joined) == parse_certificates(ONE.certificate) + parse_certificates(
        TWO.certificate
    )


def test_a_directory_is_read_as_it_was_written(tmp_path: Path) -> None:
    bundle = Bundle(LEAF, ONE.certificate)
    write_directory(tmp_path / "certs", bundle)
    assert load_directory(tmp_path / "certs") == bundle
    assert {path.name for path in (tmp_path / "certs").iterdir()} == {
        "tls.crt",
        "tls.key",
        "ca.crt",
    }
    assert (tmp_path / "certs" / "tls.key").stat().st_mode & 0o077 == 0


def test_a_directory_without_a_ca_bundle_is_accepted(tmp_path: Path) -> None:
    write_directory(tmp_path, Bundle(LEAF))
    (tmp_path / "ca.crt").unlink()
    assert load_directory(tmp_path) == Bundle(LEAF)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"cannot read .*tls\.crt: No such file"):
        load_directory(tmp_path)
