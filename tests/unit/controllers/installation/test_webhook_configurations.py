import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.support.clocks import FakeClock
from tests.support.fake_cluster import Call, FakeCluster
from webhook.api import names
from webhook.api.core import (
    ConfigMap,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from webhook.controllers.installation.webhook_configurations import (
    RegistrationInputs,
    WebhookConfigurationReconciler,
    is_covered,
    published_ca_bundles,
)
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.snapshot import Snapshot
from webhook.tls.authority import Authority
from webhook.tls.rotation import Rotation
from webhook.tls.serving import ServingContext

NOW = datetime(2026, 3, 1, tzinfo=UTC)
AUTHORITY = Authority.create("test", NOW)
API_VERSION = "admissionregistration.k8s.io/v1"
BOTH = [
    Call("apply", "MutatingWebhookConfiguration", "espalier"),
    Call("apply", "ValidatingWebhookConfiguration", "espalier"),
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


class Bench:
    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.api = FakeCluster(
            self.clock, MutatingWebhookConfiguration, ValidatingWebhookConfiguration
        )
        self.ready = True
        self.service: ObjectKey | None = None

    async def reconcile(self) -> list[Call]:
        rotation = Rotation(ServingContext(AUTHORITY.sign_server(["localhost"], NOW)))
        wanted = RegistrationInputs(
            build, lambda: AUTHORITY.certificate, lambda: self.ready, self.service
        )
        reconciler = WebhookConfigurationReconciler(
            self.api, self.api, rotation, wanted, "garden", self.clock
        )
        before = len(self.api.calls)
        await reconciler.reconcile()
        return self.api.calls[before:]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_configurations_are_created_once_the_server_is_ready(
    bench: Bench,
) -> None:
    bench.ready = False
    assert await bench.reconcile() == []
    bench.ready = True
    assert await bench.reconcile() == BOTH
    assert await bench.reconcile() == []


async def test_changes_are_reverted_and_defaults_of_the_api_server_kept(
    bench: Bench,
) -> None:
    await bench.reconcile()
    key = ObjectKey("", "espalier")
    (hook,) = bench.api.server.find(ValidatingWebhookConfiguration, key)["webhooks"]
    added = {"webhooks": [{**hook, "timeoutSeconds": 10}]}
    bench.api.server.change(ValidatingWebhookConfiguration, key, added)
    assert await bench.reconcile() == []
    changed = {"webhooks": [{**hook, "clientConfig": {"caBundle": ""}}]}
    bench.api.server.change(ValidatingWebhookConfiguration, key, changed)
    assert await bench.reconcile() == BOTH[1:]


async def test_nothing_is_created_while_being_uninstalled(bench: Bench) -> None:
    bench.api.server.create(ConfigMap, ObjectKey("garden", names.UNINSTALL_MARKER), {})
    assert await bench.reconcile() == []


async def test_nothing_is_created_without_the_service(bench: Bench) -> None:
    bench.service = ObjectKey("garden", "espalier")
    assert await bench.reconcile() == []
    bench.api.paths["/api/v1/namespaces/garden/services/espalier"] = {}
    assert await bench.reconcile() == BOTH


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1, "b": 2}, True, id="more fields"),
        pytest.param({"a": 1}, {"b": 2}, False, id="a missing field"),
        pytest.param({"a": 1}, {"a": 2}, False, id="another value"),
        pytest.param([1, 2], [1, 2, 3], False, id="a longer list"),
        pytest.param([{"a": 1}], [{"a": 1, "b": 2}], True, id="more fields in a list"),
        pytest.param({"a": ""}, {}, True, id="empty is absent"),
        pytest.param({"a": {}}, {"a": "text"}, False, id="another type"),
    ],
)
def test_is_covered(wanted: Any, found: Any, expected: bool) -> None:
    assert is_covered(wanted, found) is expected


def test_published_bundles_are_listed_once() -> None:
    drafts = build(b"x")
    objects = [
        msgspec.convert(draft, model)
        for draft, model in zip(
            drafts, (MutatingWebhookConfiguration, ValidatingWebhookConfiguration), strict=True
        )
    ]
    assert published_ca_bundles(Snapshot.of(objects), "espalier") == ["eA=="]
    assert published_ca_bundles(Snapshot.of(objects), "other") == []
