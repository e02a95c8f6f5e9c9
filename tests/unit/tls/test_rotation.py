from datetime import UTC, datetime, timedelta

import pytest

from webhook.tls.authority import Authority, KeyPair
from webhook.tls.bundle import Bundle, BundleError, merge_certificates
from webhook.tls.rotation import TRUST_SECONDS, OfferResult, Rotation
from webhook.tls.serving import ServingContext

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OLD = Authority.create("old", NOW)
NEW = Authority.create("new", NOW)
BOTH = merge_certificates(OLD.certificate, NEW.certificate)
FIRST = OLD.sign_server(["localhost"], NOW, timedelta(days=30))
SECOND = OLD.sign_server(["localhost"], NOW)
FOREIGN = NEW.sign_server(["localhost"], NOW)


@pytest.fixture
def rotation() -> Rotation:
    return Rotation(ServingContext(FIRST))


async def test_the_same_pair_changes_nothing(rotation: Rotation) -> None:
    assert await rotation.offer(Bundle(FIRST, OLD.certificate), NOW, 0) is OfferResult.SAME


async def test_a_new_leaf_of_the_same_authority_is_served_at_once(rotation: Rotation) -> None:
    rotation.publish([OLD.certificate], 0)
    assert await rotation.offer(Bundle(SECOND, OLD.certificate), NOW, 0) is OfferResult.SWAPPED
    assert rotation.serving.pair == SECOND


async def test_before_anything_is_published_every_valid_pair_is_served(rotation: Rotation) -> None:
    rotation.publish([b""], 0)
    assert await rotation.offer(Bundle(FOREIGN, NEW.certificate), NOW, 0) is OfferResult.SWAPPED


async def test_a_leaf_of_a_new_authority_waits_until_it_was_published_for_a_minute(
    rotation: Rotation,
) -> None:
    rotation.publish([OLD.certificate, OLD.certificate], 0)
    assert await rotation.offer(Bundle(FOREIGN, BOTH), NOW, 0) is OfferResult.WAITING
    assert await rotation.tick(NOW, 1_000) is OfferResult.WAITING

    rotation.publish([BOTH, OLD.certificate], 1_000)
    assert await rotation.tick(NOW, 2_000) is OfferResult.WAITING, "one of two is not enough"

    rotation.publish([BOTH, BOTH], 2_000)
    assert await rotation.tick(NOW, 2_000 + TRUST_SECONDS - 0.1) is OfferResult.WAITING
    assert rotation.serving.pair == FIRST
    assert await rotation.tick(NOW, 2_000 + TRUST_SECONDS) is OfferResult.SWAPPED
    assert rotation.serving.pair == FOREIGN
    assert rotation.pending is None
    assert rotation.is_trusted


async def test_the_minute_starts_again_when_the_bundle_is_withdrawn(rotation: Rotation) -> None:
    rotation.publish([OLD.certificate], 0)
    await rotation.offer(Bundle(FOREIGN, BOTH), NOW, 0)
    rotation.publish([BOTH], 0)
    rotation.publish([OLD.certificate], 50)
    rotation.publish([BOTH], 55)
    assert await rotation.tick(NOW, 70) is OfferResult.WAITING
    assert await rotation.tick(NOW, 115) is OfferResult.SWAPPED


async def test_a_certificate_that_is_untrusted_or_expired_is_replaced_at_once(
    rotation: Rotation,
) -> None:
    rotation.publish([NEW.certificate], 0)
    assert not rotation.is_trusted
    assert await rotation.offer(Bundle(FOREIGN, BOTH), NOW, 0) is OfferResult.SWAPPED

    expired = Rotation(ServingContext(FIRST))
    expired.publish([OLD.certificate], 0)
    later = NOW + timedelta(days=31)
    assert await expired.offer(Bundle(FOREIGN, BOTH), later, 0) is OfferResult.SWAPPED


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param(Bundle(KeyPair(SECOND.certificate, FIRST.key)), id="mismatched"),
        pytest.param(Bundle(KeyPair(SECOND.certificate[:80], SECOND.key)), id="cut off"),
        pytest.param(Bundle(FOREIGN, OLD.certificate), id="of another authority"),
    ],
)
async def test_a_mismatched_pair_is_refused_and_the_old_one_is_kept(
    rotation: Rotation, torn: Bundle
) -> None:
    assert await rotation.offer(torn, NOW, 0) is OfferResult.REFUSED
    assert rotation.serving.pair == FIRST
    assert rotation.pending is None


def test_a_serving_context_does_not_start_with_a_mismatched_pair() -> None:
    with pytest.raises(BundleError, match="cannot be served"):
        ServingContext(KeyPair(FIRST.certificate, SECOND.key))
