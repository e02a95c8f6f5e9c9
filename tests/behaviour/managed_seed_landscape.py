"""A landscape for tests of ManagedSeedSets: servers, names, and ways to read it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from tests.support.account import account_kubeconfig
from tests.support.builders import merged
from tests.support.controllers import LOCAL_PROVIDER, running_controllers
from tests.support.example_manifests import example_manifests
from tests.support.landscape_objects import raw_seed
from tests.support.set_objects import make_hosted_shoot, make_set
from webhook.api import names
from webhook.cli import plugin
from webhook.cluster import config
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.dev.landscapes import loader
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess
from webhook.kube.clock import SystemClock
from webhook.kube.meta import Draft

GARDEN = "garden"
SETTINGS = {
    "seeds": {"settle_seconds": 0.5, "autoscaler_seconds": 1},
    "capacity": {"default": 50},
}
WEBHOOKS = ("mutatingwebhookconfiguration/espalier", "validatingwebhookconfiguration/espalier")


@asynccontextmanager
async def serving(plane: Embedded | Kubernetes, folder: Path) -> AsyncIterator[None]:
    """Run the whole program beside its own API server, with its webhooks registered."""
    async with Client(await config.load(str(plane.kubeconfig))) as client:
        await loader.install(client, SystemClock())
    settings = await asyncio.to_thread(_write_settings, folder)
    flags = (f"--config={settings}", "--log-level=warning")
    kubeconfig = await account_kubeconfig(plane, folder / "kubeconfig")
    server = EspalierProcess(folder, kubeconfig, (free_port(), free_port()), *flags)
    await server.start()
    try:
        for hook in WEBHOOKS:
            # One at a time: kubectl does not wait when several objects are absent.
            await plane.kubectl("wait", "--for=create", "--timeout=120s", hook)
        yield
    finally:
        await server.stop()


def _write_settings(folder: Path) -> Path:
    folder.mkdir()
    path = folder / "settings.yaml"
    path.write_text(yaml.safe_dump(SETTINGS))
    return path


def document_set() -> Draft:
    """The ManagedSeedSet of document 000, with the seed's spec where admission requires it."""
    found = next(each for _, each in example_manifests() if each["kind"] == "ManagedSeedSet")
    template = found["spec"]["template"]["spec"]["seedTemplate"]
    misplaced = {key: template.pop(key) for key in ("provider", "taints")}
    template["spec"] = misplaced
    return found


def make_profile(name: str, provider: str, region: str) -> Draft:
    """A CloudProfile with everything that the templates of sets refer to."""
    zones = [{"name": zone} for zone in ("a", "b", "c", *(f"{region}-{each}" for each in "bcd"))]
    images = (("linux", "1.0.0"), ("gardenlinux", "1592.1.0"))
    versions = ("1.34.1", "1.34.2", "1.35.1", "1.35.2")
    return {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "CloudProfile",
        "metadata": {"name": name},
        "spec": {
            "type": provider,
            "kubernetes": {"versions": [{"version": version} for version in versions]},
            "machineImages": [
                {"name": image, "versions": [{"version": version}]} for image, version in images
            ],
            "machineTypes": [{"name": each} for each in ("large", "n1-standard-4")],
            "regions": [{"name": region, "zones": zones}],
        },
    }


def _read_all(terminal: int) -> str:
    shown = b""
    # A terminal whose other side is closed reports an error instead of an end.
    with suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as screen:
        while part := screen.read(4096):
            shown += part
    return shown.decode()


