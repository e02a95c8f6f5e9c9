"""The CA and serving certificate in a Secret: created once, renewed by the leader in time."""

import asyncio
import base64
import binascii
import logging
from typing import Final, Protocol

from webhook.api.core import Secret
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from webhook.kube.clock import Clock
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.runtime.logs import LogDeduplicator
from webhook.tls.bundle import BundleError, is_issued_by, parse_certificates
from webhook.tls.material import CertificateProfile, Material, advance
from webhook.tls.rotation import TRUST_SECONDS, Rotation

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 10.0
"""How often the renewer checks the certificate."""

_SECRET: Final = kind_of_model(Secret)
_ATTEMPTS: Final = 5


class SecretApi(Protocol):
    """The part of the client that reads and writes a Secret."""

    async def get(self, kind: Kind, key: ObjectKey) -> Draft: ...

    async def create(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft: ...

    async def update(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft: ...


class CertificateStore:
    """Reads and writes the Secret with the certificates."""

    def __init__(
        self, api: SecretApi, key: ObjectKey, profile: CertificateProfile, clock: Clock
    ) -> None:
        self._api = api
        self.key = key
        self.profile = profile
        self._clock = clock

    async def obtain(self) -> Material:
        """Read the material, or create it; of several replicas the first one wins."""
        for _ in range(_ATTEMPTS):
            try:
                return (await self.read())[0]
            except NotFoundError:
                material = await asyncio.to_thread(Material.create, self.profile, self._clock.now())
                try:
                    await self._api.create(_SECRET, self.key, self._encode(material))
                except AlreadyExistsError:
                    continue  # another replica was first: use its material
                logger.info("created a CA and a certificate", extra={"secret": str(self.key)})
                return material
        raise BundleError(f"Secret {self.key} keeps being deleted, stop what deletes it")

    async def read(self) -> tuple[Material, Draft]:
        """Read the material and the Secret that holds it."""
        secret = await self._api.get(_SECRET, self.key)
        return decode(secret), secret

    async def write(self, material: Material, secret: Draft) -> None:
        """Replace the material of a Secret; raises ConflictError if the Secret changed since."""
        encoded = self._encode(material)
        await self._api.update(_SECRET, self.key, {**secret, "data": encoded["data"]})

    def _encode(self, material: Material) -> Draft:
        files = material.encode()
        return {
            "apiVersion": _SECRET.api_version,
            "kind": _SECRET.name,
            "metadata": {"namespace": self.key.namespace, "name": self.key.name},
            "type": "kubernetes.io/tls",
            "data": {name: base64.b64encode(content).decode() for name, content in files.items()},
        }


class CertificateRenewer:
    """Renews certificate and CA after two thirds of their lifetime; runs on the leader."""

    def __init__(self, store: CertificateStore, rotation: Rotation, clock: Clock) -> None:
        self._store = store
        self._rotation = rotation
        self._clock = clock
        self._published_since: float | None = None
        self._log_levels = LogDeduplicator()

    async def run(self) -> None:
        """Check every few seconds by wall time, so that a suspended machine catches up."""
        while True:
            try:
                await self.renew_if_due()
                self._log_levels.end()
            except ConflictError:
                continue
            except (ApiError, BundleError) as error:
                level = self._log_levels.level(str(error))
                logger.log(level, "could not renew the certificate", extra={"error": str(error)})
            await self._clock.sleep(POLL_SECONDS)

    async def renew_if_due(self) -> None:
        """Create or renew what is missing or due."""
        try:
            material, secret = await self._store.read()
        except NotFoundError:
            await self._store.obtain()
            return
        now = self._clock.now()
        advanced = await asyncio.to_thread(
            advance, material, self._store.profile, now, published=self._is_published(material)
        )
        if advanced is not material:
            await self._store.write(advanced, secret)
            logger.info("renewed the certificate", extra={"secret": str(self._store.key)})

    def _is_published(self, material: Material) -> bool:
        """Return whether all webhook configurations have trusted the next CA for long enough."""
        successor = material.successor
        bundles = self._rotation.published
        if successor is None or not all(
            is_issued_by(successor.certificate, bundle) for bundle in bundles
        ):
            self._published_since = None
            return False
        now = self._clock.monotonic()
        if self._published_since is None:
            self._published_since = now
        return not bundles or now - self._published_since >= TRUST_SECONDS


def decode(secret: Raw) -> Material:
    """Decode the material in a Secret; raises BundleError if it is incomplete."""
    data = secret.get("data") or {}
    try:
        files = {name: base64.b64decode(value, validate=True) for name, value in data.items()}
    except (binascii.Error, TypeError) as error:
        raise BundleError("the Secret is not base64") from error
    material = Material.decode(files)
    parse_certificates(material.trusted)
    return material
