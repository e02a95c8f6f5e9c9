"""Sets of seeds on living API servers, handled with kubectl as people would."""

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.landscapes import raw_seed
from tests.leaders import OURS, PLAYED, define_kinds, running
from tests.schedulers import create_all
from tests.sets import make_guest, make_set
from webhook.api import names
from webhook.cli import plugin
from webhook.cli.dev import gardenlet
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.domain.options import CapacityOptions, Options, SeedsOptions

pytestmark = pytest.mark.timeout(180)


class Landscape:
    """A set of seeds of the test's own on a shared server."""

    def __init__(self, server, namespace):
        self.server, self.namespace = server, namespace
        self.suffix = uuid4().hex[:6]
        self.name = f"leaf-{self.suffix}"
        self.parent = f"parent-{self.suffix}"
        self.region = f"region-{self.suffix}"
        self.labels = {"set": self.name}

    async def kubectl(self, *arguments: str, **more: Any) -> Any:
        return await self.server.kubectl(*arguments, "-n", self.namespace, **more)

    async def apply(self, *objects: Any) -> None:
        await self.kubectl("apply", "--server-side", "-f", "-", input=[*objects])

    async def begin(self) -> None:
        protected = [{"key": names.SEED_PROTECTED}]
        parent = raw_seed(self.parent, region=self.region, taints=protected)
        status = parent.pop("status")
        profile = {"apiVersion": parent["apiVersion"], "kind": "CloudProfile"}
        profile |= {"metadata": {"name": "aws"}, "spec": {"type": "aws"}}
        await self.apply(parent, profile)
        patch = json.dumps({"status": status})
        status_of = ("patch", "seed", self.parent, "--subresource=status", "--type=merge")
        await self.kubectl(*status_of, "-p", patch)

    async def end(self) -> None:
        wait = "--wait=false"
        await self.kubectl("delete", "mss,seedautoscaler", "--all", wait, check=False)
        await self.kubectl("delete", "shoot", "--all", wait, check=False)
        await self.kubectl("delete", "seed", self.parent, wait, check=False)

    def make(self, **spec: Any) -> Any:
        body = make_set(self.name, **spec)
        body["metadata"]["namespace"] = self.namespace
        body["spec"]["selector"] = {"matchLabels": self.labels}
        for template in (body["spec"]["template"], body["spec"]["shootTemplate"]):
            template["metadata"]["labels"] = self.labels
        seed = body["spec"]["template"]["spec"]["seedTemplate"]["spec"]
        seed["provider"]["region"] = self.region
        shoot = body["spec"]["shootTemplate"]["spec"]
        shoot |= {"seedName": self.parent, "region": self.region}
        return body

    def guest(self, name: str, seed: str) -> Any:
        body = make_guest(name, seed)
        body["metadata"]["namespace"] = self.namespace
        body["spec"] |= {"region": self.region, "cloudProfile": {"name": "aws"}}
        return body

    async def get(self, kind: str, name: str = "") -> Any:
        named = [name] if name else []
        done = await self.kubectl("get", kind, *named, "-o", "json")
        return json.loads(done.stdout)

    async def replicas(self) -> list[str]:
        found = (await self.get("shoot"))["items"]
        mine = [item["metadata"]["name"] for item in found]
        return sorted(name for name in mine if name.startswith(f"{self.name}-"))

    async def status(self) -> Any:
        return (await self.get("mss", self.name)).get("status", {})

    async def versions(self) -> list[str]:
        found = (await self.get("shoot"))["items"]
        mine = {
            item["metadata"]["name"]: item["spec"]["kubernetes"]["version"]
            for item in found
            if item["metadata"]["name"].startswith(f"{self.name}-")
        }
        return [mine[name] for name in sorted(mine)]

    async def until(self, holds: Any, seconds: float = 60) -> None:
        last: Any = None
        try:
            async with asyncio.timeout(seconds):
                while not await holds():
                    last = (await self.get("mss"))["items"]
                    await asyncio.sleep(0.3)
        except TimeoutError:
            pytest.fail(f"it did not come to that: {json.dumps(last, indent=1)}")

    async def until_ready(self, replicas: int, seconds: float = 60) -> None:
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

    async def retemplate(self, version: str) -> None:
        spec = {"spec": {"shootTemplate": {"spec": {"kubernetes": {"version": version}}}}}
        await self.kubectl("patch", "mss", self.name, "--type=merge", "-p", json.dumps(spec))

    async def plugin(self, *arguments: str) -> int:
        where = ("-n", self.namespace, "--kubeconfig", str(self.server.kubeconfig))
        return await asyncio.to_thread(plugin.main, ["rollout", *arguments, *where])

    def told(self, status: Any, kind: str) -> tuple[str, str]:
        found = next(each for each in status["conditions"] if each["type"] == kind)
        return found["status"], found["reason"]


