"""Untrusted clients call every path with every method; nothing is written or disclosed."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

import pytest
from aiohttp import web

from tests.support.campaigns import IN_SOAK
from tests.support.clocks import FakeClock
from tests.support.fake_cache import FakeCache
from tests.support.forgeries import ROOM, Caller, Landscape
from tests.support.server_processes import Replica, running
from tests.support.waits import eventually
from webhook.admission.engine import TABLE
from webhook.cluster.client import Client
from webhook.cluster.requests import ApiRequest
from webhook.dev.planes import admissionconfig
from webhook.dev.planes.access import ADMIN
from webhook.runtime.health import Checks
from webhook.runtime.metrics import Metrics
from webhook.server.app import Services, build_app, build_plain_app
from webhook.server.traffic import Traffic
from webhook.tls.authority import Authority
from webhook.tls.serving import as_file

pytestmark = pytest.mark.timeout(1800 if IN_SOAK else 300)

ROUNDS = 20 if IN_SOAK else 1
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND")
WATCHED = (
    "/api/v1/events",
    "/api/v1/configmaps",
    "/api/v1/pods",
    "/api/v1/secrets",
    "/apis/core.gardener.cloud/v1beta1/shoots",
    "/apis/core.gardener.cloud/v1beta1/seeds",
    "/apis/machine.sapcloud.io/v1alpha1/machinesets",
    "/apis/machine.sapcloud.io/v1alpha1/machinedeployments",
)
"""The resources that Espalier could write for an untrusted client."""
PUBLISHED = "kube-root-ca.crt"
"""A ConfigMap that the API server's controllers write in their own time."""


def paths() -> tuple[list[str], list[str]]:
    """Return the paths of the server, behind TLS and on the other port."""
    extender: Any = _AnyHandler()
    metrics, traffic = Metrics(), Traffic(FakeClock(), 1)
    app = build_app(
        Services(FakeCache(), TABLE, metrics, traffic, extender), ("admission", "extender")
    )
    return _paths(app), _paths(build_plain_app(Checks(), Checks(), Metrics()))


class _AnyHandler:
    """Has a handler for every call of the extender."""

    def __getattr__(self, name: str) -> Any:
        return lambda request, deadline: None


def _paths(app: web.Application) -> list[str]:
    return [resource.canonical for resource in app.router.resources()]


@pytest.fixture
async def landscape(garden, api) -> AsyncIterator[Landscape]:
    found = Landscape(api, uuid4().hex[:8])
    for name in found.namespaces:
        await garden.kubectl("create", "namespace", name)
    await found.create()
    yield found
    await found.delete()
    for name in found.namespaces:
        await garden.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def replica(garden, landscape, tmp_path) -> AsyncIterator[Replica]:
    """A server without controllers, so that all writes are for callers."""
    ca = garden.admin.ca_file
    found = Replica(
        "server", tmp_path, garden.kubeconfig,
        f"--namespace={landscape.namespace}", "--roles=admission,extender", "--drain-quiet=0",
        f"--client-ca={ca}", f"--admission-client-ca={ca}",
        f"--admission-client-names={admissionconfig.USER}",
    )  # fmt: skip
    async with running(found):
        await found.until_ready()
        yield found


async def _token(garden: Any, namespace: str, name: str, role: str = "") -> str:
    await garden.kubectl("create", "serviceaccount", name, "-n", namespace)
    if role:
        resource = "--resource=shoots.core.gardener.cloud/binding"
        await garden.kubectl("create", "role", role, "--verb=update", resource, "-n", namespace)
        account = f"--serviceaccount={namespace}:{name}"
        await garden.kubectl(
            "create", "rolebinding", role, f"--role={role}", account, "-n", namespace
        )
    return str((await garden.kubectl("create", "token", name, "-n", namespace)).stdout.strip())


def _foreign() -> ssl.SSLContext:
    """Return a context with a certificate of another CA, in the name of the API server."""
    now = datetime.now(UTC)
    pair = Authority.create("foreign", now).sign_client(admissionconfig.USER, now)
    context = ssl.create_default_context()
    with as_file(pair.certificate) as certificate, as_file(pair.key) as key:
        context.load_cert_chain(certificate, key)
    return context


