"""`espalier dev`, tried as a newcomer would: with kubectl, and again after Ctrl-C."""

import asyncio
import base64
import json
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.support.control_planes import require_parts
from tests.support.server_processes import without_verification
from tests.support.waits import eventually
from webhook.api import names
from webhook.dev.landscapes import demo, gardenerdemo
from webhook.dev.planes.binaries import require
from webhook.dev.planes.kubectl import Kubectl
from webhook.dev.planes.ports import free_port
from webhook.tls.serving import as_file

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]

READY_SECONDS = 150
SHOOT_STATUS = "shoot.gardener.cloud/status"


@dataclass(frozen=True, slots=True)
class Running:
    """A landscape that was announced as ready."""

    kubectl: Kubectl
    commands: list[str]
    """The commands that a user is invited to paste."""
    reviews: str
    """The URL of validating reviews."""


@asynccontextmanager
async def _dev(directory: Path, *flags: str) -> AsyncIterator[Running]:
    """Run the command until the block ends, then press Ctrl-C."""
    port = free_port()
    ports = [f"--port={port}", *(f"--{name}={free_port()}" for name in ("api-port", "http-port"))]
    log = (directory.parent / "dev.log").open("ab")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "webhook", "dev", f"--dir={directory}", *ports, *flags),
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(READY_SECONDS):
            line = await process.stdout.readline()
        assert line.startswith(b"ready"), (directory.parent / "dev.log").read_text()
        assert str(directory / "kubeconfig") in line.decode()
        reported = [(await process.stdout.readline()).decode().strip() for _ in range(4)]
        commands = [each for each in reported if each]
        reviews = f"https://127.0.0.1:{port}/validate"
        yield Running(Kubectl(directory / "kubeconfig"), commands, reviews)
    finally:
        log.close()
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        async with asyncio.timeout(90):
            assert await process.wait() == 0


async def _check_that_reviews_need_a_certificate(running: Running, directory: Path) -> None:
    """Post a review without a certificate, and with the one in the kubeconfig."""
    config = yaml.safe_load((directory / "kubeconfig").read_text())
    data = config["users"][0]["user"]
    pems = [base64.b64decode(data[f"client-{part}-data"]) for part in ("certificate", "key")]
    contexts = [without_verification(ssl.create_default_context()) for _ in range(2)]
    with as_file(pems[0]) as certificate, as_file(pems[1]) as key:
        contexts[1].load_cert_chain(certificate, key)
    seeds = {"group": "core.gardener.cloud", "version": "v1beta1", "resource": "seeds"}
    forged = {"uid": "forged", "operation": "DELETE", "resource": seeds, "name": "aws-eu1"}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": forged}
    async with aiohttp.ClientSession() as session:
        for context, status in zip(contexts, (401, 200), strict=True):
            async with session.post(running.reviews, json=review, ssl=context) as response:
                assert response.status == status, await response.text()


async def _pasted(commands: list[str]) -> str:
    """Run the announced commands in a shell with the kubectl that is built here."""
    path = f"{require('kubectl').parent}:{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *("bash", "-ec", "\n".join(commands)),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PATH": path},
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


async def _until(kubectl: Kubectl, what: str, path: str, value: str, *flags: str) -> None:
    await kubectl("wait", what, f"--for=jsonpath={path}={value}", "--timeout=120s", *flags)


def _shoot(name: str, maximum: int) -> dict[str, Any]:
    """A shoot of the demo's first project over three zones, under another name."""
    draft = demo.shoot("alpha", 2)
    draft["metadata"]["name"] = name
    draft["spec"]["provider"]["workers"][0]["maximum"] = maximum
    return draft