@pytest.fixture
async def landscape(server, namespace, monkeypatch):
    """Controllers at work, and gardenlets that take no time."""
    monkeypatch.setattr(gardenlet, "PACE", timedelta(0))
    await define_kinds(server)
    found = Landscape(server, namespace)
    await found.begin()
    seeds = SeedsOptions(settle_seconds=0.5, autoscaler_seconds=1)
    options = Options(namespace=namespace, capacity=CapacityOptions(default=50), seeds=seeds)
    async with (
        running(server, PLAYED, options),
        running(server, OURS, options, schedules=True),
    ):
        yield found
        await found.end()


async def test_a_set_grows_scales_and_shrinks_around_what_is_needed(landscape):
    name = landscape.name
    await landscape.apply(landscape.make(replicas=3))
    await landscape.until_ready(3)
    assert await landscape.replicas() == [f"{name}-{ordinal}" for ordinal in range(3)]
    shown = (await landscape.kubectl("get", "mss", name)).stdout.split()
    assert shown[:3] == ["NAME", "DESIRED", "READY"]
    assert shown[shown.index(name) + 1 : shown.index(name) + 3] == ["3", "3"]
    await landscape.kubectl("scale", "mss", name, "--replicas=5")
    await landscape.until_ready(5)
    await landscape.apply(landscape.guest("busy", f"{name}-1"))
    annotation = f"{names.PROTECT_FROM_DELETION}=true"
    await landscape.kubectl("annotate", "managedseed", f"{name}-3", annotation)
    await landscape.kubectl("scale", "mss", name, "--replicas=1")

    async def shrunk() -> Any:
        return await landscape.replicas() == [f"{name}-1", f"{name}-3"]

    await landscape.until(shrunk)

    async def blocked() -> Any:
        return landscape.told(await landscape.status(), "ScaleInBlocked")[0] == "True"

    await landscape.until(blocked)
    seeds = (await landscape.get("seed"))["items"]
    left = {item["metadata"]["name"] for item in seeds if item["metadata"]["name"].startswith(name)}
    assert left == {f"{name}-1", f"{name}-3"}
    await landscape.kubectl("delete", "shoot", "busy", "--wait=false")

    async def gone() -> Any:
        return await landscape.replicas() == [f"{name}-3"]

    await landscape.until(gone)
    await landscape.kubectl("scale", "mss", name, "--replicas=2")
    await landscape.until_ready(2)
    assert await landscape.replicas() == [f"{name}-3", f"{name}-5"]


async def test_a_template_rolls_stops_for_a_sick_shoot_and_is_undone(landscape, capsys):
    name = landscape.name
    await landscape.apply(landscape.make(replicas=3, maxParallel=3))
    await landscape.until_ready(3)
    await landscape.apply(landscape.guest("guest", f"{name}-2"))

    async def guest_well() -> Any:
        guest = await landscape.get("shoot", "guest")
        return guest["metadata"]["labels"].get(names.SHOOT_STATUS) == "healthy"

    await landscape.until(guest_well)
    await landscape.kubectl("annotate", "shoot", "guest", f"{names.SIMULATE}=fail")

    async def guest_sick() -> Any:
        return not await guest_well()

    await landscape.until(guest_sick)
    assert await landscape.plugin("pause", f"mss/{name}") == 0
    await landscape.retemplate("1.35.2")
    assert await landscape.plugin("status", f"mss/{name}", "--watch=false") == 0
    await asyncio.sleep(1)
    assert await landscape.versions() == ["1.35.1"] * 3
    assert await landscape.plugin("resume", f"mss/{name}") == 0
    await landscape.until(_stops(landscape))
    assert await landscape.versions() == ["1.35.1"] * 3
    await landscape.kubectl("annotate", "shoot", "guest", f"{names.SIMULATE}-")
    assert await landscape.plugin("status", f"mss/{name}", "--timeout=60") == 0
    assert await landscape.versions() == ["1.35.2"] * 3
    assert await landscape.plugin("history", f"mss/{name}") == 0
    assert "shootTemplate.spec.kubernetes.version: 1.35.1 → 1.35.2" in capsys.readouterr().out
    assert await landscape.plugin("history", f"mss/{name}", "--revision=2") == 0
    assert "+      version: 1.35.2" in capsys.readouterr().out
    assert await landscape.plugin("undo", f"mss/{name}") == 0
    assert await landscape.plugin("status", f"mss/{name}", "--timeout=60") == 0
    assert await landscape.versions() == ["1.35.1"] * 3


