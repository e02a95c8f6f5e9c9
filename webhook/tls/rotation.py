"""Decide which of the pairs that come along a listener serves, and since when it may."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from webhook.tls.bundle import (
    Bundle,
    BundleError,
    check,
    have_one_issuer,
    is_vouched_for,
    not_after,
)
from webhook.tls.serving import ServingContext

logger = logging.getLogger(__name__)

TRUST_SECONDS = 60.0
"""How long an authority must have been published before a leaf of it is served.

API servers learn of a changed webhook configuration by watch; a minute is far more than that takes.
"""


class Outcome(StrEnum):
    """What became of a bundle that was offered."""

    SAME = "same"
    SWAPPED = "swapped"
    WAITING = "waiting"
    REFUSED = "refused"


class Rotation:
    """Takes bundles, and what the webhook configurations publish, and swaps at the right time."""

    def __init__(self, serving: ServingContext) -> None:
        self.serving = serving
        self.published: tuple[bytes, ...] = ()
        """The caBundle of each webhook configuration of ours, as last seen."""
        self._pending: Bundle | None = None
        self._trusted_since: float | None = None

    @property
    def is_trusted(self) -> bool:
        """Whether every published bundle vouches for what is served; true if there is none."""
        return self._is_published(self.serving.pair.certificate)

    @property
    def pending(self) -> Bundle | None:
        """A whole bundle that waits until its authority has been published for long enough."""
        return self._pending

    def publish(self, bundles: Sequence[bytes], monotonic: float) -> None:
        """Take note of what the webhook configurations say now; an empty caBundle is not one."""
        self.published = tuple(bundle for bundle in bundles if bundle)
        self._note_trust(monotonic)

    async def offer(self, bundle: Bundle, now: datetime, monotonic: float) -> Outcome:
        """Serve the bundle if it is whole and new, at once or when its authority is trusted."""
        if bundle.pair == self.serving.pair:
            self._pending = None
            return Outcome.SAME
        try:
            check(bundle, now)
            context = await asyncio.to_thread(self.serving.build, bundle.pair)
        except BundleError as error:
            logger.warning("kept the serving certificate", extra={"error": str(error)})
            return Outcome.REFUSED
        self._pending = bundle
        self._note_trust(monotonic)
        if not self._may_swap(bundle, now, monotonic):
            return Outcome.WAITING
        self.serving.swap(bundle.pair, context)
        self._pending = None
        logger.info(
            "serving a new certificate",
            extra={"expires": not_after(bundle.pair.certificate).isoformat()},
        )
        return Outcome.SWAPPED

    async def tick(self, now: datetime, monotonic: float) -> Outcome:
        """Look again at a bundle that waits."""
        if self._pending is None:
            return Outcome.SAME
        return await self.offer(self._pending, now, monotonic)

    def _may_swap(self, bundle: Bundle, now: datetime, monotonic: float) -> bool:
        served = self.serving.pair.certificate
        if not self.published or now >= not_after(served):
            return True
        if not self._is_published(served) and self._is_published(bundle.pair.certificate):
            return True  # what is served now is refused already
        if have_one_issuer(served, bundle.pair.certificate, bundle.authorities):
            return True  # nobody has to learn anything
        since = self._trusted_since
        return since is not None and monotonic - since >= TRUST_SECONDS

    def _note_trust(self, monotonic: float) -> None:
        pending = self._pending
        if pending is None or not self._is_published(pending.pair.certificate):
            self._trusted_since = None
        elif self._trusted_since is None:
            self._trusted_since = monotonic

    def _is_published(self, certificate: bytes) -> bool:
        return all(is_vouched_for(certificate, bundle) for bundle in self.published)
