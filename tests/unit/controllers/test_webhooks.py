import base64
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.clocks import FakeClock
from tests.unit.controllers.api import FakeApi
from webhook.api import names
from webhook.api.core import (
    ConfigMap,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from webhook.api.kinds import find_kind, kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.controllers.webhooks import Keeper, Wanted, is_covered, published
from webhook.state.snapshot import Snapshot
from webhook.tls.authority import Authority
from webhook.tls.rotation import Rotation
from webhook.tls.serving import ServingContext

NOW = datetime(2026, 3, 1, tzinfo=UTC)
AUTHORITY = Authority.create("test", NOW)
API_VERSION = "admissionregistration.k8s.io/v1"
BOTH = [
    "apply MutatingWebhookConfiguration as espalier",
    "apply ValidatingWebhookConfiguration as espalier",
]


def build(bundle: bytes) -> Sequence[Draft]:
    encoded = base64.b64encode(bundle).decode()
    return [
        {
            "apiVersion": API_VERSION,
            "kind": kind,
            "metadata": {"name": "espalier"},
            "webhooks": [
                {"name": "a.espalier.gardener.cloud", "clientConfig": {"caBundle": encoded}}
            ],
        }
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    ]


class Seen:
    """A cache that sees the API's objects at once."""

    def __init__(self, api: FakeApi) -> None:
        self._api = api

    def snapshot(self) -> Snapshot:
        objects: list[Object] = []
        for (name, _), draft in self._api.objects.items():
            kind = find_kind(API_VERSION, name)
            if kind is not None:
                objects.append(msgspec.convert(draft, kind.model))
        snapshot = Snapshot.of(objects)
        snapshot.raw = self._raw  # type: ignore[method-assign]  # Structs drop what they do not read
        return snapshot

    def _raw(self, model: type[Object], key: ObjectKey) -> Draft | None:
        return self._api.objects.get((kind_of_model(model).name, key))

    def add_listener(
        self, model: type[Any], listener: Callable[[Any, Any], None], *, replay: bool = True
    ) -> None:
        return

    def remove_listener(self, model: type[Any], listener: Callable[[Any, Any], None]) -> None:
        return


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.api = FakeApi()
        self.ready = True
        self.service: ObjectKey | None = None

    async def look(self) -> list[str]:
        rotation = Rotation(ServingContext(AUTHORITY.sign_server(["localhost"], NOW)))
        wanted = Wanted(build, lambda: AUTHORITY.certificate, lambda: self.ready, self.service)
        keeper = Keeper(self.api, Seen(self.api), rotation, wanted, "garden", self.clock)
        before = len(self.api.writes)
        await keeper.look()
        return self.api.writes[before:]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_configurations_are_made_once_the_server_is_ready_and_then_left_alone(
    bench: Bench,
) -> None:
    bench.ready = False
    assert await bench.look() == []
    bench.ready = True
    assert await bench.look() == BOTH
    assert await bench.look() == []


async def test_what_somebody_changed_is_set_right_and_what_the_server_added_is_not(
    bench: Bench,
) -> None:
    await bench.look()
    key = ObjectKey("", "espalier")
    validating = bench.api.objects["ValidatingWebhookConfiguration", key]
    validating["webhooks"][0]["timeoutSeconds"] = 10
    assert await bench.look() == []
    validating["webhooks"][0]["clientConfig"]["caBundle"] = ""
    assert await bench.look() == BOTH[1:]


async def test_while_we_leave_nothing_is_made(bench: Bench) -> None:
    bench.api.put(kind_of_model(ConfigMap), ObjectKey("garden", names.LEAVING), {})
    assert await bench.look() == []


async def test_no_api_server_is_pointed_at_a_service_that_is_not_there(bench: Bench) -> None:
    bench.service = ObjectKey("garden", "espalier")
    assert await bench.look() == []
    bench.api.paths["/api/v1/namespaces/garden/services/espalier"] = {}
    assert await bench.look() == BOTH


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1, "b": 2}, True, id="more is fine"),
        pytest.param({"a": 1}, {"b": 2}, False, id="less is not"),
        pytest.param({"a": 1}, {"a": 2}, False, id="other is not"),
        pytest.param([1, 2], [1, 2, 3], False, id="a longer list is another list"),
        pytest.param([{"a": 1}], [{"a": 1, "b": 2}], True, id="inside lists too"),
        pytest.param({"a": ""}, {}, True, id="empty is absent"),
        pytest.param({"a": {}}, {"a": "text"}, False, id="another type"),
    ],
)
def test_covering(wanted: Any, found: Any, expected: bool) -> None:
    assert is_covered(wanted, found) is expected


def test_published_bundles_are_listed_once() -> None:
    drafts = build(b"x")
    objects = [
        msgspec.convert(draft, model)
        for draft, model in zip(
            drafts, (MutatingWebhookConfiguration, ValidatingWebhookConfiguration), strict=True
        )
    ]
    assert published(Snapshot.of(objects), "espalier") == ["eA=="]
    assert published(Snapshot.of(objects), "other") == []
