"""Who serves which kinds is asked at start and followed: a Gardener that was seen stays one."""

import logging
from typing import Any

import msgspec
import pytest

from tests.clocks import FakeClock
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import crd
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, Object
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache
from webhook.cluster.errors import ForbiddenError
from webhook.wiring.landscape import CoveredError, Following

GARDENER = "v1beta1.core.gardener.cloud"
MODELS = (APIService, CustomResourceDefinition, Shoot, Seed)


class Cluster:
    """A client that lists what it was given, and a cache that is fed by hand."""

    def __init__(self) -> None:
        self.cache = Cache(self, [kind_of_model(each) for each in MODELS], FakeClock())  # type: ignore[arg-type]
        self.following = Following(self.cache)
        self.listeners: list[Any] = []
        self.objects: dict[str, list[Draft]] = {"APIService": [], "CustomResourceDefinition": []}
        self.forbidden = False

    async def page(self, selection: Any, token: str = "") -> Any:
        if self.forbidden:
            raise ForbiddenError(403, "Forbidden", "apiservices is forbidden: cannot list")
        items = [encoded(each) for each in self.objects[selection.kind.name]]
        return type("Page", (), {"items": items, "token": ""})()

    def show(self, model: type[Object], raw: Draft) -> None:
        """Let the watch show an object."""
        found = decode(model, encoded(raw))
        self.cache.memory.store(model).put(found.key, found)
        self.following._look(None, None)

    def hide(self, model: type[Object], name: str) -> None:
        store = self.cache.memory.store(model)
        key = next(obj.key for obj in store.list() if obj.name == name)
        store.drop(key)
        self.following._look(None, None)

    @property
    def is_beside(self) -> bool:
        return self.cache.memory.options.beside_gardener


def encoded(raw: Draft) -> bytes:
    return msgspec.json.encode(raw)


def service(*, remote: bool = True, name: str = GARDENER) -> Draft:
    spec: Draft = {"service": {"name": "gardener-apiserver", "namespace": "garden"}}
    return {"metadata": {"name": name}, "spec": spec if remote else {}}


def definition(model: type[Object], *, ours: bool = True) -> Draft:
    found = crd(kind_of_model(model), beside_gardener=False)
    if not ours:
        found["metadata"]["labels"] = {}
    return found


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


async def test_a_local_apiservice_is_no_gardener(cluster):
    cluster.objects["APIService"] = [service(remote=False)]
    await cluster.following.ask(cluster)
    assert not cluster.is_beside


async def test_a_gardener_is_found_at_start(cluster):
    cluster.objects["APIService"] = [service()]
    await cluster.following.ask(cluster)
    assert cluster.is_beside


async def test_definitions_that_are_covered_at_start_are_named(cluster):
    cluster.objects["APIService"] = [service()]
    cluster.objects["CustomResourceDefinition"] = [definition(Shoot)]
    with pytest.raises(CoveredError, match=r"shoots\.core\.gardener\.cloud"):
        await cluster.following.ask(cluster)


async def test_definitions_of_others_are_no_concern_of_ours(cluster):
    cluster.objects["APIService"] = [service()]
    cluster.objects["CustomResourceDefinition"] = [definition(Shoot, ours=False)]
    await cluster.following.ask(cluster)
    assert cluster.is_beside


async def test_who_may_not_look_does_nothing_of_gardeners(cluster, caplog):
    cluster.forbidden = True
    await cluster.following.ask(cluster)
    assert cluster.is_beside
    assert "cannot tell whether a Gardener is there" in caplog.text


async def test_a_gardener_that_goes_does_not_make_the_landscape_standalone(cluster):
    cluster.show(APIService, service())
    assert cluster.is_beside
    cluster.hide(APIService, GARDENER)
    assert cluster.is_beside


async def test_kinds_that_are_covered_while_we_run_stop_and_are_named(cluster, caplog):
    caplog.set_level(logging.INFO)
    cluster.show(CustomResourceDefinition, definition(Shoot))
    cluster.show(APIService, service())
    assert "shoots.core.gardener.cloud" in cluster.cache.stale_kinds
    named = [vars(record).get("kinds") for record in caplog.records if record.levelname == "ERROR"]
    assert named == [["Shoot"]]
    cluster.hide(APIService, GARDENER)
    assert "no aggregated API covers definitions of ours any more" in caplog.text


async def test_one_line_tells_what_is_ours_and_what_is_left(cluster, caplog):
    caplog.set_level(logging.INFO)
    cluster.show(APIService, service())
    cluster.following.tell()
    record = next(each for each in caplog.records if each.message == "beside a Gardener")
    assert "managed seeds" in vars(record)["leaves_to_gardener"]
    assert "shoot.quota" in vars(record)["policies_left"]


async def test_kinds_of_an_aggregated_api_that_does_not_answer_are_stale(cluster, caplog):
    told = service()
    told["status"] = {"conditions": [{"type": "Available", "status": "False"}]}
    cluster.show(APIService, told)
    assert {"shoots.core.gardener.cloud", "seeds.core.gardener.cloud"} <= {
        *cluster.cache.stale_kinds
    }
    assert "an aggregated API does not answer" in caplog.text
    told["status"] = {"conditions": [{"type": "Available", "status": "True"}]}
    caplog.set_level(logging.INFO)
    cluster.show(APIService, told)
    assert "every aggregated API answers again" in caplog.text
