import pytest
from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.fake_cluster import FakeCluster
from webhook.api.core import Lease
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster.errors import ApiError, ForbiddenError, UnreachableError
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.lease import LockError, LockTakenError
from webhook.runtime.lease_lock import LeaseLock

KEY = ObjectKey("garden", "espalier")


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(FakeClock())


@pytest.fixture
def lock(cluster: FakeCluster) -> LeaseLock:
    return LeaseLock(cluster, KEY)


async def test_a_lease_is_created_replaced_and_read(lock: LeaseLock) -> None:
    created = await lock.create({"holderIdentity": "a"})
    assert created["metadata"]["resourceVersion"]
    replaced = await lock.replace({**created, "spec": {"holderIdentity": "b"}})
    found = await lock.read()
    assert found == replaced
    assert (found["apiVersion"], found["kind"]) == ("coordination.k8s.io/v1", "Lease")
    assert (found["metadata"]["namespace"], found["metadata"]["name"]) == ("garden", "espalier")
    assert found["spec"] == {"holderIdentity": "b"}


async def test_a_missing_lease_is_none(lock: LeaseLock) -> None:
    assert await lock.read() is None


async def test_a_lease_that_another_candidate_wrote_is_taken(
    cluster: FakeCluster, lock: LeaseLock
) -> None:
    created = await lock.create({"holderIdentity": "a"})
    with pytest.raises(LockTakenError):
        await lock.create({"holderIdentity": "b"})
    await lock.replace({**created, "spec": {"holderIdentity": "a", "leaseTransitions": 1}})
    with pytest.raises(LockTakenError):
        await lock.replace({**created, "spec": {"holderIdentity": "b"}})
    await cluster.delete(kind_of_model(Lease), KEY)
    with pytest.raises(LockTakenError):
        await lock.replace({**created, "spec": {"holderIdentity": "b"}})


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ForbiddenError(403, "Forbidden", "no"), id="forbidden"),
        pytest.param(UnreachableError("hung"), id="no answer"),
    ],
)
async def test_other_failures_do_not_mean_that_the_lease_is_taken(
    cluster: FakeCluster, lock: LeaseLock, error: ApiError
) -> None:
    created = await lock.create({})
    for write in (lock.create({}), lock.replace({**created})):
        cluster.faults = [error]
        with pytest.raises(LockError) as caught:
            await write
        assert not isinstance(caught.value, LockTakenError)


class UnreachableCluster(FakeCluster):
    @override
    async def get(self, kind: Kind, key: ObjectKey) -> Draft:
        raise UnreachableError("hung")


async def test_a_lease_that_cannot_be_read_is_not_missing() -> None:
    with pytest.raises(LockError):
        await LeaseLock(UnreachableCluster(FakeClock()), KEY).read()
