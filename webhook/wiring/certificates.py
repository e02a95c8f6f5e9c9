"""The source of the serving certificate: our own Secret, or a directory of files."""

import asyncio
import base64
import binascii
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from webhook.api.core import (
    MutatingWebhookConfiguration,
    Secret,
    ValidatingWebhookConfiguration,
)
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.controllers.installation import certificates, webhook_configurations
from webhook.kube.clock import Clock
from webhook.kube.meta import ObjectKey
from webhook.runtime.metrics import Metrics
from webhook.settings import Settings
from webhook.tls.bundle import (
    Bundle,
    BundleError,
    load_directory,
    not_after,
    parse_certificates,
    validate_bundle,
)
from webhook.tls.directory import follow_directory
from webhook.tls.material import CertificateProfile
from webhook.tls.rotation import OfferResult, Rotation
from webhook.tls.serving import ServingContext

_CHECK_SECONDS: Final = 1.0


class Certificates:
    """The served certificate and its updates."""

    def __init__(self, settings: Settings, client: Client, clock: Clock, metrics: Metrics) -> None:
        self._directory = settings.certificate_directory
        self._clock = clock
        self._metrics = metrics
        self._client_authorities = _read_ca_files(settings.client_ca, settings.admission_client_ca)
        self.store: certificates.CertificateStore | None = None
        if self._directory is None:
            key = ObjectKey(settings.namespace, settings.certificate_secret)
            self.store = certificates.CertificateStore(client, key, _profile(settings), clock)
        self.trusted = b""
        """The CA bundle of the last accepted certificate, which clients should trust."""
        self.current: Rotation | None = None

    @property
    def rotation(self) -> Rotation:
        if self.current is None:
            raise RuntimeError("no certificate was obtained yet")
        return self.current

    async def obtain(self) -> Rotation:
        """Get the first certificate; raises BundleError or ApiError if there is none."""
        if self.store is not None:
            bundle = (await self.store.obtain()).bundle
        else:
            bundle = await asyncio.to_thread(load_directory, self._directory or Path())
        validate_bundle(bundle, self._clock.now())
        serving = await asyncio.to_thread(ServingContext, bundle.pair, self._client_authorities)
        self.current = Rotation(serving)
        self.trusted = bundle.authorities
        self._update_metrics(bundle, OfferResult.SWAPPED)
        return self.current

    async def follow(self, cache: Cache, webhooks_name: str) -> None:
        """Update the served certificate from its source until cancelled."""
        changed = asyncio.Event()

        def notify(_old: Any, _new: Any) -> None:
            changed.set()

        for model in (Secret, MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
            cache.add_listener(model, notify)
        async with asyncio.TaskGroup() as tasks:
            if self._directory is not None:
                tasks.create_task(follow_directory(self._directory, self._offer, self._clock.sleep))
            while True:
                changed.clear()
                if cache.synced:
                    await self._check(cache, webhooks_name)
                timer = self._clock.call_later(_CHECK_SECONDS, changed.set)
                await changed.wait()
                timer.cancel()

    async def _check(self, cache: Cache, webhooks_name: str) -> None:
        snapshot = cache.snapshot()
        bundles = [
            _decode(each)
            for each in webhook_configurations.published_ca_bundles(snapshot, webhooks_name)
        ]
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
        if outcome is not OfferResult.REFUSED:
            self.trusted = bundle.authorities
        self._update_metrics(bundle, outcome)

    def _update_metrics(self, bundle: Bundle, outcome: OfferResult) -> None:
        if outcome is OfferResult.SAME:
            return
        self._metrics.certificate_reads.inc()
        if outcome is OfferResult.REFUSED:
            self._metrics.certificate_errors.inc()
            return
        if outcome is OfferResult.SWAPPED:
            expires = not_after(bundle.pair.certificate).timestamp()
            self._metrics.certificate_not_after.labels("leaf").set(expires)
        if bundle.authorities:
            expires = not_after(bundle.authorities).timestamp()
            self._metrics.certificate_not_after.labels("authority").set(expires)


def _profile(settings: Settings) -> CertificateProfile:
    service = f"{settings.service_name}.{settings.namespace}"
    names = [f"{service}.svc", service, f"{service}.svc.cluster.local"]
    host = urlsplit(settings.advertise_url).hostname
    if host:
        names.insert(0, host)
    return CertificateProfile(
        tuple(dict.fromkeys([*names, *settings.certificate_names])),
        timedelta(days=settings.certificate_days),
        timedelta(days=settings.authority_days),
    )


def _read_ca_files(*paths: Path | None) -> bytes:
    return b"\n".join(read_ca_file(path) for path in paths if path is not None)


def read_ca_file(path: Path) -> bytes:
    """Read a CA file; raises BundleError if it holds no certificate."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(f"cannot read {path}: {error.strerror}") from error
    parse_certificates(content, str(path))
    return content


def _decode(bundle: str) -> bytes:
    try:
        return base64.b64decode(bundle)
    except binascii.Error:
        return b""
