"""Our own authority and certificate in a Secret: made once, renewed by the leader in time."""

import asyncio
import base64
import binascii
import logging
from typing import Final, Protocol

from webhook.api.core import Secret
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.cluster.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from webhook.runtime.clock import Clock
from webhook.runtime.logs import Repeats
from webhook.tls.bundle import BundleError, is_vouched_for, split
from webhook.tls.material import Material, Profile, advance
from webhook.tls.rotation import TRUST_SECONDS, Rotation

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 10.0

_SECRET: Final = kind_of_model(Secret)
_ATTEMPTS: Final = 5


class Api(Protocol):
    """The part of the client that keeps a Secret."""

    async def get(self, kind: Kind, key: ObjectKey) -> Draft: ...

    async def create(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft: ...

    async def update(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft: ...


class Store:
    """The Secret, read and written as material."""

    def __init__(self, api: Api, key: ObjectKey, profile: Profile, clock: Clock) -> None:
        self._api = api
        self.key = key
        self.profile = profile
        self._clock = clock

    async def obtain(self) -> Material:
        """Read the material, or make it where there is none; of several, the first counts."""
        for _ in range(_ATTEMPTS):
            try:
                return (await self.read())[0]
            except NotFoundError:
                made = await asyncio.to_thread(Material.create, self.profile, self._clock.now())
                try:
                    await self._api.create(_SECRET, self.key, self._encode(made))
                except AlreadyExistsError:
                    continue  # another replica was first: its material is everybody's
                logger.info("made an authority and a certificate", extra={"secret": str(self.key)})
                return made
        raise BundleError(f"Secret {self.key} comes and goes, stop what deletes it")

    async def read(self) -> tuple[Material, Draft]:
        """Read the material and the Secret that holds it."""
        secret = await self._api.get(_SECRET, self.key)
        return decode(secret), secret

    async def write(self, material: Material, secret: Draft) -> None:
        """Replace what was read; ConflictError if it is no longer there."""
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


class Keeper:
    """Renews leaf and authority when two thirds of their life are over; runs on the leader."""

    def __init__(self, store: Store, rotation: Rotation, clock: Clock) -> None:
        self._store = store
        self._rotation = rotation
        self._clock = clock
        self._published_since: float | None = None
        self._trouble = Repeats()

    async def run(self) -> None:
        """Look every few seconds; wall time counts, so a machine that slept catches up."""
        while True:
            try:
                await self.look()
                self._trouble.end()
            except ConflictError:
                continue
            except (ApiError, BundleError) as error:
                level = self._trouble.level(str(error))
                logger.log(level, "could not keep the certificate", extra={"error": str(error)})
            await self._clock.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Bring the Secret to where it should be now."""
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
        """Tell whether everybody has been told of the successor for long enough."""
        successor = material.successor
        bundles = self._rotation.published
        if successor is None or not all(
            is_vouched_for(successor.certificate, bundle) for bundle in bundles
        ):
            self._published_since = None
            return False
        now = self._clock.monotonic()
        if self._published_since is None:
            self._published_since = now
        return not bundles or now - self._published_since >= TRUST_SECONDS


def decode(secret: Raw) -> Material:
    """Read the material that a Secret holds; raises BundleError if it is not whole."""
    data = secret.get("data") or {}
    try:
        files = {name: base64.b64decode(value, validate=True) for name, value in data.items()}
    except (binascii.Error, TypeError) as error:
        raise BundleError("the Secret is not base64") from error
    material = Material.decode(files)
    split(material.trusted)
    return material
