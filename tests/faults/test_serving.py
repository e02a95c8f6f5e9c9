"""A whole server before real API servers: its responses when parts are lost.

The clock of the server runs ten times faster than real time, so that its minutes pass.
"""

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.faults.certificate_watcher import CertificateWatcher, watching_certificates
from tests.faults.interfering_proxy import InterferingProxy, open_interfering_proxy
from tests.faults.webhook_registration import BAD, until_registered
from tests.support.builders import make_seed, make_shoot
from tests.support.in_process_server import FastClock, RunningServer, serving
from tests.support.reviews import make_review
from tests.support.scripted_server import fail
from tests.support.secret_mount import SecretMount
from tests.support.waits import eventually
from webhook.api.core import (
    Secret,
)
from webhook.api.kinds import kind_of_model
from webhook.controllers.installation.certificates import CertificateStore
from webhook.dev.planes.ports import free_port
from webhook.kube.clock import SystemClock
from webhook.kube.meta import ObjectKey
from webhook.tls.authority import Authority, KeyPair
from webhook.tls.bundle import Bundle
from webhook.tls.material import CertificateProfile, Material

SPEED = 1.0 if os.environ.get("ESPALIER_SOAK") else 10.0

pytestmark = pytest.mark.timeout(0 if SPEED == 1.0 else 400)


@asynccontextmanager
async def detour(garden: Any, directory: Path) -> AsyncIterator[tuple[InterferingProxy, str]]:
    """A proxy to the server that a test can block, and a kubeconfig that uses it."""
    async with open_interfering_proxy(garden) as (proxy, _):
        cluster = {"name": "way", "cluster": {"server": proxy.address}}
        context = {"name": "way", "context": {"cluster": "way", "user": "me"}}
        user = {"name": "me", "user": {}}
        file = directory / "kubeconfig"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "way",
            "clusters": [cluster],
            "contexts": [context],
            "users": [user],
        }
        file.write_text(yaml.safe_dump(document))
        yield proxy, str(file)


async def review(served: RunningServer, raw: dict[str, Any]) -> aiohttp.ClientResponse:
    url = f"https://127.0.0.1:{served.address.port}/validate?timeout=30s"
    answer = await served.session.post(url, json=make_review(raw, None, "CREATE"), ssl=False)
    await answer.read()
    return answer


async def is_readiness(served: RunningServer, status: int, text: str) -> bool:
    found = await served.ready()
    return found[0] == status and text in found[1]


SEEDS = "seeds.core.gardener.cloud"
PATH = "/apis/core.gardener.cloud/v1beta1/seeds"


async def test_a_lost_kind_is_named_read_live_and_else_asked_to_come_back_for(
    garden, api, tmp_path
) -> None:
    on_seed = make_shoot("placed", "default", spec={"seedName": "nowhere"})
    async with detour(garden, tmp_path) as (proxy, kubeconfig):
        flags = {"manage_webhooks": "false", "roles": "admission"}
        async with serving(kubeconfig, FastClock(SPEED), **flags) as served:
            await served.until_ready()
            assert await served.ready() == (200, "ok")
            assert (await review(served, on_seed)).status == 200
            proxy.block(PATH, fail(503, "ServiceUnavailable"))
            proxy.cut()
            await eventually(partial(is_readiness, served, 200, f"stale: {SEEDS}"))
            assert served.metric("espalier_cache_staleness_seconds", kind=SEEDS) > 10
            before = len(proxy.requests)
            assert (await review(served, on_seed)).status == 200
            assert f"{PATH}/nowhere" in {each.path for each in proxy.requests[before:]}, "read live"
            proxy.block(f"{PATH}/nowhere", fail(503, "ServiceUnavailable"))
            answer = await review(served, on_seed)
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            # Decisions that do not need the kind are made as before.
            assert (await review(served, BAD)).status == 200
            proxy.unblock()

            async def is_well() -> bool:
                return await served.ready() == (200, "ok")

            await eventually(is_well)


async def test_losing_every_watch_for_a_minute_is_not_being_ready(garden, api, tmp_path) -> None:
    async with detour(garden, tmp_path) as (proxy, kubeconfig):
        flags = {"manage_webhooks": "false", "roles": "admission"}
        async with serving(kubeconfig, FastClock(SPEED), **flags) as served:
            await served.until_ready()
            proxy.block("/", fail(503, "ServiceUnavailable"))
            proxy.cut()
            lost = time.monotonic()
            await eventually(partial(is_readiness, served, 503, "every watch is lost"))
            assert (time.monotonic() - lost) * SPEED > 59
            proxy.unblock()
            await served.until_ready()


