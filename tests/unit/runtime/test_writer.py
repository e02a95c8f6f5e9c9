import pytest

from tests.clocks import FakeClock
from tests.unit.runtime.world import World
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.cluster.errors import ConflictError, InvalidError
from webhook.runtime.actions import Apply, Create, Delete, Patch
from webhook.runtime.metrics import Metrics
from webhook.runtime.writer import NotLeadingError, Writer, guarded

KIND = kind_of_model(ConfigMap)
KEY = ObjectKey("garden", "one")


def body(**data: str) -> Draft:
    return {"metadata": {"namespace": "garden", "name": "one"}, "data": data}


@pytest.fixture
def world() -> World:
    return World(FakeClock(), ConfigMap)


@pytest.fixture
def writer(world: World) -> Writer:
    return Writer(world, Metrics())


async def test_creating_says_the_version_and_twice_is_once(world: World, writer: Writer) -> None:
    written = await writer.write(Create(KIND, body(a="1")))
    assert written is not None
    assert (written.key, written.version, written.uid) == (KEY, "1", "uid-1")
    assert world.objects["ConfigMap", KEY]["apiVersion"] == "v1"
    assert world.objects["ConfigMap", KEY]["kind"] == "ConfigMap"
    assert await writer.write(Create(KIND, body(a="2"))) is None
    assert world.objects["ConfigMap", KEY]["data"] == {"a": "1"}


@pytest.mark.parametrize(
    "change", [{"data": {"a": "2"}}, [{"op": "replace", "path": "/data/a", "value": "2"}]]
)
async def test_a_patch_is_done_only_on_what_was_seen(
    world: World, writer: Writer, change: Draft | list[Draft]
) -> None:
    old = world.put(KIND, body(a="1"))
    uid, version = old["metadata"]["uid"], old["metadata"]["resourceVersion"]
    with pytest.raises(ConflictError):
        await writer.write(Patch(KIND, KEY, change, uid="another"))
    with pytest.raises(ConflictError):
        await writer.write(Patch(KIND, KEY, change, uid, version="0"))
    assert world.objects["ConfigMap", KEY]["data"] == {"a": "1"}
    written = await writer.write(Patch(KIND, KEY, change, uid, version))
    assert written is not None
    assert written.version == "2"
    assert world.objects["ConfigMap", KEY]["data"] == {"a": "2"}


async def test_a_patch_of_what_is_gone_is_done(writer: Writer) -> None:
    assert await writer.write(Patch(KIND, KEY, {}, uid="u")) is None


async def test_applying_makes_and_changes(world: World, writer: Writer) -> None:
    assert await writer.write(Apply(KIND, KEY, body(a="1"))) is not None
    assert await writer.write(Apply(KIND, KEY, body(b="2"))) is not None
    assert world.objects["ConfigMap", KEY]["data"] == {"a": "1", "b": "2"}


async def test_deleting_spares_a_later_object_of_the_same_name(
    world: World, writer: Writer
) -> None:
    old = world.put(KIND, body())
    with pytest.raises(ConflictError):
        await writer.write(Delete(KIND, KEY, uid="earlier"))
    written = await writer.write(Delete(KIND, KEY, uid=old["metadata"]["uid"]))
    assert written is not None
    assert (written.version, written.uid) == ("", "uid-1")
    assert await writer.write(Delete(KIND, KEY, uid="uid-1")) is None


async def test_nothing_is_sent_by_one_that_no_longer_leads(world: World) -> None:
    writer = Writer(world, Metrics(), may_write=lambda: False)
    with pytest.raises(NotLeadingError):
        await writer.write(Create(KIND, body()))
    assert world.calls == []


async def test_other_failures_come_through_and_are_counted(world: World) -> None:
    metrics = Metrics()
    world.fails = [InvalidError(422, "Invalid", "no")]
    with pytest.raises(InvalidError):
        await Writer(world, metrics).write(Create(KIND, body()))
    count = metrics.writes.labels("create", "ConfigMap", "InvalidError")
    assert count._value.get() == 1.0


def test_guards_leave_the_rest_of_a_patch_alone() -> None:
    patch = Patch(KIND, KEY, {"metadata": {"labels": {"a": "b"}}}, uid="u", version="7")
    assert guarded(patch) == {
        "metadata": {"labels": {"a": "b"}, "uid": "u", "resourceVersion": "7"}
    }
    assert guarded(Patch(KIND, KEY, {"data": {}}, uid="")) == {"data": {}}
