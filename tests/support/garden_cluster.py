"""A garden cluster with a real Gardener, and Espalier installed in it with its own account."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
import yaml

from tests.support.account import write_kubeconfig
from tests.support.waits import eventually
from webhook.api.crds import definable
from webhook.cli.install.generate import bundle
from webhook.cli.install.layout import Layout
from webhook.dev.planes import gardenmanifests
from webhook.dev.planes.gardener import PROJECT, PROJECT_NAMESPACE, Gardener
from webhook.dev.planes.gardenmanifests import CORE, DNS_SECRET
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess

ACCOUNT = "system:serviceaccount:espalier-system:espalier"
SEEDS = "seedmanagement.gardener.cloud/v1alpha1"
GROUPS = ("system:serviceaccounts", "system:serviceaccounts:espalier-system")


class GardenCluster:
    """The cluster as a test uses it: kubectl as an administrator, and our server."""

    def __init__(self, plane: Gardener, directory: Path) -> None:
        self.plane = plane
        self.kubectl = plane.kubectl
        self.directory = directory
        self.server: EspalierProcess | None = None
        self._settings: dict[str, Any] = {}
        self._layout = Layout(beside_gardener=True, advertise_url="https://127.0.0.1:1")

    @property
    def http(self) -> str:
        assert self.server is not None
        return self.server.http_url

    async def install(self, *flags: str, **layout: Any) -> None:
        """Apply what `espalier manifests` prints for a cluster with a Gardener."""
        self._layout = replace(self._layout, **layout)
        items = [*bundle.objects(self._layout, definable(beside_gardener=True))]
        await self.kubectl("apply", "--server-side", "-f", "-", input=items)
        crds = [f"crd/{kind.resource}" for kind in definable(beside_gardener=True)]
        await self.kubectl("wait", "--for=condition=Established", "--timeout=120s", *crds)

    async def start(self, settings: dict[str, Any] | None = None, *flags: str) -> None:
        """Start the server with the permissions of its account, and wait for its webhooks."""
        kubeconfig = await write_kubeconfig(self.plane, self.directory / "kubeconfig", self._layout)
        path = self._settle(settings or {})
        # Short, but long enough that a busy machine does not lose its lease.
        quick = ("--lease-duration=8", "--renew-deadline=6", "--retry-period=0.3")
        self.server = EspalierProcess(
            self.directory / "server",
            kubeconfig,
            (free_port(), free_port()),
            f"--config={path}",
            *quick,
            *flags,
        )
        await self.server.start()
        for hooks in ("mutating", "validating"):
            hook = f"{hooks}webhookconfiguration/espalier"
            await self.kubectl("wait", "--for=create", "--timeout=120s", hook)
            await eventually(partial(self._points_to_us, hook))

    def _settle(self, settings: dict[str, Any]) -> Path:
        self._settings = settings
        path = self.directory / "settings.yaml"
        path.write_text(yaml.safe_dump(settings))
        return path

    @asynccontextmanager
    async def with_settings(self, more: dict[str, Any]) -> AsyncIterator[None]:
        """Run the server with additional settings while the block runs."""
        before = self._settings
        assert self.server is not None
        self._settle({**before, **more})
        await self.server.restart()
        try:
            yield
        finally:
            self._settle(before)
            await self.server.restart()

    async def _points_to_us(self, hook: str) -> bool:
        found = await self.get(hook)
        assert self.server is not None
        called = [each["clientConfig"].get("url", "") for each in found.get("webhooks") or ()]
        return all(url.startswith(self.server.url) for url in called)

    async def stop(self) -> None:
        if self.server is not None:
            await self.server.stop()

    async def get(self, *what: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((await self.kubectl("get", *what, "-o", "json")).stdout)
        return found

    async def shoot(self, name: str, namespace: str = PROJECT_NAMESPACE) -> dict[str, Any]:
        return await self.get("shoot", name, f"--namespace={namespace}")

    async def read_log(self) -> str:
        assert self.server is not None
        return await asyncio.to_thread(self.server.log.read_text)


@asynccontextmanager
async def simulated_gardenlets(plane: Gardener, directory: Path) -> AsyncIterator[None]:
    """Simulate gardenlets while the block runs, in a process, because event loops of tests end."""
    await asyncio.to_thread(directory.mkdir, parents=True, exist_ok=True)
    log = (directory / "play.log").open("ab")
    command = (
        sys.executable,
        "-m",
        "tests.support.local_provider",
        str(plane.kubeconfig),
        str(directory),
    )
    process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: ASYNC220 - our own
    try:
        yield
    finally:
        process.kill()
        process.wait()
        log.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gardener(
    gardener_server: Gardener, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[GardenCluster]:
    """Espalier running in a cluster with a real Gardener and simulated gardenlets."""
    found = GardenCluster(gardener_server, tmp_path_factory.mktemp("beside"))
    async with simulated_gardenlets(gardener_server, found.directory / "play"):
        await found.install()
        modes = {"shoot.scheduler": "deny"}
        await found.start({"admission": {"modes": modes}, "seeds": {"autoscalerSeconds": 1}})
        yield found
        await found.stop()


def unique(prefix: str = "s") -> str:
    return f"{prefix}{uuid4().hex[:6]}"


def make_shoot(name: str = "", namespace: str = PROJECT_NAMESPACE, **spec: Any) -> dict[str, Any]:
    """A Shoot that Gardener accepts, with parts of its spec replaced."""
    project = PROJECT if namespace == PROJECT_NAMESPACE else namespace
    draft: dict[str, Any] = dict(gardenmanifests.shoot(name or unique(), namespace, project))
    annotations = spec.pop("annotations", None)
    if annotations:
        draft["metadata"] = {**draft["metadata"], "annotations": annotations}
    draft["spec"] = {**draft["spec"], **spec}
    return draft


def make_seed(name: str, zones: str = "a", **spec: Any) -> dict[str, Any]:
    """A Seed that Gardener accepts, labelled with its own name."""
    return {
        "apiVersion": CORE,
        "kind": "Seed",
        "metadata": {"name": name, "labels": {"test": name}},
        "spec": {
            "provider": {
                "type": "local",
                "region": "local",
                "zones": [f"local-{zone}" for zone in zones],
            },
            "networks": {
                "nodes": "10.240.0.0/16",
                "pods": "10.241.0.0/16",
                "services": "10.242.0.0/16",
            },
            "ingress": {"domain": f"{name}.seeds.test", "controller": {"kind": "nginx"}},
            "dns": _dns(),
            **spec,
        },
    }


def make_set(name: str, parent: str, replicas: int, **annotations: str) -> dict[str, Any]:
    """A ManagedSeedSet whose shoots run on the seed `parent`."""
    labels = {"set": name}
    shoot = make_shoot("x", "garden", schedulerName="default-scheduler")["spec"]
    pool = {"name": "local", "machine": {"type": "local"}, "minimum": 1, "maximum": 2}
    more = {"maxSurge": 1, "maxUnavailable": 0, "zones": ["local-a"]}
    shoot |= {
        "credentialsBindingName": "garden",
        "seedSelector": {"matchLabels": {"test": parent}},
        "kubernetes": {"version": "1.35.3", "verticalPodAutoscaler": {"enabled": True}},
        "maintenance": {"autoUpdate": {"kubernetesVersion": False, "machineImageVersion": False}},
        "provider": {"type": "local", "workers": [{**pool, **more}]},
    }
    config = {
        "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1",
        "kind": "GardenletConfiguration",
        "resources": {"capacity": {"shoots": "10"}},
        "seedConfig": {
            "metadata": {"labels": {**labels, "test": name}},
            "spec": {"dns": _dns()},
        },
    }
    return {
        "apiVersion": SEEDS,
        "kind": "ManagedSeedSet",
        "metadata": {"name": name, "namespace": "garden", "annotations": annotations},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"gardenlet": {"config": config}}},
            "shootTemplate": {"metadata": {"labels": labels}, "spec": shoot},
        },
    }


def _dns() -> dict[str, Any]:
    place = {"name": DNS_SECRET, "namespace": "garden"}
    dns = {"type": "local", "credentialsRef": {"apiVersion": "v1", "kind": "Secret", **place}}
    return {"provider": dns, "internal": {**dns, "domain": "internal.test"}}


async def ready_seed(
    gardener: GardenCluster,
    name: str,
    zones: str = "a",
    shoots: int | None = None,
    more: dict[str, str] | None = None,
    **spec: Any,
) -> None:
    """Create a Seed and wait until its simulated gardenlet has reported.

    With a number of shoots, the seed offers that capacity, and `more`.
    """
    await gardener.kubectl("create", "-f", "-", input=make_seed(name, zones, **spec))
    if shoots is not None:
        amount = {"shoots": str(shoots), **(more or {})}
        change = json.dumps({"status": {"capacity": amount, "allocatable": amount}})
        await gardener.kubectl(
            "patch", "seed", name, "--subresource=status", "--type=merge", "-p", change
        )
    await gardener.kubectl(
        "wait", "--for=condition=GardenletReady", "--timeout=120s", f"seed/{name}"
    )
