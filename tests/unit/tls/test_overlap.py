from datetime import UTC, datetime, timedelta

from webhook.tls.authority import Authority
from webhook.tls.bundle import join, split
from webhook.tls.overlap import LINGER_SECONDS, Overlap

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD = Authority.create("old", NOW, timedelta(days=10))
NEW = Authority.create("new", NOW)
OLD_LEAF = OLD.sign_server(["localhost"], NOW).certificate
NEW_LEAF = NEW.sign_server(["localhost"], NOW).certificate
BOTH = join(NEW.certificate, OLD.certificate)


def test_what_is_trusted_is_published_and_nothing_else() -> None:
    overlap = Overlap()
    assert overlap.bundle(NEW.certificate, [], NEW_LEAF, NOW, 0) == NEW.certificate
    assert overlap.bundle(b"", [], NEW_LEAF, NOW, 0) == b""


def test_an_authority_on_its_way_out_lingers() -> None:
    overlap = Overlap()
    published = [OLD.certificate]
    assert overlap.bundle(NEW.certificate, published, NEW_LEAF, NOW, 100) == BOTH
    later = 100 + LINGER_SECONDS
    assert overlap.bundle(NEW.certificate, [BOTH], NEW_LEAF, NOW, later - 1) == BOTH
    assert overlap.bundle(NEW.certificate, [BOTH], NEW_LEAF, NOW, later) == NEW.certificate


def test_what_the_served_leaf_needs_is_never_left_out() -> None:
    overlap = Overlap()
    for moment in (0.0, LINGER_SECONDS, 100 * LINGER_SECONDS):
        assert overlap.bundle(NEW.certificate, [BOTH], OLD_LEAF, NOW, moment) == BOTH


def test_the_dead_and_the_unreadable_are_dropped() -> None:
    overlap = Overlap()
    later = NOW + timedelta(days=11)
    published = [BOTH, b"nonsense"]
    assert split(overlap.bundle(NEW.certificate, published, OLD_LEAF, later, 0)) == split(
        NEW.certificate
    )
