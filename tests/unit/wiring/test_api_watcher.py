"""Which APIs are served is checked at start and watched; a Gardener that was seen is recorded."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest
from typing_extensions import override

from tests.support.clocks import FakeClock, settle
from webhook.api import names
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import crd
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError, UnavailableError
from webhook.cluster.lists import ListReader, Page
from webhook.cluster.requests import Selection
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.wiring.api_watcher import RETRY_SECONDS, ApiWatcher, ShadowedDefinitionsError

GARDENER = "v1beta1.core.gardener.cloud"
MODELS = (APIService, CustomResourceDefinition, Shoot, Seed)


class Cluster(ListReader):
    """A client that lists fixed objects, and a cache that the test fills."""

    def __init__(self) -> None:
        self.cache = Cache(self, [kind_of_model(each) for each in MODELS], FakeClock())  # type: ignore[arg-type]
        self.watcher = ApiWatcher(self.cache, "espalier-system")
        self.listeners: list[Any] = []
        self.objects: dict[str, list[Draft]] = {"APIService": [], "CustomResourceDefinition": []}
        self.forbidden: set[str] = set()
        self.markers: set[ObjectKey] = set()
        self.errors_on_create: list[ApiError] = []

    @override
    async def page(self, selection: Selection, token: str = "", limit: int = 0) -> Page:
        if selection.kind.name in self.forbidden:
            message = f"{selection.kind.plural} is forbidden: cannot list"
            raise ForbiddenError(403, "Forbidden", message)
        items = [msgspec.Raw(encoded(each)) for each in self.objects[selection.kind.name]]
        return Page(items, "", "")

    async def get(self, kind: Any, key: ObjectKey) -> Draft:
        if key not in self.markers:
            raise NotFoundError(404, "NotFound", f"{key} not found")
        return {}

    async def create(self, kind: Any, key: ObjectKey, draft: Draft) -> Draft:
        if self.errors_on_create:
            raise self.errors_on_create.pop(0)
        self.markers.add(key)
        return draft

    async def delete(self, kind: Any, key: ObjectKey) -> None:
        self.markers.discard(key)

    def restarted(self, **settings: bool) -> "Cluster":
        """Return a new process in the same cluster."""
        found = Cluster()
        found.objects, found.markers = self.objects, self.markers
        found.watcher = ApiWatcher(found.cache, "espalier-system", **settings)
        return found

    def show(self, model: type[Object], raw: Draft) -> None:
        """Add an object to the cache."""
        found = decode(model, encoded(raw))
        self.cache.state.store(model).put(found.key, found)
        self.watcher._check(None, None)

    def hide(self, model: type[Object], name: str) -> None:
        store = self.cache.state.store(model)
        key = next(obj.key for obj in store.list() if obj.name == name)
        store.drop(key)
        self.watcher._check(None, None)

    @property
    def is_beside(self) -> bool:
        return self.cache.state.options.beside_gardener


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
    await cluster.watcher.check_at_start(cluster)
    assert not cluster.is_beside


async def test_a_gardener_is_found_at_start(cluster):
    cluster.objects["APIService"] = [service()]
    await cluster.watcher.check_at_start(cluster)
    assert cluster.is_beside


async def test_covered_definitions_at_start_are_an_error(cluster):
    cluster.objects["APIService"] = [service()]
    cluster.objects["CustomResourceDefinition"] = [definition(Shoot)]
    with pytest.raises(ShadowedDefinitionsError, match=r"shoots\.core\.gardener\.cloud"):
        await cluster.watcher.check_at_start(cluster)


async def test_foreign_definitions_are_ignored(cluster):
    cluster.objects["APIService"] = [service()]
    cluster.objects["CustomResourceDefinition"] = [definition(Shoot, ours=False)]
    await cluster.watcher.check_at_start(cluster)
    assert cluster.is_beside


async def test_without_permission_a_gardener_is_assumed(cluster, caplog):
    cluster.forbidden = {"APIService", "CustomResourceDefinition"}
    await cluster.watcher.check_at_start(cluster)
    assert cluster.is_beside
    assert "cannot detect a Gardener" in caplog.text


@pytest.mark.parametrize("remote", [True, False])
async def test_without_permission_to_list_definitions_a_gardener_is_detected(
    cluster, caplog, remote
):
    cluster.forbidden = {"CustomResourceDefinition"}
    cluster.objects["APIService"] = [service(remote=remote)]
    await cluster.watcher.check_at_start(cluster)
    assert cluster.is_beside is remote
    assert "cannot detect whether an aggregated API covers our definitions" in caplog.text
    assert "cannot detect a Gardener" not in caplog.text


async def test_a_gardener_that_was_seen_counts_after_a_restart(cluster, caplog):
    cluster.objects["APIService"] = [service()]
    await cluster.watcher.check_at_start(cluster)
    cluster.errors_on_create = [UnavailableError(503, "ServiceUnavailable", "not now")]
    clock = FakeClock()
    recording = asyncio.ensure_future(cluster.watcher.record_gardener(cluster, clock))
    await settle()
    assert not recording.done()
    await clock.advance(RETRY_SECONDS)
    await recording
    cluster.objects["APIService"] = []
    again = cluster.restarted()
    await again.watcher.check_at_start(again)
    assert again.is_beside
    assert "a Gardener was seen before" in caplog.text


async def test_only_the_setting_standalone_deletes_the_marker(cluster):
    cluster.markers = {ObjectKey("espalier-system", names.GARDENER_SEEN)}
    alone = cluster.restarted(standalone=True)
    await alone.watcher.check_at_start(alone)
    assert not alone.is_beside
    again = cluster.restarted()
    await again.watcher.check_at_start(again)
    assert not again.is_beside


async def test_standalone_is_ignored_while_a_gardener_is_present(cluster, caplog):
    cluster.objects["APIService"] = [service()]
    wishing = cluster.restarted(standalone=True)
    await wishing.watcher.check_at_start(wishing)
    assert wishing.is_beside
    assert "`standalone` is ignored" in caplog.text


async def test_no_marker_is_written_for_an_assumed_gardener(cluster):
    cluster.forbidden = {"APIService"}
    await cluster.watcher.check_at_start(cluster)
    recording = asyncio.ensure_future(cluster.watcher.record_gardener(cluster, FakeClock()))
    await settle()
    assert cluster.markers == set()
    cluster.show(APIService, service())
    await recording
    assert cluster.markers


async def test_a_claimed_version_at_start_is_an_error_with_the_remedy(cluster):
    claimed = service(name="v1alpha1.seedmanagement.gardener.cloud")
    cluster.objects["APIService"] = [service(), claimed]
    cluster.objects["CustomResourceDefinition"] = [definition(SeedAutoscaler)]
    message = (
        r"claims a version of .*seedautoscalers.*: apply what `espalier manifests` prints again"
    )
    with pytest.raises(ShadowedDefinitionsError, match=message):
        await cluster.watcher.check_at_start(cluster)


async def test_a_version_that_is_claimed_later_is_logged_and_the_kind_stays_trusted(
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


async def test_a_deleted_apiservice_does_not_make_the_cluster_standalone(cluster):
    cluster.show(APIService, service())
    assert cluster.is_beside
    cluster.hide(APIService, GARDENER)
    assert cluster.is_beside


async def test_kinds_that_are_covered_later_are_stale_and_logged(cluster, caplog):
    caplog.set_level(logging.INFO)
    cluster.show(CustomResourceDefinition, definition(Shoot))
    cluster.show(APIService, service())
    assert "shoots.core.gardener.cloud" in cluster.cache.stale_kinds
    named = [vars(record).get("kinds") for record in caplog.records if record.levelname == "ERROR"]
    assert named == [["Shoot"]]
    cluster.hide(APIService, GARDENER)
    assert "no aggregated API covers our definitions any more" in caplog.text


async def test_the_summary_names_our_work_and_that_of_gardener(cluster, caplog):
    caplog.set_level(logging.INFO)
    cluster.show(APIService, service())
    cluster.watcher.log_summary()
    record = next(each for each in caplog.records if each.message == "beside a Gardener")
    assert "managed seeds" in vars(record)["leaves_to_gardener"]
    assert "shoot.quota" in vars(record)["policies_left"]
    policies = vars(record)["policies"]
    assert "shoot.workers" in policies
    assert "shoot.scheduler" not in policies  # off unless set
    assert len(policies) == len({*policies})


async def test_kinds_of_an_aggregated_api_that_does_not_answer_are_stale(cluster, caplog):
    api_service = service()
    api_service["status"] = {"conditions": [{"type": "Available", "status": "False"}]}
    cluster.show(APIService, api_service)
    assert {"shoots.core.gardener.cloud", "seeds.core.gardener.cloud"} <= {
        *cluster.cache.stale_kinds
    }
    assert "an aggregated API does not answer" in caplog.text
    api_service["status"] = {"conditions": [{"type": "Available", "status": "True"}]}
    caplog.set_level(logging.INFO)
    cluster.show(APIService, api_service)
    assert "every aggregated API answers again" in caplog.text
