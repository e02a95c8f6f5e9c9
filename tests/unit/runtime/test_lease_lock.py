import pytest

from webhook.api.kinds import Kind
from webhook.cluster.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnreachableError,
)
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.runtime.lease import LockError, LockTakenError
from webhook.runtime.lease_lock import LeaseLock


class Api:
    def __init__(self, error: ApiError | None = None) -> None:
        self.error = error
        self.sent: list[Raw] = []

    async def _answer(self, draft: Raw) -> Draft:
        if self.error is not None:
            raise self.error
        self.sent.append(draft)
        return dict(draft)

    async def get(self, kind: Kind, key: ObjectKey) -> Draft:
        return await self._answer({"metadata": {"name": key.name}})

    async def create(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft:
        return await self._answer(draft)

    async def update(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft:
        return await self._answer(draft)


def lock(error: ApiError | None = None) -> LeaseLock:
    return LeaseLock(Api(error), ObjectKey("garden", "espalier"))


async def test_a_lease_is_read_created_and_replaced() -> None:
    assert await lock().read() == {"metadata": {"name": "espalier"}}
    made = await lock().create({"holderIdentity": "a"})
    assert made == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": "garden", "name": "espalier"},
        "spec": {"holderIdentity": "a"},
    }
    assert await lock().replace({"spec": {}}) == {"spec": {}}


async def test_a_missing_lease_is_none() -> None:
    assert await lock(NotFoundError(404, "NotFound", "no")).read() is None


@pytest.mark.parametrize(
    ("error", "taken"),
    [
        pytest.param(AlreadyExistsError(409, "AlreadyExists", "there"), True, id="exists"),
        pytest.param(ConflictError(409, "Conflict", "changed"), True, id="changed"),
        pytest.param(NotFoundError(404, "NotFound", "gone"), True, id="gone"),
        pytest.param(ForbiddenError(403, "Forbidden", "no"), False, id="forbidden"),
        pytest.param(UnreachableError("hung"), False, id="no answer"),
    ],
)
async def test_failures_become_lock_errors(error: ApiError, taken: bool) -> None:
    for write in (lock(error).create({}), lock(error).replace({})):
        with pytest.raises(LockError) as caught:
            await write
        assert isinstance(caught.value, LockTakenError) is taken
    if not isinstance(error, NotFoundError):
        with pytest.raises(LockError):
            await lock(error).read()