async def test_a_living_landscape_in_seconds_and_again_after_ctrl_c(tmp_path: Path) -> None:
    require_parts("kubernetes")
    async with _dev(tmp_path / "landscape") as running:
        kubectl = running.kubectl
        assert len(running.commands) == 3
        shown = await _pasted(running.commands)
        assert "seed.core.gardener.cloud/aws-eu1" in shown
        assert "shoot.core.gardener.cloud/alpha-00" in shown
        seeds = (await kubectl("get", "seeds")).stdout
        assert seeds.splitlines()[0].split()[:3] == ["NAME", "READY", "LAST"]
        everywhere = ("shoots", "--all", "-n", "garden-alpha", "--timeout=120s")
        state = "--for=jsonpath={.status.lastOperation.state}=Succeeded"
        await kubectl("wait", *everywhere, state)

        await _check_that_reviews_need_a_certificate(running, tmp_path / "landscape")
        refused = await kubectl("delete", "seed", "gcp-eu2", check=False)
        assert refused.code != 0
        assert "gcp-eu2" in refused.stderr
        refused = await kubectl("apply", "-f", "-", input=_shoot("bad", 1), check=False)
        assert refused.code != 0
        assert "spec.provider.workers[0].maximum" in refused.stderr
        await kubectl("apply", "-f", "-", input=_shoot("good", 3))
        await _until(
            kubectl,
            "shoot/good",
            "{.status.lastOperation.state}",
            "Succeeded",
            "-n=garden-alpha",
        )
        await kubectl("label", "shoot", "-n", "garden-alpha", "good", "kept=yes")
    async with _dev(tmp_path / "landscape") as running:
        kubectl = running.kubectl
        shoots = (await kubectl("get", "shoots", "-A", "-l", "kept=yes", "-o", "name")).stdout
        assert shoots.split() == ["shoot.core.gardener.cloud/good"]
        assert len((await kubectl("get", "shoots", "-A", "-o", "name")).stdout.split()) == 61
        await _leave_what_somebody_wrote(kubectl)
        await _switch_failures_on_and_off(kubectl)


async def _leave_what_somebody_wrote(kubectl: Kubectl) -> None:
    """Reconcile two shoots; the one whose operation a user wrote is left alone."""
    alpha, theirs, played = "-n=garden-alpha", "shoot/alpha-01", "shoot/alpha-02"
    by_hand = {"status": {"lastOperation": {"description": "by hand"}}}
    patch = ("--subresource=status", "--type=merge", "-p", json.dumps(by_hand))
    await kubectl("patch", theirs, alpha, *patch)
    order = f"{names.OPERATION}={names.OPERATION_RECONCILE}"
    await kubectl("annotate", alpha, theirs, played, order)
    operation = "{.status.lastOperation.type}-{.status.lastOperation.state}"
    await _until(kubectl, played, "{.status.lastOperation.type}", "Reconcile", alpha)
    await _until(kubectl, played, "{.status.lastOperation.state}", "Succeeded", alpha)
    reported = f"jsonpath={{.status.lastOperation.description}} {operation}"
    left = (await kubectl("get", theirs, alpha, "-o", reported)).stdout
    assert left == "by hand Create-Succeeded"


async def _switch_failures_on_and_off(kubectl: Kubectl) -> None:
    """Simulate a shoot that cannot reconcile, a zone that fails, a seed without a gardenlet."""
    alpha = "-n=garden-alpha"
    simulate = f"{names.SIMULATE}="
    health = r"{.metadata.labels.shoot\.gardener\.cloud/status}"
    await kubectl("annotate", "shoot", alpha, "alpha-00", f"{simulate}fail")
    await _until(kubectl, "shoot/alpha-00", health, "unhealthy", alpha)
    await kubectl("annotate", "shoot", alpha, "alpha-00", f"{names.SIMULATE}-")
    await _until(kubectl, "shoot/alpha-00", health, "healthy", alpha)
    seed = (
        await kubectl("get", "shoot", alpha, "alpha-00", "-o", "jsonpath={.spec.seedName}")
    ).stdout
    await kubectl("annotate", "seed", seed, f"{simulate}zone=any")
    await _until(kubectl, "shoot/alpha-00", health, "unhealthy", alpha)
    await kubectl("annotate", "seed", seed, "--overwrite", f"{simulate}dark")
    dark = "--for=condition=GardenletReady=Unknown"
    await kubectl("wait", f"seed/{seed}", dark, "--timeout=120s")


