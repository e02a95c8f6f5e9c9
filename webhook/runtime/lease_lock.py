"""The lock of a leader election, stored as a Lease in the API server."""

from collections.abc import Awaitable
from typing import Protocol

from webhook.api.core import Lease
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.runtime.lease import LockError, LockTakenError


class LeaseApi(Protocol):
    """The methods of the client that an election needs."""

    async def get(self, kind: Kind, key: ObjectKey) -> Draft: ...

    async def create(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft: ...

    async def update(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft: ...


class LeaseLock:
    """Reads and writes one Lease."""

    def __init__(self, api: LeaseApi, key: ObjectKey) -> None:
        self._api = api
        self._key = key
        self._kind = kind_of_model(Lease)

    async def read(self) -> Raw | None:
        try:
            return await self._api.get(self._kind, self._key)
        except NotFoundError:
            return None
        except ApiError as error:
            raise LockError(str(error)) from error

    async def create(self, spec: Draft) -> Raw:
        lease = {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.name,
            "metadata": {"namespace": self._key.namespace, "name": self._key.name},
            "spec": spec,
        }
        return await _sent(self._api.create(self._kind, self._key, lease))

    async def replace(self, lease: Draft) -> Raw:
        return await _sent(self._api.update(self._kind, self._key, lease))


async def _sent(write: Awaitable[Draft]) -> Raw:
    try:
        return await write
    except (AlreadyExistsError, ConflictError) as error:
        raise LockTakenError(str(error)) from error
    except NotFoundError as error:
        # Deleted since it was read, or the namespace does not exist: the next read will show.
        raise LockTakenError(str(error)) from error
    except ApiError as error:
        raise LockError(str(error)) from error
