"""Who serves which kinds is asked at start and followed: a Gardener that was seen stays one."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from tests.clocks import FakeClock, settle
from webhook.api import names
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import crd
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError, UnavailableError
from webhook.wiring.landscape import AGAIN_SECONDS, CoveredError, Following

GARDENER = "v1beta1.core.gardener.cloud"
MODELS = (APIService, CustomResourceDefinition, Shoot, Seed)


class Cluster:
    """A client that lists what it was given, and a cache that is fed by hand."""

    def __init__(self) -> None:
        self.cache = Cache(self, [kind_of_model(each) for each in MODELS], FakeClock())  # type: ignore[arg-type]
        self.following = Following(self.cache, "espalier-system")
        self.listeners: list[Any] = []
        self.objects: dict[str, list[Draft]] = {"APIService": [], "CustomResourceDefinition": []}
        self.forbidden: set[str] = set()
        self.kept: set[ObjectKey] = set()
        self.faults: list[ApiError] = []

    async def page(self, selection: Any, token: str = "") -> Any:
        if selection.kind.name in self.forbidden:
            message = f"{selection.kind.plural} is forbidden: cannot list"
            raise ForbiddenError(403, "Forbidden", message)
        items = [encoded(each) for each in self.objects[selection.kind.name]]
        return type("Page", (), {"items": items, "token": ""})()

    async def get(self, kind: Any, key: ObjectKey) -> Draft:
        if key not in self.kept:
            raise NotFoundError(404, "NotFound", f"{key} not found")
        return {}

    async def create(self, kind: Any, key: ObjectKey, draft: Draft) -> Draft:
        if self.faults:
            raise self.faults.pop(0)
        self.kept.add(key)
        return draft

    async def delete(self, kind: Any, key: ObjectKey) -> None:
        self.kept.discard(key)

    def restarted(self, **settings: bool) -> "Cluster":
        """Give a new process in the same cluster."""
        found = Cluster()
        found.objects, found.kept = self.objects, self.kept
        found.following = Following(found.cache, "espalier-system", **settings)
        return found

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
    cluster.forbidden = {"APIService", "CustomResourceDefinition"}
    await cluster.following.ask(cluster)
    assert cluster.is_beside
    assert "cannot tell whether a Gardener is there" in caplog.text


@pytest.mark.parametrize("remote", [True, False])
async def test_who_may_not_see_definitions_still_sees_a_gardener(cluster, caplog, remote):
    cluster.forbidden = {"CustomResourceDefinition"}
    cluster.objects["APIService"] = [service(remote=remote)]
    await cluster.following.ask(cluster)
    assert cluster.is_beside is remote
    assert "cannot tell whether an aggregated API covers our definitions" in caplog.text
    assert "cannot tell whether a Gardener is there" not in caplog.text


async def test_a_gardener_that_was_seen_is_known_after_a_restart(cluster, caplog):
    cluster.objects["APIService"] = [service()]
    await cluster.following.ask(cluster)
    cluster.faults = [UnavailableError(503, "ServiceUnavailable", "not now")]
    clock = FakeClock()
    remembering = asyncio.ensure_future(cluster.following.remember(cluster, clock))
    await settle()
    assert not remembering.done()
    await clock.advance(AGAIN_SECONDS)
    await remembering
    cluster.objects["APIService"] = []
    again = cluster.restarted()
    await again.following.ask(again)
    assert again.is_beside
    assert "a Gardener was here before" in caplog.text


async def test_only_a_person_makes_it_forgotten(cluster):
    cluster.kept = {ObjectKey("espalier-system", names.GARDENER_SEEN)}
    alone = cluster.restarted(standalone=True)
    await alone.following.ask(alone)
    assert not alone.is_beside
    again = cluster.restarted()
    await again.following.ask(again)
    assert not again.is_beside


async def test_a_gardener_that_is_there_is_not_wished_away(cluster, caplog):
    cluster.objects["APIService"] = [service()]
    wishing = cluster.restarted(standalone=True)
    await wishing.following.ask(wishing)
    assert wishing.is_beside
    assert "`standalone` is not heeded" in caplog.text


async def test_nobody_remembers_a_gardener_that_was_only_taken_for_granted(cluster):
    cluster.forbidden = {"APIService"}
    await cluster.following.ask(cluster)
    remembering = asyncio.ensure_future(cluster.following.remember(cluster, FakeClock()))
    await settle()
    assert cluster.kept == set()
    cluster.show(APIService, service())
    await remembering
    assert cluster.kept


async def test_a_further_version_that_is_claimed_at_start_is_named_with_the_remedy(cluster):
    claimed = service(name="v1alpha1.seedmanagement.gardener.cloud")
    cluster.objects["APIService"] = [service(), claimed]
    cluster.objects["CustomResourceDefinition"] = [definition(SeedAutoscaler)]
    told = r"claims a version of .*seedautoscalers.*: apply what `espalier manifests` prints again"
    with pytest.raises(CoveredError, match=told):
        await cluster.following.ask(cluster)


async def test_a_further_version_that_is_claimed_later_is_named_and_the_kind_goes_on(
    cluster, caplog
):
    caplog.set_level(logging.INFO)
    name = "v1alpha1.seedmanagement.gardener.cloud"
    cluster.show(CustomResourceDefinition, definition(SeedAutoscaler))
    before = [*cluster.cache.stale_kinds]
    cluster.show(APIService, service(name=name))
    assert "apply the manifests again" in caplog.text
    assert [*cluster.cache.stale_kinds] == before
    cluster.hide(APIService, name)
    assert "no aggregated API claims a version of our definitions any more" in caplog.text


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
    policies = vars(record)["policies"]
    assert "shoot.workers" in policies
    assert "shoot.scheduler" not in policies  # off unless set
    assert len(policies) == len({*policies})


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
