"""Which authorities to publish: those of now, and for a while those that are on their way out."""

from collections.abc import Sequence
from datetime import datetime

from cryptography import x509

from webhook.tls.bundle import BundleError, encode, is_vouched_for, join, split

LINGER_SECONDS = 600.0
"""How long an authority stays published that nobody names any more.

Other replicas may still serve a leaf of it; each of them changes over within two minutes.
"""


class Overlap:
    """Remembers since when an authority is published only for the sake of the past."""

    def __init__(self) -> None:
        self._noticed: dict[x509.Certificate, float] = {}

    def bundle(
        self,
        trusted: bytes,
        published: Sequence[bytes],
        served: bytes,
        now: datetime,
        monotonic: float,
    ) -> bytes:
        """Say what to publish; whatever the served leaf needs is never left out."""
        wanted = split(trusted) if trusted else []
        past = [each for each in _all(published) if each not in wanted]
        past = [each for each in past if now < each.not_valid_after_utc]
        self._noticed = {each: self._noticed.get(each, monotonic) for each in past}
        kept = [
            each
            for each, since in self._noticed.items()
            if monotonic - since < LINGER_SECONDS or is_vouched_for(served, encode([each]))
        ]
        return join(trusted, encode(kept))


def _all(bundles: Sequence[bytes]) -> list[x509.Certificate]:
    found: dict[x509.Certificate, None] = {}
    for bundle in bundles:
        try:
            found |= dict.fromkeys(split(bundle))
        except BundleError:
            continue  # somebody wrote something else there; it is about to be replaced
    return list(found)