def _stops(landscape):
    async def stopped() -> Any:
        status = await landscape.status()
        return landscape.told(status, "Progressing") == ("False", "HostedShootsUnready")

    return stopped


async def test_a_partition_touches_only_the_last(landscape):
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    await landscape.apply(landscape.make(replicas=3, maxParallel=3, updateStrategy=strategy))
    await landscape.until_ready(3)
    await landscape.retemplate("1.35.2")
    assert await landscape.plugin("status", f"mss/{landscape.name}", "--timeout=60") == 0
    assert await landscape.versions() == ["1.35.1", "1.35.1", "1.35.2"]
    status = await landscape.status()
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)


async def test_a_set_deleted_with_orphans_releases_its_replicas(landscape):
    await landscape.apply(landscape.make(replicas=2, maxParallel=2))
    await landscape.until_ready(2)
    name = landscape.name
    await landscape.kubectl("delete", "mss", name, "--cascade=orphan", "--wait=false")

    async def let_go() -> Any:
        # Kubernetes' own garbage collector takes its time to end the set itself.
        left = (await landscape.get("mss"))["items"]
        return not left or left[0]["metadata"].get("finalizers") == ["orphan"]

    await landscape.until(let_go)
    await asyncio.sleep(1)
    for kind in ("shoot", "managedseed"):
        for item in (await landscape.get(kind))["items"]:
            assert not item["metadata"].get("ownerReferences")
            assert not item["metadata"].get("deletionTimestamp")
    assert len(await landscape.replicas()) == 2


async def test_an_autoscaler_follows_the_shoots(landscape):
    name = landscape.name
    tolerant = {"spec": {"tolerations": [{"key": names.SEED_PROTECTED}]}}
    await landscape.apply(landscape.make(replicas=1, maxParallel=5, shootTemplate=tolerant))
    metric = {"name": "shoots", "target": {"type": "Utilization", "averageUtilization": 80}}
    quick = {"type": "Seeds", "value": 10, "periodSeconds": 1}
    await landscape.apply(
        {
            "apiVersion": "seedmanagement.gardener.cloud/v1beta1",
            "kind": "SeedAutoscaler",
            "metadata": {"name": name, "namespace": landscape.namespace},
            "spec": {
                "scaleTargetRef": {"kind": "ManagedSeedSet", "name": name},
                "minReplicas": 1,
                "maxReplicas": 10,
                "metrics": [{"type": "Resource", "resource": metric}],
                "behavior": {
                    "scaleUp": {"policies": [quick]},
                    "scaleDown": {"stabilizationWindowSeconds": 2, "policies": [quick]},
                },
            },
        }
    )
    await landscape.until_ready(1)
    guests = []
    for number in range(300):
        guest = landscape.guest(f"guest-{number}", "")
        del guest["spec"]["seedName"]
        guest["metadata"]["labels"] = {"stays": "yes" if number < 20 else "no"}
        guests.append(guest)
    async with Client(await config.load(str(landscape.server.kubeconfig))) as client:
        await create_all(client, guests)

    async def placed() -> Any:
        found = (await landscape.get("shoot"))["items"]
        mine = [item for item in found if item["metadata"]["name"].startswith("guest-")]
        replicas = (await landscape.get("mss", name))["spec"]["replicas"]
        # 80 % of seven or eight seeds: both are within tolerance.
        return replicas in (7, 8) and all(item["spec"].get("seedName") for item in mine)

    await landscape.until(placed, 120)
    path = f"/apis/core.gardener.cloud/v1beta1/namespaces/{landscape.namespace}/shoots"
    await landscape.server.kubectl("delete", "--raw", f"{path}?labelSelector=stays%3Dno")

    async def shrunk() -> Any:
        return (await landscape.get("mss", name))["spec"]["replicas"] == 1

    await landscape.until(shrunk, 120)
    scaler = await landscape.get("seedautoscaler", name)
    assert scaler["status"]["desiredReplicas"] == 1
    assert scaler["status"]["lastScaleTime"]
