"""A garden cluster with a real Gardener, and Espalier beside it under its generated account."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
import yaml

from tests.waiting import eventually
from webhook.api.crds import definable
from webhook.cli.dev.server import Server
from webhook.cli.install import bundle
from webhook.cli.install.layout import Layout
from webhook.planes.gardener import PROJECT, PROJECT_NAMESPACE, Gardener
from webhook.planes.ports import free_port
from webhook.planes.registration import CORE, DNS_SECRET
from webhook.planes.registration import shoot as base_shoot

ACCOUNT = "system:serviceaccount:espalier-system:espalier"
SEEDS = "seedmanagement.gardener.cloud/v1alpha1"
GROUPS = ("system:serviceaccounts", "system:serviceaccounts:espalier-system")


class Beside:
    """What a test uses: kubectl as an administrator, and the server beside."""

    def __init__(self, plane: Gardener, directory: Path) -> None:
        self.plane = plane
        self.kubectl = plane.kubectl
        self.directory = directory
        self.server: Server | None = None
        self._settings: dict[str, Any] = {}

    @property
    def http(self) -> str:
        assert self.server is not None
        return self.server.plain_url

    async def install(self, *flags: str, **layout: Any) -> None:
        """Apply what `espalier manifests` prints for a cluster with a Gardener."""
        wanted = Layout(beside_gardener=True, advertise_url="https://127.0.0.1:1", **layout)
        items = [*bundle.objects(wanted, definable(beside_gardener=True))]
        await self.kubectl("apply", "--server-side", "-f", "-", input=items)
        crds = [f"crd/{kind.resource}" for kind in definable(beside_gardener=True)]
        await self.kubectl("wait", "--for=condition=Established", "--timeout=120s", *crds)

    async def start(self, settings: dict[str, Any] | None = None, *flags: str) -> None:
        """Start the server with the rights of its account, and wait for its webhooks."""
        account = await asyncio.to_thread(self.plane.apiserver.access, ACCOUNT, GROUPS)
        self.directory.mkdir(parents=True, exist_ok=True)
        kubeconfig = await asyncio.to_thread(
            account.write_kubeconfig, self.directory / "kubeconfig"
        )
        path = self._settle(settings or {})
        # Quick, but not so that a busy machine is taken for a lost leader.
        quick = ("--lease-duration=8", "--renew-deadline=6", "--retry-period=0.3")
        self.server = Server(
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
        """Run the server with further settings while the block runs."""
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

    async def said(self) -> str:
        assert self.server is not None
        return await asyncio.to_thread(self.server.log.read_text)


@asynccontextmanager
async def playing(plane: Gardener, directory: Path) -> AsyncIterator[None]:
    """Play gardenlets while the block runs, in a process of their own: loops of tests end."""
    await asyncio.to_thread(directory.mkdir, parents=True, exist_ok=True)
    log = (directory / "play.log").open("ab")
    command = (sys.executable, "-m", "tests.play", str(plane.kubeconfig), str(directory))
    process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: ASYNC220 - our own
    try:
        yield
    finally:
        process.kill()
        process.wait()
        log.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def beside(
    gardener_server: Gardener, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Beside]:
    """Espalier installed beside the real Gardener and running, with played gardenlets."""
    found = Beside(gardener_server, tmp_path_factory.mktemp("beside"))
    async with playing(gardener_server, found.directory / "play"):
        await found.install()
        modes = {"shoot.scheduler": "deny"}
        await found.start({"admission": {"modes": modes}, "seeds": {"autoscalerSeconds": 1}})
        yield found
        await found.stop()


def unique(prefix: str = "s") -> str:
    return f"{prefix}{uuid4().hex[:6]}"


def make_shoot(name: str = "", namespace: str = PROJECT_NAMESPACE, **spec: Any) -> dict[str, Any]:
    """A Shoot that Gardener takes, with parts of its spec replaced."""
    project = PROJECT if namespace == PROJECT_NAMESPACE else namespace
    draft: dict[str, Any] = dict(base_shoot(name or unique(), namespace, project))
    annotations = spec.pop("annotations", None)
    if annotations:
        draft["metadata"] = {**draft["metadata"], "annotations": annotations}
    draft["spec"] = {**draft["spec"], **spec}
    return draft


def make_seed(name: str, zones: str = "a", **spec: Any) -> dict[str, Any]:
    """A Seed that Gardener takes, labelled with its own name."""
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
    """A set as operators write it: its shoots run on the seed `parent`."""
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
    beside: Beside,
    name: str,
    zones: str = "a",
    shoots: int | None = None,
    more: dict[str, str] | None = None,
    **spec: Any,
) -> None:
    """Make a Seed and wait until its played gardenlet has reported; the play must be on.

    Where a number of shoots is given it offers those, and `more`.
    """
    await beside.kubectl("create", "-f", "-", input=make_seed(name, zones, **spec))
    if shoots is not None:
        amount = {"shoots": str(shoots), **(more or {})}
        change = json.dumps({"status": {"capacity": amount, "allocatable": amount}})
        await beside.kubectl(
            "patch", "seed", name, "--subresource=status", "--type=merge", "-p", change
        )
    await beside.kubectl("wait", "--for=condition=GardenletReady", "--timeout=120s", f"seed/{name}")