SMALL = """
apiVersion: v1
kind: ConfigMap
metadata: {name: own, namespace: default}
---
apiVersion: core.gardener.cloud/v1beta1
kind: Seed
metadata: {name: small}
spec:
  provider: {type: local, region: here, zones: [one]}
  networks: {nodes: 10.0.0.0/16, pods: 10.1.0.0/16, services: 10.2.0.0/16}
  ingress: {domain: ingress.small.example, controller: {kind: nginx}}
"""


@pytest.mark.parametrize(
    ("flags", "played"),
    [
        pytest.param(["--no-local-provider"], False, id="embedded, and nobody plays a gardenlet"),
        pytest.param(["--api=kube-apiserver"], True, id="kube-apiserver"),
    ],
)
async def test_a_landscape_of_ones_own(tmp_path: Path, flags: list[str], played: bool) -> None:
    require_parts("etcd", "kubernetes")
    file = tmp_path / "own.yaml"
    file.write_text(SMALL)
    async with _dev(tmp_path / "landscape", f"--landscape={file}", *flags) as running:
        kubectl = running.kubectl
        assert (await kubectl("get", "configmap", "own", "-o", "name")).stdout == "configmap/own\n"
        assert (await kubectl("get", "seeds", "-o", "name")).stdout.split() == [
            "seed.core.gardener.cloud/small"
        ]
        ready = ("wait", "seed/small", "--for=condition=GardenletReady")
        waited = await kubectl(*ready, f"--timeout={120 if played else 5}s", check=False)
        assert (waited.code == 0) == played, waited.stderr
        await _check_that_reviews_need_a_certificate(running, tmp_path / "landscape")
        wrong = yaml.safe_load(SMALL.split("---")[-1])
        wrong["metadata"]["name"], wrong["spec"]["provider"]["zones"] = "wrong", ["one", "one"]
        refused = await kubectl("create", "-f", "-", input=wrong, check=False)
        assert "spec.provider.zones" in refused.stderr


async def test_a_port_in_use_is_named_with_the_remedy(tmp_path: Path) -> None:
    listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "webhook", "dev", f"--dir={tmp_path}", f"--port={port}"),
            *(f"--api-port={free_port()}", f"--http-port={free_port()}"),
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await process.communicate()
    assert process.returncode == 2
    assert f"port {port} cannot be used" in errors.decode()
    assert "--port" in errors.decode()


async def test_a_landscape_that_is_not_there_is_named(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "webhook", "dev", f"--dir={tmp_path}", "--landscape=nowhere.yaml"),
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert errors.decode().strip() == (
        "espalier dev: --landscape nowhere.yaml: no such file; use demo, empty or a file"
    )


