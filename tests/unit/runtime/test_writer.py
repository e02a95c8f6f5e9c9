import pytest

from tests.support.clocks import FakeClock
from tests.support.fake_cluster import FakeCluster
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.cluster.errors import ConflictError, InvalidError
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.actions import Apply, Create, Delete, Patch
from webhook.runtime.metrics import Metrics
from webhook.runtime.writer import NotLeadingError, Writer, with_preconditions

KIND = kind_of_model(ConfigMap)
KEY = ObjectKey("garden", "one")


def body(**data: str) -> Draft:
    return {"metadata": {"namespace": "garden", "name": "one"}, "data": data}


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster(FakeClock(), ConfigMap)


@pytest.fixture
def writer(cluster: FakeCluster) -> Writer:
    return Writer(cluster, Metrics())


async def test_create_returns_the_version_and_is_idempotent(
    cluster: FakeCluster, writer: Writer
) -> None:
    written = await writer.write(Create(KIND, body(a="1")))
    assert written is not None
    assert (written.key, written.version, written.uid) == (KEY, "1", "uid-1")
    assert cluster.objects[ConfigMap, KEY]["apiVersion"] == "v1"
    assert cluster.objects[ConfigMap, KEY]["kind"] == "ConfigMap"
    assert await writer.write(Create(KIND, body(a="2"))) is None
    assert cluster.objects[ConfigMap, KEY]["data"] == {"a": "1"}


@pytest.mark.parametrize(
    "change", [{"data": {"a": "2"}}, [{"op": "replace", "path": "/data/a", "value": "2"}]]
)
async def test_a_patch_applies_only_to_the_observed_version(
    cluster: FakeCluster, writer: Writer, change: Draft | list[Draft]
) -> None:
    old = cluster.put(KIND, body(a="1"))
    uid, version = old["metadata"]["uid"], old["metadata"]["resourceVersion"]
    with pytest.raises(ConflictError):
        await writer.write(Patch(KIND, KEY, change, uid="another"))
    with pytest.raises(ConflictError):
        await writer.write(Patch(KIND, KEY, change, uid, version="0"))
    assert cluster.objects[ConfigMap, KEY]["data"] == {"a": "1"}
    written = await writer.write(Patch(KIND, KEY, change, uid, version))
    assert written is not None
    assert written.version == "2"
    assert cluster.objects[ConfigMap, KEY]["data"] == {"a": "2"}


async def test_a_patch_of_a_deleted_object_counts_as_done(writer: Writer) -> None:
    assert await writer.write(Patch(KIND, KEY, {}, uid="u")) is None


async def test_apply_creates_and_changes(cluster: FakeCluster, writer: Writer) -> None:
    assert await writer.write(Apply(KIND, KEY, body(a="1"))) is not None
    assert await writer.write(Apply(KIND, KEY, body(b="2"))) is not None
    assert cluster.objects[ConfigMap, KEY]["data"] == {"b": "2"}, "omitted fields are removed"


async def test_delete_spares_a_later_object_of_the_same_name(
    cluster: FakeCluster, writer: Writer
) -> None:
    old = cluster.put(KIND, body())
    with pytest.raises(ConflictError):
        await writer.write(Delete(KIND, KEY, uid="earlier"))
    written = await writer.write(Delete(KIND, KEY, uid=old["metadata"]["uid"]))
    assert written is not None
    assert (written.version, written.uid) == ("", "uid-1")
    assert await writer.write(Delete(KIND, KEY, uid="uid-1")) is None


async def test_a_replica_that_no_longer_leads_sends_nothing(cluster: FakeCluster) -> None:
    writer = Writer(cluster, Metrics(), may_write=lambda: False)
    with pytest.raises(NotLeadingError):
        await writer.write(Create(KIND, body()))
    assert cluster.calls == []


async def test_other_failures_are_raised_and_counted(cluster: FakeCluster) -> None:
    metrics = Metrics()
    cluster.faults = [InvalidError(422, "Invalid", "no")]
    with pytest.raises(InvalidError):
        await Writer(cluster, metrics).write(Create(KIND, body()))
    count = metrics.writes.labels("create", "ConfigMap", "InvalidError")
    assert count._value.get() == 1.0


def test_preconditions_keep_the_rest_of_a_patch() -> None:
    patch = Patch(KIND, KEY, {"metadata": {"labels": {"a": "b"}}}, uid="u", version="7")
    assert with_preconditions(patch) == {
        "metadata": {"labels": {"a": "b"}, "uid": "u", "resourceVersion": "7"}
    }
    assert with_preconditions(Patch(KIND, KEY, {"data": {}}, uid="")) == {"data": {}}
