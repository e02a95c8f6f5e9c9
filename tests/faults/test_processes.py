"""`espalier serve` as a process: from start to end, split by roles, and with bad settings."""

import asyncio
import json
import socket
import ssl
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from tests.faults.conftest import CRDS
from tests.faults.webhook_registration import until_registered
from tests.support.builders import make_cloud_profile, make_shoot
from tests.support.review_load import REVIEW
from tests.support.server_processes import ROOT, Replica, running
from tests.support.waits import eventually
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.core import Lease
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError
from webhook.dev.planes.ports import free_port
from webhook.kube.meta import ObjectKey
from webhook.tls.authority import Authority, KeyPair
from webhook.tls.bundle import Bundle, write_directory
from webhook.tls.serving import as_file

pytestmark = pytest.mark.timeout(300)

TORTOISES = "tortoises.autoscaling.mercari.com"


async def scrape(replica: Replica, session: aiohttp.ClientSession) -> dict[str, float]:
    async with session.get(f"http://127.0.0.1:{replica.http_port}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


async def test_a_server_from_its_start_to_its_end(garden, api, tmp_path) -> None:
    namespace, port = f"test-{uuid4().hex[:8]}", free_port()
    await garden.kubectl("delete", "crd", TORTOISES)
    flags = ("--namespace", namespace, "--drain-quiet", "0", "--manage-webhooks", "true")
    here = ("--port", str(port), "--advertise-url", f"https://127.0.0.1:{port}")
    replica = Replica("one", tmp_path, garden.kubeconfig, *flags, *here)
    served = f'espalier_cache_served{{kind="{TORTOISES}"}}'
    async with running(replica), aiohttp.ClientSession() as session:
        await replica.until_ready()
        line = await replica.logged("kind is not served, features that need it are off")
        assert line["kind"] == "Tortoise"
        assert (await scrape(replica, session))[served] == 0
        await garden.kubectl("apply", "--server-side", "-f", str(CRDS / f"{TORTOISES}.yaml"))
        await replica.logged("kind is served now")

        async def is_served() -> bool:
            return (await scrape(replica, session))[served] == 1

        await eventually(is_served)
        await until_registered(api)
        await _check_defaulting(api)
        _check_metrics(await scrape(replica, session))
        async with session.get(f"http://127.0.0.1:{replica.http_port}/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        lease = ObjectKey(namespace, "espalier")
        held = await api.get(kind_of_model(Lease), lease)
        assert held["spec"]["holderIdentity"].startswith("one_")
        assert await replica.end() == 0
    left = await api.get(kind_of_model(Lease), lease)
    assert not left["spec"].get("holderIdentity"), "the lease is released"
    assert replica.lines()[-1]["message"] == "stopped"


async def _check_defaulting(api: Client) -> None:
    with suppress(AlreadyExistsError):
        await api.create(kind_of_model(CloudProfile), ObjectKey("", ""), make_cloud_profile())
    shoot = make_shoot("good", "default")
    key, dry = ObjectKey("default", ""), {"dryRun": "All"}

    async def is_filled_in() -> bool:
        """The API server uses one of the two configurations a moment before the other."""
        created = await api.create(kind_of_model(Shoot), key, shoot, query=dry)
        return bool(created["spec"].get("purpose") == "evaluation")

    await eventually(is_filled_in)


def _check_metrics(found: Mapping[str, float]) -> None:
    refused = 'allowed="false",code="422",kind="Shoot",operation="CREATE",path="/validate"'
    assert found[f"espalier_admission_decisions_total{{{refused}}}"] >= 1
    assert found['espalier_requests_total{code="200",path="/mutate"}'] >= 1
    standard = 'controller_runtime_webhook_requests_total{code="200",webhook="/validate"}'
    assert found[standard] >= 1
    assert found["espalier_leader"] == 1
    assert found['espalier_cert_not_after_seconds{which="leaf"}'] > datetime.now(UTC).timestamp()
    assert found["espalier_loop_lag_seconds_count"] > 0


PATHS = ("/validate", "/mutate", "/scheduler/filter")


@pytest.mark.parametrize("garden", ["embedded"], indirect=True)
async def test_roles_split_a_server_and_reviews_may_need_a_certificate(garden, tmp_path) -> None:
    now = datetime.now(UTC)
    clients, others = (Authority.create(name, now) for name in ("clients", "others"))
    (tmp_path / "clients.crt").write_bytes(clients.certificate)
    flags = ("--namespace", f"roles-{uuid4().hex[:8]}", "--drain-quiet", "0")
    mutual = ("--admission-client-ca", str(tmp_path / "clients.crt"))
    admission, extender, controllers = replicas = [
        Replica(role, tmp_path, garden.kubeconfig, *flags, *mutual, "--roles", role)
        for role in ("admission", "extender", "controllers")
    ]
    known, unknown = clients.sign_client("api-server", now), others.sign_client("mallory", now)

    async def status_codes(replica: Replica, pair: KeyPair | None = None) -> list[int]:
        statuses = []
        async with aiohttp.ClientSession() as session:
            for path in PATHS:
                url = f"https://127.0.0.1:{replica.port}{path}"
                async with session.post(url, json=REVIEW, ssl=trusting(pair)) as answer:
                    statuses.append(answer.status)
        return statuses

    async with running(*replicas), aiohttp.ClientSession() as session:
        await asyncio.gather(*(replica.until_ready() for replica in replicas))
        assert await status_codes(admission) == [401, 401, 404]
        assert await status_codes(admission, known) == [200, 200, 404]
        with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
            await status_codes(admission, unknown)
        assert await status_codes(extender) == [404, 404, 200]
        assert await status_codes(controllers) == [404, 404, 404]
        await controllers.logged("started leading")
        leads = [(await scrape(replica, session))["espalier_leader"] for replica in replicas]
        assert leads == [0, 0, 1]
        assert await asyncio.gather(*(replica.end() for replica in replicas)) == [0, 0, 0]


def trusting(pair: KeyPair | None) -> ssl.SSLContext:
    """Return a context that trusts any server, with a client certificate if there is one."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if pair is not None:
        with as_file(pair.certificate) as certificate, as_file(pair.key) as key:
            context.load_cert_chain(certificate, key)
    return context


def unreadable(directory: Path) -> dict[str, tuple[dict[str, Any], str]]:
    """A fault at start, and the message about it."""
    now = datetime.now(UTC)
    authority = Authority.create("ours", now)
    one, two = (authority.sign_server(["localhost"], now) for _ in "ab")
    torn = Bundle(KeyPair(one.certificate, two.key), authority.certificate)
    write_directory(directory / "torn", torn)
    (directory / "garbage").write_text("garbage")
    (directory / "kubeconfig").write_text(json.dumps({"clusters": "none"}))
    nowhere = {
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {}}],
        "current-context": "a",
    }
    (directory / "nowhere").write_text(json.dumps(nowhere))
    return {
        "a broken kubeconfig": (
            {"kubeconfig": directory / "kubeconfig"},
            "name a working kubeconfig",
        ),
        "no server": ({"kubeconfig": directory / "nowhere"}, "check --kubeconfig"),
        "a port in use": ({"port": 0}, "choose another: --port"),
        "a torn pair": ({"certificate-directory": directory / "torn"}, "does not belong to"),
        "a broken authority": ({"admission-client-ca": directory / "garbage"}, "no readable"),
    }


async def test_a_failed_start_is_reported_in_one_line(embedded_server, tmp_path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        taken = busy.getsockname()[1]

        async def start(name: str, flags: dict[str, Any], message: str) -> None:
            given = {"kubeconfig": embedded_server.kubeconfig, "port": 0, "http-port": 0} | flags
            given |= {"host": "127.0.0.1", "http-host": "127.0.0.1"}
            if name == "a port in use":
                given["port"] = taken
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "webhook", "serve"),
                *(f"--{flag}={value}" for flag, value in given.items()),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=ROOT,
            )
            out, err = await asyncio.wait_for(process.communicate(), 150)
            lines = err.decode().splitlines()
            assert (process.returncode, out, len(lines)) == (2, b"", 1), (name, out, err)
            assert lines[0].startswith("espalier serve: "), name
            assert message in lines[0], (name, lines)

        async with asyncio.TaskGroup() as group:
            for name, (flags, message) in unreadable(tmp_path).items():
                group.create_task(start(name, flags, message))
