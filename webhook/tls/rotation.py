"""Decides when a listener serves a new key pair."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from webhook.tls.bundle import (
    Bundle,
    BundleError,
    is_issued_by,
    not_after,
    share_issuer,
    validate_bundle,
)
from webhook.tls.serving import ServingContext

logger = logging.getLogger(__name__)

TRUST_SECONDS: Final = 60.0
"""How long an authority must have been published before a leaf certificate of it is served.

API servers watch the webhook configurations; they need much less than a minute.
"""


class OfferResult(StrEnum):
    """The result of offering a bundle."""

    SAME = "same"
    SWAPPED = "swapped"
    WAITING = "waiting"
    REFUSED = "refused"


class Rotation:
    """Receives bundles and the published CA bundles, and swaps the served key pair."""

    def __init__(self, serving: ServingContext) -> None:
        self.serving = serving
        self.published: tuple[bytes, ...] = ()
        """The caBundle of each of our webhook configurations, as last seen."""
        self._pending: Bundle | None = None
        self._trusted_since: float | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether all published CA bundles trust the served certificate; true if there is none."""
        return self._is_published(self.serving.pair.certificate)

    @property
    def pending(self) -> Bundle | None:
        """A valid bundle that waits until its authority has been published for long enough."""
        return self._pending

    def publish(self, bundles: Sequence[bytes], monotonic: float) -> None:
        """Record the caBundles of the webhook configurations; empty ones are ignored."""
        self.published = tuple(bundle for bundle in bundles if bundle)
        self._update_trusted_since(monotonic)

    async def offer(self, bundle: Bundle, now: datetime, monotonic: float) -> OfferResult:
        """Serve a new, valid bundle, at once or when its authority is trusted."""
        if bundle.pair == self.serving.pair:
            self._pending = None
            return OfferResult.SAME
        try:
            validate_bundle(bundle, now)
            context = await asyncio.to_thread(self.serving.build, bundle.pair)
        except BundleError as error:
            logger.warning("keeping the serving certificate", extra={"error": str(error)})
            return OfferResult.REFUSED
        self._pending = bundle
        self._update_trusted_since(monotonic)
        if not self._may_swap(bundle, now, monotonic):
            return OfferResult.WAITING
        self.serving.swap(bundle.pair, context)
        self._pending = None
        logger.info(
            "serving a new certificate",
            extra={"expires": not_after(bundle.pair.certificate).isoformat()},
        )
        return OfferResult.SWAPPED

    async def tick(self, now: datetime, monotonic: float) -> OfferResult:
        """Try again to serve the pending bundle."""
        if self._pending is None:
            return OfferResult.SAME
        return await self.offer(self._pending, now, monotonic)

    def _may_swap(self, bundle: Bundle, now: datetime, monotonic: float) -> bool:
        served = self.serving.pair.certificate
        if not self.published or now >= not_after(served):
            return True
        if not self._is_published(served) and self._is_published(bundle.pair.certificate):
            return True  # clients refuse the served certificate already
        if share_issuer(served, bundle.pair.certificate, bundle.authorities):
            return True  # clients trust the issuer already
        since = self._trusted_since
        return since is not None and monotonic - since >= TRUST_SECONDS

    def _update_trusted_since(self, monotonic: float) -> None:
        pending = self._pending
        if pending is None or not self._is_published(pending.pair.certificate):
            self._trusted_since = None
        elif self._trusted_since is None:
            self._trusted_since = monotonic

    def _is_published(self, certificate: bytes) -> bool:
        return all(is_issued_by(certificate, bundle) for bundle in self.published)
