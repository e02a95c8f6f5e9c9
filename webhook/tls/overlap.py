"""The authorities to publish: the current ones, and for a while the former ones."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from cryptography import x509

from webhook.tls.bundle import (
    BundleError,
    encode_certificates,
    is_issued_by,
    merge_certificates,
    parse_certificates,
)

LINGER_SECONDS: Final = 600.0
"""How long a former authority stays published.

Other replicas may still serve a leaf certificate of it; each of them changes within two minutes.
"""


class Overlap:
    """Records since when each former authority is no longer a current one."""

    def __init__(self) -> None:
        self._former_since: dict[x509.Certificate, float] = {}

    def bundle(
        self,
        trusted: bytes,
        published: Sequence[bytes],
        served: bytes,
        now: datetime,
        monotonic: float,
    ) -> bytes:
        """Return the bundle to publish; it always includes the issuer of the served leaf."""
        wanted = parse_certificates(trusted) if trusted else []
        former = [each for each in _certificates_of(published) if each not in wanted]
        former = [each for each in former if now < each.not_valid_after_utc]
        self._former_since = {each: self._former_since.get(each, monotonic) for each in former}
        kept = [
            each
            for each, since in self._former_since.items()
            if monotonic - since < LINGER_SECONDS
            or is_issued_by(served, encode_certificates([each]))
        ]
        return merge_certificates(trusted, encode_certificates(kept))


def _certificates_of(bundles: Sequence[bytes]) -> list[x509.Certificate]:
    found: dict[x509.Certificate, None] = {}
    for bundle in bundles:
        try:
            found |= dict.fromkeys(parse_certificates(bundle))
        except BundleError:
            continue  # not a bundle of ours; it is about to be replaced
    return list(found)