class Landscape:
    """A ManagedSeedSet with its own names on a shared server."""

    def __init__(self, server: Embedded | Kubernetes) -> None:
        self.server = server
        self.suffix = uuid4().hex[:4]
        self.project = f"garden-{self.suffix}"
        self.name = f"leaf-{self.suffix}"
        self.parent = f"parent-{self.suffix}"
        self.region = f"region-{self.suffix}"
        self.profile = ""
        self.seen: Cache | None = None
        self.labels = {"set": self.name}

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Simulate gardenlets, with a cache of the kinds that they read."""
        async with running_controllers(self.server, LOCAL_PROVIDER) as self.seen:
            yield

    async def kubectl(self, *arguments: str, **more: Any) -> Any:
        return await self.server.kubectl(*arguments, "-n", GARDEN, **more)

    async def in_project(self, *arguments: str, **more: Any) -> Any:
        return await self.server.kubectl(*arguments, "-n", self.project, **more)

    async def apply(self, *objects: Any, **more: Any) -> Any:
        return await self.server.kubectl(
            "apply", "--server-side", "-f", "-", input=[*objects], **more
        )

    async def begin(self, provider: str = "aws", region: str = "") -> None:
        """Create the seed that hosts the Shoots of replicas, and a CloudProfile for all tests."""
        self.region = region or self.region
        protected = [{"key": names.SEED_PROTECTED}]
        parent = raw_seed(self.parent, region=self.region, provider=provider, taints=protected)
        parent["metadata"]["labels"] = {"parent": self.suffix}
        status = parent.pop("status")
        self.profile = f"{provider}-{self.suffix}"
        await self.apply(parent, make_profile(self.profile, provider, self.region))
        patch = json.dumps({"status": status})
        status_of = ("patch", "seed", self.parent, "--subresource=status", "--type=merge")
        await self.kubectl(*status_of, "-p", patch)

    async def end(self) -> None:
        wait = "--wait=false"
        await self.in_project("delete", "shoot", "--all", wait, check=False)
        await self.kubectl("delete", "mss,seedautoscaler", self.name, wait, check=False)

    def make(self, **spec: Any) -> Any:
        body = make_set(self.name, **spec)
        body["spec"]["selector"] = {"matchLabels": self.labels}
        for template in (body["spec"]["template"], body["spec"]["shootTemplate"]):
            template["metadata"]["labels"] = self.labels
        seed = body["spec"]["template"]["spec"]["seedTemplate"]
        seed["metadata"]["labels"] = self.labels
        seed["spec"]["provider"]["region"] = self.region
        shoot = body["spec"]["shootTemplate"]["spec"]
        shoot |= {"seedName": self.parent, "region": self.region, "cloudProfileName": self.profile}
        return body

    def hosted(self, name: str, seed: str = "", **spec: Any) -> Any:
        body = make_hosted_shoot(name, seed)
        body["metadata"]["namespace"] = self.project
        body["spec"] |= {"region": self.region, "cloudProfile": {"name": self.profile}}
        if not seed:
            del body["spec"]["seedName"]
        return merged(body, {"spec": spec})

    async def get(self, kind: str, name: str = "", namespace: str = GARDEN) -> Any:
        named = [name] if name else []
        done = await self.server.kubectl("get", kind, *named, "-o", "json", "-n", namespace)
        return json.loads(done.stdout)

    async def shoots(self) -> dict[str, Draft]:
        """Return the Shoots of replicas by name, lowest ordinal first."""
        found = {item["metadata"]["name"]: item for item in (await self.get("shoot"))["items"]}
        return {name: found[name] for name in sorted(found) if name.startswith(f"{self.name}-")}

    async def replicas(self) -> list[str]:
        return [*await self.shoots()]

    async def versions(self) -> list[str]:
        shoots = (await self.shoots()).values()
        return [shoot["spec"]["kubernetes"]["version"] for shoot in shoots]

    async def status(self) -> Any:
        return (await self.get("mss", self.name)).get("status", {})

    async def reported(self, kind: str) -> tuple[str, str, str]:
        """Return a condition of the set; empty if it is absent."""
        for each in (await self.status()).get("conditions", ()):
            if each["type"] == kind:
                return each["status"], each["reason"], each["message"]
        return "", "", ""

    async def until(self, holds: Any, seconds: float = 120) -> None:
        last: Any = None
        try:
            async with asyncio.timeout(seconds):
                while True:
                    with suppress(PlaneError):
                        if await holds():
                            return
                        last = (await self.get("mss"))["items"]
                    await asyncio.sleep(0.3)
        except TimeoutError:
            pytest.fail(f"it did not come to that: {json.dumps(last, indent=1)}")

    async def until_reported(self, kind: str, status: str, reason: str) -> str:
        async def reported() -> Any:
            return (await self.reported(kind))[:2] == (status, reason)

        await self.until(reported)
        return (await self.reported(kind))[2]

    async def until_ready(self, replicas: int, seconds: float = 120) -> None:
        await self.kubectl(
            *("wait", f"mss/{self.name}", "--for=condition=Available"),
            f"--timeout={seconds:.0f}s",
            timeout=seconds + 5,
        )

        async def settled() -> Any:
            status = await self.status()
            counts = (status.get("replicas", 0), status.get("readyReplicas", 0))
            return counts == (replicas, replicas)

        await self.until(settled, seconds)

    async def patch(self, spec: Any) -> None:
        body = json.dumps({"spec": spec})
        await self.kubectl("patch", "mss", self.name, "--type=merge", "-p", body)

    async def retemplate(self, version: str) -> None:
        await self.patch({"shootTemplate": {"spec": {"kubernetes": {"version": version}}}})

    async def rollout_on_a_terminal(self, *arguments: str) -> str:
        """Run the plugin through kubectl on a terminal, and return what the screen showed."""
        near = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = self.server.kubectl.environment() | {"PATH": near, "TERM": "xterm"}
        outer, inner = os.openpty()
        command = ("espalier", "rollout", *arguments, "-n", GARDEN)
        process = await asyncio.create_subprocess_exec(
            *self.server.kubectl.command(*command), env=environment, stdout=inner, stderr=inner
        )
        os.close(inner)
        shown = await asyncio.to_thread(_read_all, outer)
        assert await process.wait() == 0, shown
        return shown

    async def rollout(self, *arguments: str) -> int:
        where = ("-n", GARDEN, "--kubeconfig", str(self.server.kubeconfig))
        return await asyncio.to_thread(plugin.main, ["rollout", *arguments, *where])
