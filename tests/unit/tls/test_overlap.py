from datetime import UTC, datetime, timedelta

from webhook.tls.authority import Authority
from webhook.tls.bundle import merge_certificates, parse_certificates
from webhook.tls.overlap import LINGER_SECONDS, Overlap

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD = Authority.create("old", NOW, timedelta(days=10))
NEW = Authority.create("new", NOW)
OLD_LEAF = OLD.sign_server(["localhost"], NOW).certificate
NEW_LEAF = NEW.sign_server(["localhost"], NOW).certificate
BOTH = merge_certificates(NEW.certificate, OLD.certificate)


def test_only_trusted_authorities_are_published() -> None:
    overlap = Overlap()
    assert overlap.bundle(NEW.certificate, [], NEW_LEAF, NOW, 0) == NEW.certificate
    assert overlap.bundle(b"", [], NEW_LEAF, NOW, 0) == b""


def test_a_former_authority_stays_published_for_a_while() -> None:
    overlap = Overlap()
    published = [OLD.certificate]
    assert overlap.bundle(NEW.certificate, published, NEW_LEAF, NOW, 100) == BOTH
    later = 100 + LINGER_SECONDS
    assert overlap.bundle(NEW.certificate, [BOTH], NEW_LEAF, NOW, later - 1) == BOTH
    assert overlap.bundle(NEW.certificate, [BOTH], NEW_LEAF, NOW, later) == NEW.certificate


def test_the_issuer_of_the_served_leaf_is_always_published() -> None:
    overlap = Overlap()
    for moment in (0.0, LINGER_SECONDS, 100 * LINGER_SECONDS):
        assert overlap.bundle(NEW.certificate, [BOTH], OLD_LEAF, NOW, moment) == BOTH


def test_expired_and_unreadable_certificates_are_dropped() -> None:
    overlap = Overlap()
    later = NOW + timedelta(days=11)
    published = [BOTH, b"nonsense"]
    assert parse_certificates(
        overlap.bundle(NEW.certificate, published, OLD_LEAF, later, 0)
    ) == parse_certificates(NEW.certificate)