async def test_the_demo_lives_on_a_real_gardener(tmp_path: Path) -> None:
    require_parts("etcd", "kubernetes", "gardener")
    async with _dev(tmp_path / "garden", "--api=gardener") as running:
        kubectl = running.kubectl
        # One for our scheduler, and one for gardener-scheduler.
        for project, shoots in (("alpha", ("shoots", "--all")), ("gamma", ("shoot/gamma-00",))):
            await kubectl(
                *("wait", *shoots, "-n", f"garden-{project}", "--timeout=140s"),
                "--for=jsonpath={.status.lastOperation.state}=Succeeded",
            )
        await _check_that_reviews_need_a_certificate(running, tmp_path / "garden")
        await _check_shoot(kubectl)
        # Gardener calls seeds ready once their extensions are; one has no gardenlet.
        for condition in ("SeedSystemComponentsHealthy", "ExtensionsReady"):
            await kubectl("wait", f"--for=condition={condition}", "--timeout=120s", "seed/aws-eu1")
        listed = (await kubectl("get", "seed", "aws-eu1", "--no-headers")).stdout
        assert listed.split()[:2] == ["aws-eu1", "Ready"]
        await _check_gardenlet(kubectl, "aws-eu1")
        # Gardener creates the replica, Espalier rolls and scales the set.
        leaf = ("-n", "garden", "--timeout=140s")
        ready = "--for=jsonpath={.status.readyReplicas}=1"
        await kubectl("wait", ready, *leaf, f"managedseedset/{gardenerdemo.SET}")
        revision = "--for=jsonpath={.status.currentRevision}"
        await kubectl("wait", revision, *leaf, f"managedseedset/{gardenerdemo.SET}")
        # Defaults of fields that the template omits are no drift.
        labelled = f"--for=jsonpath={{.metadata.labels.{names.CONTROLLER_REVISION_HASH}}}"
        for kind in ("shoot", "managedseed"):
            await kubectl("wait", labelled, *leaf, f"{kind}/{gardenerdemo.SET}-0")
        drifted = f"--for=condition={names.DRIFTED}=False"
        await kubectl("wait", drifted, *leaf, f"managedseedset/{gardenerdemo.SET}")
        active = f"--for=condition={names.SCALING_ACTIVE}"
        await kubectl("wait", active, *leaf, f"seedautoscaler/{gardenerdemo.SET}")
        refused = await kubectl(
            *("annotate", "shoot", "alpha-00", "-n", "garden-alpha"),
            "espalier.gardener.cloud/sizing-strategy=Greedy",
            check=False,
        )
        assert "sizing-strategy" in refused.stderr


async def _check_shoot(kubectl: Kubectl) -> None:
    """Check a shoot: placed by us, reconciled to its last change, labelled only by Gardener."""

    async def is_labelled() -> Any:
        where = ("alpha-00", "-n", "garden-alpha", "-o", "json", "--show-managed-fields")
        found = json.loads((await kubectl("get", "shoot", *where)).stdout)
        return found if SHOOT_STATUS in (found["metadata"].get("labels") or {}) else None

    shoot = await eventually(is_labelled)
    assert shoot["spec"]["schedulerName"] == "espalier"
    assert shoot["status"]["observedGeneration"] == shoot["metadata"]["generation"]
    assert shoot["metadata"]["labels"][SHOOT_STATUS] == "healthy"
    writers = [
        entry["manager"]
        for entry in shoot["metadata"]["managedFields"]
        if f"f:{SHOOT_STATUS}" in entry["fieldsV1"].get("f:metadata", {}).get("f:labels", {})
    ]
    assert writers == ["gardener-controller-manager"]


async def _check_gardenlet(kubectl: Kubectl, seed: str) -> None:
    """Check that its lease is renewed, and that Gardener has never considered it lost."""

    async def renewed() -> str:
        where = ("-n", "gardener-system-seed-lease", "-o", "jsonpath={.spec.renewTime}")
        return (await kubectl("get", "lease", seed, *where)).stdout

    async def is_later() -> bool:
        return await renewed() > before

    async def readiness() -> list[str]:
        path = '{range .status.conditions[?(@.type=="GardenletReady")]}'
        reported = f"jsonpath={path}{{.status}} {{.lastTransitionTime}}{{end}}"
        return (await kubectl("get", "seed", seed, "-o", reported)).stdout.split()

    before, ready = await renewed(), await readiness()
    assert ready[0] == "True"
    await eventually(is_later)
    assert await readiness() == ready
    numbers = "jsonpath={.metadata.generation} {.status.observedGeneration}"
    generation, observed = (await kubectl("get", "seed", seed, "-o", numbers)).stdout.split()
    assert generation == observed