@pytest.mark.parametrize(
    ("setting", "is_fast"),
    [pytest.param("true", True, id="on"), pytest.param("false", False, id="off")],
)
async def test_a_setting_turns_the_fast_path_off(garden, api, setting: str, is_fast: bool) -> None:
    flags = {"manage_webhooks": "false", "roles": "admission", "fast_path": setting}
    async with serving(str(garden.kubeconfig), FastClock(SPEED), **flags) as served:
        await served.until_ready()
        # The first may arrive before aiohttp's task of the connection runs.
        assert (await review(served, make_seed("one"))).status == 200
        answer = await review(served, make_seed("one"))
        assert answer.status == 200
        assert ("Server" not in answer.headers) is is_fast, "only aiohttp sends the header Server"


async def at_least(number: int, counted: Callable[[], int]) -> None:
    async def enough() -> bool:
        return counted() >= number

    await eventually(enough, 150 if SPEED > 1 else 300)


async def more_calls(watcher: CertificateWatcher) -> None:
    """Wait for enough calls after a change to know that none of them fails."""
    enough = watcher.refused + 21
    await at_least(enough, lambda: watcher.refused + len(watcher.failures))


def flags_of(port: int, namespace: str) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "port": port,
        "advertise_url": f"https://127.0.0.1:{port}",
        "roles": "admission,controllers",
    }


def check_timeline(watcher: CertificateWatcher) -> None:
    """Check that the overlap was published for a minute before the new leaf, without failures."""
    assert watcher.failures == []
    assert watcher.refused > 20
    overlap = next(at for at, size in watcher.published if size == 2)
    swapped = watcher.served[-1][0]
    assert (swapped - overlap) * SPEED > 59


def der_of(pem: bytes) -> bytes:
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


async def test_an_authority_is_succeeded_without_a_failed_call(garden, api) -> None:
    namespace, port, now = f"tls-{uuid4().hex[:8]}", free_port(), datetime.now(UTC)
    await garden.kubectl("create", "namespace", namespace)
    service = f"espalier.{namespace}"
    names = ("127.0.0.1", f"{service}.svc", service, f"{service}.svc.cluster.local")
    profile = CertificateProfile(names, authority_lifetime=timedelta(days=9))
    store = CertificateStore(api, ObjectKey(namespace, "espalier-tls"), profile, SystemClock())
    old = Material.create(profile, now - timedelta(days=7))  # two thirds of its lifetime are over
    await api.create(kind_of_model(Secret), store.key, store._encode(old))
    clock = FastClock(SPEED)
    async with serving(str(garden.kubeconfig), clock, **flags_of(port, namespace)) as served:
        await served.until_ready()
        await until_registered(api)
        async with watching_certificates(api, port) as watcher:
            await at_least(2, lambda: len(watcher.served))
            await more_calls(watcher)
    new, _ = await store.read()
    check_timeline(watcher)
    assert [leaf for _, leaf in watcher.served] == [
        der_of(old.leaf.certificate),
        der_of(new.leaf.certificate),
    ]
    assert new.authority.certificate != old.authority.certificate
    assert served.metric("espalier_leader") == 0, "and it stopped leading when it ended"


async def test_mounted_certificates_are_followed_without_a_failed_call(
    garden, api, tmp_path
) -> None:
    namespace, port, now = f"tls-{uuid4().hex[:8]}", free_port(), datetime.now(UTC)
    one, two = (Authority.create(name, now) for name in ("one", "two"))
    first, second = (Bundle(one.sign_server(["127.0.0.1"], now), one.certificate) for _ in "ab")
    third = Bundle(two.sign_server(["127.0.0.1"], now), two.certificate)
    torn = Bundle(KeyPair(second.pair.certificate, first.pair.key), one.certificate)
    mount = SecretMount(tmp_path / "mount", first)
    flags = flags_of(port, namespace) | {"certificate_directory": mount.directory}
    async with serving(str(garden.kubeconfig), FastClock(SPEED), **flags) as served:
        await served.until_ready()
        await until_registered(api)
        async with watching_certificates(api, port) as watcher:
            await at_least(1, lambda: len(watcher.served))
            mount.swap(torn)
            await at_least(1, lambda: int(served.metric("espalier_certificate_read_errors_total")))
            assert len(watcher.served) == 1, "what is torn is not served"
            mount.swap(second)
            await at_least(2, lambda: len(watcher.served))
            mount.swap(third)
            await at_least(3, lambda: len(watcher.served))
            await more_calls(watcher)
    check_timeline(watcher)
    assert [leaf for _, leaf in watcher.served] == [
        der_of(bundle.pair.certificate) for bundle in (first, second, third)
    ]
