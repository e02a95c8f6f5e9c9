"""Where the serving certificate comes from: our own Secret, or files that somebody else keeps."""

import asyncio
import base64
import binascii
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from webhook.api.core import (
    MutatingWebhookConfiguration,
    Secret,
    ValidatingWebhookConfiguration,
)
from webhook.api.meta import ObjectKey
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.controllers import certificates, webhooks
from webhook.runtime.clock import Clock
from webhook.runtime.metrics import Metrics
from webhook.settings import Settings
from webhook.tls.bundle import Bundle, BundleError, check, load_directory, not_after, split
from webhook.tls.directory import follow_directory
from webhook.tls.material import Profile
from webhook.tls.rotation import Outcome, Rotation
from webhook.tls.serving import ServingContext

_TICK = 1.0


class Certificates:
    """The certificate that is served, and all that changes it."""

    def __init__(self, settings: Settings, client: Client, clock: Clock, metrics: Metrics) -> None:
        self._directory = settings.certificate_directory
        self._clock = clock
        self._metrics = metrics
        self._client_authorities = _read_authorities(
            settings.client_ca, settings.admission_client_ca
        )
        self.store: certificates.Store | None = None
        if self._directory is None:
            key = ObjectKey(settings.namespace, settings.certificate_secret)
            self.store = certificates.Store(client, key, _profile(settings), clock)
        self.trusted = b""
        """The authorities that clients of what we were last given should trust."""
        self.current: Rotation | None = None

    @property
    def rotation(self) -> Rotation:
        if self.current is None:
            raise RuntimeError("no certificate was obtained yet")
        return self.current

    async def obtain(self) -> Rotation:
        """Get the first certificate; raises BundleError or ApiError if there is none to be had."""
        if self.store is not None:
            bundle = (await self.store.obtain()).bundle
        else:
            bundle = await asyncio.to_thread(load_directory, self._directory or Path())
        check(bundle, self._clock.now())
        serving = await asyncio.to_thread(ServingContext, bundle.pair, self._client_authorities)
        self.current = Rotation(serving)
        self.trusted = bundle.authorities
        self._note(bundle, Outcome.SWAPPED)
        return self.current

    def follow(self, cache: Cache, webhooks_name: str) -> Coroutine[Any, Any, None]:
        """Give the task that keeps the served certificate at what it should be."""
        return self._follow(cache, webhooks_name)

    async def _follow(self, cache: Cache, webhooks_name: str) -> None:
        changed = asyncio.Event()

        def wake(_old: Any, _new: Any) -> None:
            changed.set()

        for model in (Secret, MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
            cache.add_listener(model, wake)
        async with asyncio.TaskGroup() as tasks:
            if self._directory is not None:
                tasks.create_task(follow_directory(self._directory, self._offer, self._clock.sleep))
            while True:
                changed.clear()
                if cache.synced:
                    await self._look(cache, webhooks_name)
                timer = self._clock.call_later(_TICK, changed.set)
                await changed.wait()
                timer.cancel()

    async def _look(self, cache: Cache, webhooks_name: str) -> None:
        snapshot = cache.snapshot()
        bundles = [_decode(each) for each in webhooks.published(snapshot, webhooks_name)]
        secret = snapshot.raw(Secret, self.store.key) if self.store is not None else None
        self.rotation.publish(bundles, self._clock.monotonic())
        if secret is not None:
            try:
                bundle = certificates.decode(secret).bundle
            except BundleError:
                self._metrics.certificate_errors.inc()
            else:
                await self._offer(bundle)
        await self.rotation.tick(self._clock.now(), self._clock.monotonic())

    async def _offer(self, bundle: Bundle) -> None:
        outcome = await self.rotation.offer(bundle, self._clock.now(), self._clock.monotonic())
        if outcome is not Outcome.REFUSED:
            self.trusted = bundle.authorities
        self._note(bundle, outcome)

    def _note(self, bundle: Bundle, outcome: Outcome) -> None:
        if outcome is Outcome.SAME:
            return
        self._metrics.certificate_reads.inc()
        if outcome is Outcome.REFUSED:
            self._metrics.certificate_errors.inc()
            return
        if outcome is Outcome.SWAPPED:
            expires = not_after(bundle.pair.certificate).timestamp()
            self._metrics.certificate_not_after.labels("leaf").set(expires)
        if bundle.authorities:
            expires = not_after(bundle.authorities).timestamp()
            self._metrics.certificate_not_after.labels("authority").set(expires)


def _profile(settings: Settings) -> Profile:
    service = f"{settings.service_name}.{settings.namespace}"
    names = [f"{service}.svc", service, f"{service}.svc.cluster.local"]
    host = urlsplit(settings.advertise_url).hostname
    if host:
        names.insert(0, host)
    return Profile(
        tuple(dict.fromkeys([*names, *settings.certificate_names])),
        timedelta(days=settings.certificate_days),
        timedelta(days=settings.authority_days),
    )


def _read_authorities(*paths: Path | None) -> bytes:
    return b"\n".join(read_authority(path) for path in paths if path is not None)


def read_authority(path: Path) -> bytes:
    """Read a file of authorities; raises BundleError if there is none to be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(f"cannot read {path}: {error.strerror}") from error
    split(content, str(path))
    return content


def _decode(bundle: str) -> bytes:
    try:
        return base64.b64decode(bundle)
    except binascii.Error:
        return b""
