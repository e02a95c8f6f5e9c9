"""Leaving a cluster that refuses, is silent for a while, or changes under our hands."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.clocks import START
from tests.support.scripted_server import (
    Handler,
    ReceivedRequest,
    ScriptedServer,
    fail,
    page,
    respond_json,
    scripted,
)
from webhook.api import names
from webhook.cli.install.layout import Layout
from webhook.cli.install.uninstall.retries import OUTAGE_SECONDS
from webhook.cli.install.uninstall.uninstaller import (
    MARKER_SECONDS,
    PendingShootsError,
    Uninstaller,
)
from webhook.cluster.client import Client
from webhook.controllers.installation.uninstall_marker import POLL_SECONDS
from webhook.tls.material import CertificateProfile, Material

CORE = "/apis/core.gardener.cloud/v1beta1"
SHOOTS = f"{CORE}/shoots"
MINE = f"{CORE}/namespaces/garden-dev/shoots"
NAMESPACE = "/api/v1/namespaces/garden"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
AWAY = fail(503, "ServiceUnavailable", "gardener is away")
DONE = respond_json({})


def make(name: str, namespace: str = "garden-dev", **spec: Any) -> dict[str, Any]:
    """An object with a label of ours on it."""
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {"f:ours": {}}}}
    return {
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "resourceVersion": "1",
            "labels": {"ours": "x"},
            "managedFields": [{"manager": "espalier", "fieldsV1": fields}],
        },
        "spec": spec,
    }


class ScriptedUninstall:
    """An uninstallation from a scripted garden, with what it reported and how long it slept."""

    def __init__(self, script: ScriptedServer, client: Client) -> None:
        self.script = script
        self.reported: list[str] = []
        self.slept: list[float] = []
        layout = Layout(namespace="garden")
        self._uninstaller = Uninstaller(client, layout, self.reported.append, self._sleep)
        spec = {"service": {"name": "gardener-apiserver"}}
        service = {"metadata": {"name": "v1beta1.core.gardener.cloud"}, "spec": spec}
        self.script.respond(
            "/apis/apiregistration.k8s.io/v1/apiservices", page(service, version="1")
        )
        self.with_definition()

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def with_definition(self, name: str = "", version: str = "") -> None:
        """Script one CRD, or none."""
        versions = [{"name": version, "served": True}]
        definition = {"metadata": {"name": name}, "spec": {"versions": versions}}
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self.script.scripts.pop(path, None)
        self.script.respond(path, page(*[definition] * bool(name), version="1"))

    def with_shoots(self, *shoots: dict[str, Any]) -> None:
        """Script the list of shoots: for the check of pending ones, and for the cleanup."""
        self.script.respond(SHOOTS, *[page(*shoots, version="1")] * 2)

    async def run(self, *, force: bool = False) -> list[str]:
        return await self._uninstaller.run(with_definitions=False, force=force)

    def received(self, method: str, path: str) -> list[ReceivedRequest]:
        return [each for each in self.script.received if (each.method, each.path) == (method, path)]


@pytest_asyncio.fixture
async def uninstall() -> AsyncIterator[ScriptedUninstall]:
    async with scripted() as (script, client):
        yield ScriptedUninstall(script, client)


@pytest.mark.parametrize(
    "acts",
    [
        pytest.param(
            (AWAY, AWAY, AWAY, respond_json(make("a")), DONE), id="an outage, also of the next read"
        ),
        pytest.param(
            (fail(409, "Conflict", "changed"), respond_json(make("a")), DONE),
            id="a concurrent change",
        ),
        pytest.param(
            (fail(403, "Forbidden", "not yet"), respond_json(make("a")), DONE),
            id="a temporary rejection",
        ),
        pytest.param(
            (fail(429, "TooManyRequests", "later"), respond_json(make("a")), DONE),
            id="too many requests",
        ),
    ],
)
async def test_failed_requests_are_retried(
    uninstall: ScriptedUninstall, acts: tuple[Handler, ...]
) -> None:
    uninstall.with_shoots(make("a"))
    uninstall.script.respond(f"{MINE}/a", *acts)
    assert await uninstall.run() == []
    assert "cleaned shoot/garden-dev/a" in uninstall.reported


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        pytest.param(fail(422, "Invalid", "spec.x: is wrong"), "spec.x: is wrong", id="invalid"),
        pytest.param(
            fail(403, "Forbidden", "a plugin refuses"), "a plugin refuses", id="forbidden"
        ),
        pytest.param(AWAY, "gardener is away", id="never available"),
        pytest.param(
            fail(409, "Conflict", "modified again"), "modified again", id="always in conflict"
        ),
    ],
)
async def test_a_permanent_failure_is_a_problem_and_the_rest_is_cleaned(
    uninstall: ScriptedUninstall, refusal: Handler, message: str
) -> None:
    uninstall.with_shoots(make("a"), make("b"))
    uninstall.script.respond(f"{MINE}/a", *[refusal, respond_json(make("a"))] * 20)
    uninstall.script.respond(f"{MINE}/b", DONE)
    assert await uninstall.run() == [f"shoot/garden-dev/a: {message}"]
    assert "cleaned shoot/garden-dev/b" in uninstall.reported
    assert len(uninstall.received("PATCH", f"{MINE}/a")) >= 3


async def test_an_object_that_is_deleted_meanwhile_is_no_problem(
    uninstall: ScriptedUninstall,
) -> None:
    uninstall.with_shoots(make("a"), make("b"))
    gone = fail(404, "NotFound", "shoot a not found")
    uninstall.script.respond(f"{MINE}/a", fail(409, "Conflict", "changed"), gone)
    uninstall.script.respond(f"{MINE}/b", DONE)
    assert await uninstall.run() == []
    assert "cleaned shoot/garden-dev/b" in uninstall.reported


async def test_a_failed_list_is_retried(uninstall: ScriptedUninstall) -> None:
    shoot = make("a")
    uninstall.script.respond(SHOOTS, page(shoot, version="1"), AWAY, AWAY, page(shoot, version="2"))
    uninstall.script.respond(f"{MINE}/a", DONE)
    assert await uninstall.run() == []
    assert "cleaned shoot/garden-dev/a" in uninstall.reported


async def test_a_kind_that_cannot_be_listed_is_a_problem_and_the_others_are_cleaned(
    uninstall: ScriptedUninstall,
) -> None:
    uninstall.script.respond(SHOOTS, page(version="1"), *[AWAY] * 40)
    uninstall.script.respond("/api/v1/namespaces", page(make("garden-dev", ""), version="1"))
    uninstall.script.respond("/api/v1/namespaces/garden-dev", DONE)
    assert await uninstall.run() == ["shoots.core.gardener.cloud: gardener is away"]
    assert "cleaned namespace/garden-dev" in uninstall.reported


async def test_objects_of_an_unavailable_server_share_the_waiting_time(
    uninstall: ScriptedUninstall,
) -> None:
    shoots = [make(f"s{number}") for number in range(20)]
    uninstall.with_shoots(*shoots)
    for shoot in shoots:
        uninstall.script.respond(f"{MINE}/{shoot['metadata']['name']}", *[AWAY] * 40)
    assert len(await uninstall.run()) == len(shoots)
    waited = sum(uninstall.slept) - MARKER_SECONDS
    assert waited < 1.5 * OUTAGE_SECONDS


async def test_pending_shoots_stop_it_before_any_write(uninstall: ScriptedUninstall) -> None:
    uninstall.with_shoots(make("a", schedulerName="espalier"))
    with pytest.raises(PendingShootsError, match="garden-dev/a"):
        await uninstall.run()
    assert {each.method for each in uninstall.script.received} == {"GET"}


async def test_pending_shoots_are_reported_with_force(
    uninstall: ScriptedUninstall,
) -> None:
    uninstall.with_shoots(make("a", schedulerName="espalier"))
    uninstall.script.respond(f"{MINE}/a", DONE)
    assert await uninstall.run(force=True) == []
    assert [
        line
        for line in uninstall.reported
        if "nobody would place" in line and "garden-dev/a" in line
    ]


async def test_only_our_objects_are_deleted_from_a_foreign_namespace_the_marker_last(
    uninstall: ScriptedUninstall,
) -> None:
    material = Material.create(CertificateProfile(("host",)), START).encode()
    ours = {name: base64.b64encode(text).decode() for name, text in material.items()}
    theirs = {name: text for name, text in ours.items() if not name.startswith("authority")}
    secrets = [
        {"metadata": {"name": "espalier-tls", "namespace": "garden"}, "data": ours},
        {"metadata": {"name": "espalier-tls-theirs", "namespace": "garden"}, "data": theirs},
    ]
    ledger = {"metadata": {"name": "espalier-ledger-s", "namespace": "garden"}}
    record = {"metadata": {"name": "espalier-pool-p", "namespace": "garden"}}
    lease = "/apis/coordination.k8s.io/v1/namespaces/garden/leases/espalier"
    uninstall.with_shoots()
    uninstall.script.respond(NAMESPACE, respond_json({"metadata": {"name": "garden", "uid": "1"}}))
    lists = (page(ledger, version="1"), page(record, version="1"))
    uninstall.script.respond(CONFIG_MAPS, respond_json({}, 201), *lists)
    uninstall.script.respond(f"{NAMESPACE}/secrets", page(*secrets, version="1"))
    assert await uninstall.run() == []
    deleted = [each.path for each in uninstall.script.received if each.method == "DELETE"]
    assert deleted == [
        f"{CONFIG_MAPS}/espalier-ledger-s",
        f"{CONFIG_MAPS}/espalier-pool-p",
        lease,
        f"{NAMESPACE}/secrets/espalier-tls",
        f"{CONFIG_MAPS}/{names.UNINSTALL_MARKER}",
    ]
    selectors = [
        each.query.get("labelSelector", "") for each in uninstall.received("GET", CONFIG_MAPS)
    ]
    managed = f"{names.MANAGED_BY}=espalier"
    assert selectors == [f"{names.LEDGER_LABEL},{managed}", f"{names.POOL_LABEL},{managed}"]


async def test_the_marker_exists_until_every_server_has_polled_it(
    uninstall: ScriptedUninstall,
) -> None:
    uninstall.with_shoots()
    uninstall.script.respond(NAMESPACE, respond_json({"metadata": {"name": "garden", "uid": "1"}}))
    uninstall.script.respond(CONFIG_MAPS, respond_json({}, 201))
    assert await uninstall.run() == []
    assert sum(uninstall.slept) > 2 * POLL_SECONDS
    assert len(uninstall.received("DELETE", f"{CONFIG_MAPS}/{names.UNINSTALL_MARKER}")) == 1


async def test_our_own_namespace_is_deleted_as_a_whole(uninstall: ScriptedUninstall) -> None:
    uninstall.with_shoots()
    metadata = {"name": "garden", "uid": "1", "labels": {names.MANAGED_BY: "espalier"}}
    uninstall.script.respond(NAMESPACE, *[respond_json({"metadata": metadata})] * 2, DONE)
    assert await uninstall.run() == []
    deletion = uninstall.received("DELETE", NAMESPACE)
    assert json.loads(deletion[0].body)["propagationPolicy"] == "Foreground"
    assert uninstall.received("DELETE", f"{CONFIG_MAPS}/{names.UNINSTALL_MARKER}") == []


@pytest.mark.parametrize("kind", ["machinedeployment", "machineset"])
async def test_annotations_that_admission_added_to_foreign_writes_are_removed(
    uninstall: ScriptedUninstall, kind: str
) -> None:
    uninstall.with_shoots()
    machines = "/apis/machine.sapcloud.io/v1alpha1"
    annotated = make("m")
    annotated["metadata"] |= {
        "labels": {},
        "managedFields": [{"manager": "provider-extension"}],
        "annotations": {names.POOL_MAXIMUM: "3", names.POOL_ZONE_INDEX: "0", names.TOUCHED: "t"},
    }
    uninstall.with_definition(f"{kind}s.machine.sapcloud.io", "v1alpha1")
    uninstall.script.respond(f"{machines}/{kind}s", page(annotated, version="1"))
    path = f"{machines}/namespaces/garden-dev/{kind}s/m"
    uninstall.script.respond(path, DONE)
    assert await uninstall.run() == []
    (patch,) = uninstall.received("PATCH", path)
    change = json.loads(patch.body)["metadata"]["annotations"]
    assert change == dict.fromkeys(annotated["metadata"]["annotations"])
    assert not [line for line in uninstall.reported if "which Espalier did not write" in line]