@pytest.fixture
async def untrusted(garden, landscape, replica) -> AsyncIterator[dict[str, Caller]]:
    """Callers that may do nothing: without proof, with a false one, or without a permission."""
    nobody = ssl.create_default_context
    elsewhere = landscape.elsewhere
    mallory = await asyncio.to_thread(garden.apiserver.access, "mallory", ("system:masterz",))
    tokens = {
        "a forged token": "forged",
        "a token without a permission": await _token(garden, elsewhere, "nobody"),
        "a token for elsewhere": await _token(garden, elsewhere, "binder", "binder"),
    }
    made = {
        "no certificate": Caller(replica, nobody()),
        "a certificate of another CA": Caller(replica, _foreign()),
        "a certificate without a permission": Caller(replica, mallory.context()),
        **{name: Caller(replica, nobody(), token) for name, token in tokens.items()},
    }
    async with AsyncExitStack() as stack:
        for caller in made.values():
            await stack.enter_async_context(caller)
        yield made


@pytest.fixture
async def scheduler(garden, replica) -> AsyncIterator[Caller]:
    access = await asyncio.to_thread(garden.apiserver.access, ADMIN, ("system:masters",))
    async with Caller(replica, access.context()) as caller:
        yield caller


@pytest.fixture
async def api_server(garden, replica) -> AsyncIterator[Caller]:
    access = await asyncio.to_thread(garden.apiserver.access, admissionconfig.USER)
    async with Caller(replica, access.context()) as caller:
        yield caller


async def _versions(client: Client) -> dict[str, str]:
    """Return the version of every object that could have been written."""
    found = {}
    for path in WATCHED:
        for item in (await client.document(ApiRequest("GET", path)))["items"]:
            metadata = item["metadata"]
            if metadata["name"] != PUBLISHED:
                key = f"{path}/{metadata.get('namespace', '')}/{metadata['name']}"
                found[key] = metadata["resourceVersion"]
    return found


def _calls(landscape: Landscape) -> Iterator[tuple[str, str, Any, bool]]:
    """Yield method, path and body of every call, and whether it goes to the port without TLS."""
    forged = landscape.forgeries()
    for plain, found in zip((False, True), paths(), strict=True):
        for path in found:
            for method in METHODS:
                # Other methods have no handler that would look into the body.
                bodies = forged[path] if method == "POST" else forged[path][:1]
                for address, body in bodies:
                    yield method, address, body, plain
    for address in ("/", "/page/", f"/seeds/{landscape.seed}/validate", "/scheduler/"):
        yield "POST", address, landscape.deletion(), False


async def test_untrusted_clients_at_every_path_change_and_learn_nothing(
    landscape: Landscape,
    untrusted: dict[str, Caller],
    scheduler: Caller,
    api_server: Caller,
) -> None:
    async def fitting(index: int) -> list[str]:
        found = await scheduler.post("/scheduler/filter", landscape.filters(index))
        return cast("list[str]", found["NodeNames"])

    async def is_fitting() -> bool:
        return await fitting(0) == [landscape.seed]

    async def is_known() -> bool:
        answer = await api_server.call("POST", "/validate", landscape.deletion())
        return landscape.hosted in answer[1]

    await eventually(is_known)
    await eventually(is_fitting)
    before = await _versions(landscape.client)
    for _ in range(ROUNDS):
        for method, path, body, plain in _calls(landscape):
            for caller in untrusted.values():
                status, text = await caller.call(method, path, body, plain=plain)
                assert status != 500, text
    _require_nothing_disclosed(landscape, untrusted)
    # Nothing is reserved: twenty shoots have room, and the next one has not.
    assert [await fitting(index) for index in range(ROOM)] == [[landscape.seed]] * ROOM
    assert await fitting(ROOM) == []
    # Events are written in their order, and this is the first one.
    await eventually(lambda: _written(landscape, before))
    (event,) = await _written(landscape, before)
    assert event.startswith(f"/api/v1/events/{landscape.namespace}/waiting-{ROOM}.")
    # With valid credentials the same calls have their effects.
    await api_server.post("/mutate", landscape.growth())
    assert len(await _written(landscape, before)) == 2
    assert (await scheduler.post("/scheduler/bind", landscape.binding()))["Error"] == ""


def _require_nothing_disclosed(landscape: Landscape, untrusted: dict[str, Caller]) -> None:
    secrets = {landscape.hosted, landscape.pool, *(w["metadata"]["uid"] for w in landscape.waiting)}
    for name, caller in untrusted.items():
        text = "\n".join(caller.responses)
        assert not [secret for secret in secrets if secret in text], name
    # Every untrusted client but one with a certificate that no handshake accepts has had answers.
    silent = [name for name, caller in untrusted.items() if not caller.answers]
    assert set(silent) <= {"a certificate of another CA"}


async def _written(landscape: Landscape, before: dict[str, str]) -> list[str]:
    """Return the objects that were created, changed or deleted since."""
    after = await _versions(landscape.client)
    return sorted({key for key, _ in before.items() ^ after.items()})
