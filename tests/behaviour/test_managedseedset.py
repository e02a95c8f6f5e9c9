"""ManagedSeedSets on both API servers, with our webhooks, through kubectl."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from tests.behaviour.managed_seed_landscape import Landscape, document_set, serving
from tests.behaviour.sample_objects import make_namespace
from tests.support.control_planes import kubernetes
from tests.support.scheduler import create_all
from tests.support.set_objects import make_autoscaler
from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.dev.localprovider import shoots
from webhook.dev.planes.embedded import Embedded
from webhook.kube.meta import Draft

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(request, tmp_path_factory):
    """A separate server, because webhooks would validate the objects of other tests."""
    folder = tmp_path_factory.mktemp("seeding")
    started = kubernetes if request.param == "real" else Embedded
    async with started(folder / "api") as plane, serving(plane, folder / "espalier"):
        yield plane


@pytest.fixture
async def landscape(server, monkeypatch):
    """The running program, and gardenlets that take no time."""
    monkeypatch.setattr(shoots, "OPERATION_DURATION", timedelta(0))
    found = Landscape(server)
    await server.kubectl("create", "-f", "-", input=make_namespace(found.project))
    async with found.watching():
        yield found
        await found.end()


async def test_the_documents_set_goes_to_three_replicas_and_shrinks_around_what_is_needed(
    landscape,
):
    await landscape.begin("gcp", "europe-west1")
    wanted = document_set()
    name = landscape.name = wanted["metadata"]["name"]
    # Shoots of the garden tolerate protected seeds, so they could be placed on older replicas.
    selector = {"matchLabels": {"parent": landscape.suffix}}
    more = {"seedSelector": selector, "cloudProfileName": landscape.profile}
    wanted["spec"]["shootTemplate"]["spec"] |= more
    await landscape.apply(wanted)
    await landscape.until_ready(3)
    assert await landscape.replicas() == [f"{name}-{ordinal}" for ordinal in range(3)]
    shown = (await landscape.kubectl("get", "mss", name)).stdout.split()
    assert shown[:3] == ["NAME", "DESIRED", "READY"]
    assert shown[shown.index(name) + 1 : shown.index(name) + 3] == ["3", "3"]
    await landscape.retemplate("1.34.2")
    assert await landscape.rollout("status", f"mss/{name}", "--timeout=120") == 0
    assert await landscape.versions() == ["1.34.1", "1.34.1", "1.34.2"]
    status = await landscape.status()
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    await landscape.kubectl("scale", "mss", name, "--replicas=5")
    await landscape.until_ready(5)
    assert await landscape.versions() == ["1.34.1", "1.34.1", "1.34.2", "1.34.2", "1.34.2"]
    await _shrink_around_what_is_needed(landscape)


async def _shrink_around_what_is_needed(landscape: Any) -> None:
    name = landscape.name
    more = {"provider": {"type": "gcp"}, "tolerations": [{"key": names.SEED_PROTECTED}]}
    await landscape.apply(landscape.hosted("busy", f"{name}-1", **more))
    annotation = f"{names.PROTECT_FROM_DELETION}=true"
    await landscape.kubectl("annotate", "managedseed", f"{name}-3", annotation)
    await landscape.kubectl("scale", "mss", name, "--replicas=1")

    async def shrunk() -> Any:
        return await landscape.replicas() == [f"{name}-1", f"{name}-3"]

    await landscape.until(shrunk)
    blocked = await landscape.until_reported("ScaleInBlocked", "True", "ReplicasNeeded")
    assert blocked == (
        f"cannot be removed yet: {name}-1 (used by 1 shoot), {name}-3 (protected from deletion)"
    )
    seeds = (await landscape.get("seed"))["items"]
    left = {item["metadata"]["name"] for item in seeds if item["metadata"]["name"].startswith(name)}
    assert left == {f"{name}-1", f"{name}-3"}
    confirm = f"{names.DELETION_CONFIRMATION}=true"
    await landscape.in_project("annotate", "shoot", "busy", confirm)
    await landscape.in_project("delete", "shoot", "busy", "--wait=false")

    async def gone() -> Any:
        return await landscape.replicas() == [f"{name}-3"]

    await landscape.until(gone)
    await landscape.kubectl("scale", "mss", name, "--replicas=2")
    await landscape.until_ready(2)
    assert await landscape.replicas() == [f"{name}-3", f"{name}-5"]


async def test_a_template_rolls_downwards_stops_for_a_sick_shoot_and_is_undone(
    landscape, capsys, monkeypatch
):
    await landscape.begin()
    name = landscape.name
    await landscape.apply(landscape.make(replicas=3, maxParallel=3))
    await landscape.until_ready(3)
    await landscape.apply(landscape.hosted("guest", f"{name}-2"))
    await _until_hosted(landscape, "healthy")
    order = _watch_updates(landscape)
    assert await landscape.rollout("pause", f"mss/{name}") == 0
    await landscape.retemplate("1.35.2")
    await landscape.until_reported("Progressing", "False", "Paused")
    assert order == []
    # Slow enough to break a shoot while the first replica is being updated.
    monkeypatch.setattr(shoots, "OPERATION_DURATION", timedelta(seconds=20))
    assert await landscape.rollout("resume", f"mss/{name}") == 0

    async def begun() -> Any:
        return order == [f"{name}-2"]

    await landscape.until(begun)
    await landscape.in_project("annotate", "shoot", "guest", f"{names.SIMULATE}=fail")
    stopped = await landscape.until_reported("Progressing", "False", "HostedShootsUnready")
    assert f"1 of 1 shoots on {name}-2 are not ready" in stopped
    assert await landscape.versions() == ["1.35.1", "1.35.1", "1.35.2"]
    monkeypatch.setattr(shoots, "OPERATION_DURATION", timedelta(0))
    await landscape.in_project("annotate", "shoot", "guest", f"{names.SIMULATE}-")
    assert await landscape.rollout("status", f"mss/{name}", "--timeout=120") == 0
    assert await landscape.versions() == ["1.35.2"] * 3
    assert order == [f"{name}-2", f"{name}-1", f"{name}-0"]
    await _look_back_and_undo(landscape, capsys)


async def _look_back_and_undo(landscape: Any, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"mss/{landscape.name}"
    assert await landscape.rollout("history", target) == 0
    assert "shootTemplate.spec.kubernetes.version: 1.35.1 → 1.35.2" in capsys.readouterr().out
    assert await landscape.rollout("history", target, "--revision=2") == 0
    assert "+      version: 1.35.2" in capsys.readouterr().out
    for cause in ("newer", "newest"):  # the cause of a change may be given and corrected later
        annotation = f"{names.CHANGE_CAUSE}={cause}"
        await landscape.kubectl("annotate", "--overwrite", "mss", landscape.name, annotation)

    async def recorded() -> Any:
        await landscape.rollout("history", target)
        return "newest" in capsys.readouterr().out

    await landscape.until(recorded)
    assert await landscape.rollout("undo", target) == 0
    undone = await landscape.get("mss", landscape.name)
    assert names.CHANGE_CAUSE not in undone["metadata"].get("annotations", {})
    shown = await landscape.rollout_on_a_terminal("status", target, "--timeout=120")
    for part in ("REPLICA", f"{landscape.name}-0", "rollout complete: 3 of 3 replicas"):
        assert part in shown
    assert await landscape.versions() == ["1.35.1"] * 3


def _watch_updates(landscape: Any) -> list[str]:
    """Record the replicas in the order in which their version changes."""
    order: list[str] = []

    def look(old: Shoot | None, new: Shoot | None) -> None:
        if old is None or new is None or not new.name.startswith(f"{landscape.name}-"):
            return
        if old.spec.kubernetes.version != new.spec.kubernetes.version:
            order.append(new.name)

    landscape.seen.add_listener(Shoot, look)
    return order


async def _until_hosted(landscape: Any, status: str) -> None:
    async def is_so() -> Any:
        hosted = await landscape.get("shoot", "guest", landscape.project)
        return hosted["metadata"].get("labels", {}).get(names.SHOOT_STATUS) == status

    await landscape.until(is_so)


async def test_a_template_that_admission_refuses_stops_at_the_first_replica(landscape):
    await landscape.begin()
    name = landscape.name
    await landscape.apply(landscape.make(replicas=2, maxParallel=2))
    await landscape.until_ready(2)
    before = await landscape.shoots()
    await landscape.patch({"shootTemplate": {"spec": {"seedName": "nowhere"}}})
    refused = await landscape.until_reported("Progressing", "False", "TemplateRefused")
    assert refused.startswith(f"Shoot {name}-1 was refused: spec.seedName: ")
    assert await landscape.rollout("status", f"mss/{name}", "--timeout=30") == 1
    after = await landscape.shoots()
    assert [each["metadata"]["generation"] for each in after.values()] == [
        each["metadata"]["generation"] for each in before.values()
    ]
    await landscape.patch({"shootTemplate": {"spec": {"seedName": landscape.parent}}})
    assert await landscape.rollout("status", f"mss/{name}", "--timeout=120") == 0


async def test_deleted_parts_of_a_replica_are_created_again(landscape):
    await landscape.begin()
    name = landscape.name
    await landscape.apply(landscape.make(replicas=2, maxParallel=2))
    await landscape.until_ready(2)
    wiped = json.dumps({"status": None})
    status_of = ("patch", "mss", name, "--subresource=status", "--type=merge")
    await landscape.kubectl(*status_of, "-p", wiped)
    await landscape.kubectl("delete", "managedseed", f"{name}-0", "--timeout=90s")
    await landscape.until_ready(2)
    assert await landscape.replicas() == [f"{name}-0", f"{name}-1"]
    assert (await landscape.status())["nextReplicaNumber"] == 2


async def test_a_set_deleted_with_orphans_releases_its_replicas(landscape):
    await landscape.begin()
    await landscape.apply(landscape.make(replicas=2, maxParallel=2))
    await landscape.until_ready(2)
    name = landscape.name
    await landscape.kubectl("delete", "mss", name, "--cascade=orphan", "--wait=false")

    async def is_released() -> Any:
        # Kubernetes' garbage collector deletes the set itself with a delay.
        left = [each for each in (await landscape.get("mss"))["items"] if _name(each) == name]
        return not left or left[0]["metadata"].get("finalizers") == ["orphan"]

    await landscape.until(is_released)
    await asyncio.sleep(1)
    for kind in ("shoot", "managedseed"):
        for item in (await landscape.get(kind))["items"]:
            if _name(item).startswith(f"{name}-"):
                assert not item["metadata"].get("ownerReferences")
                assert not item["metadata"].get("deletionTimestamp")
    assert len(await landscape.replicas()) == 2


def _name(each: Draft) -> str:
    return str(each["metadata"]["name"])


async def test_an_autoscaler_follows_the_shoots(landscape):
    await landscape.begin()
    name = landscape.name
    tolerant = {"spec": {"tolerations": [{"key": names.SEED_PROTECTED}]}}
    await landscape.apply(landscape.make(replicas=1, maxParallel=5, shootTemplate=tolerant))
    await landscape.apply(_autoscaler(name))
    await landscape.until_ready(1)
    hosted_shoots = []
    for number in range(300):
        hosted = landscape.hosted(f"guest-{number}")
        hosted["metadata"]["labels"] = {"stays": "yes" if number < 20 else "no"}
        hosted["metadata"]["annotations"] = {names.DELETION_CONFIRMATION: "true"}
        hosted_shoots.append(hosted)
    async with Client(await config.load(str(landscape.server.kubeconfig))) as client:
        await create_all(client, hosted_shoots)

    async def placed() -> Any:
        found = (await landscape.get("shoot", namespace=landscape.project))["items"]
        replicas = (await landscape.get("mss", name))["spec"]["replicas"]
        # 80 % of seven or eight seeds: both are within tolerance.
        return replicas in (7, 8) and all(item["spec"].get("seedName") for item in found)

    await landscape.until(placed, 240)
    path = f"/apis/core.gardener.cloud/v1beta1/namespaces/{landscape.project}/shoots"
    await landscape.server.kubectl("delete", "--raw", f"{path}?labelSelector=stays%3Dno")

    async def shrunk() -> Any:
        return (await landscape.get("mss", name))["spec"]["replicas"] == 1

    await landscape.until(shrunk, 240)
    scaler = await landscape.get("seedautoscaler", name)
    assert scaler["status"]["desiredReplicas"] == 1
    assert scaler["status"]["lastScaleTime"]


async def test_an_autoscaler_releases_the_seeds_that_it_drains(landscape):
    await landscape.begin()
    name = landscape.name
    tolerant = {"spec": {"tolerations": [{"key": names.SEED_PROTECTED}]}}
    await landscape.apply(landscape.make(replicas=2, maxParallel=2, shootTemplate=tolerant))
    await landscape.until_ready(2)
    await landscape.apply(*(landscape.hosted(f"guest-{n}", f"{name}-{n}") for n in range(2)))
    draining = _autoscaler(name)
    draining["spec"]["behavior"]["scaleDown"]["cordon"] = True
    # Without a window, because this is about seeds that cannot be removed.
    draining["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] = 0
    await landscape.apply(draining)

    async def drained() -> Any:
        return len(await _drained(landscape)) == 1

    async def released() -> Any:
        return await _drained(landscape) == []

    await landscape.until(drained)
    (seed,) = await _drained(landscape)

    async def reported() -> Any:
        listed = await landscape.kubectl("get", "seedautoscaler", name)
        return seed in listed.stdout

    await landscape.until(reported)
    for off in ({"mode": "Recommend"}, {"behavior": {"scaleDown": {"cordon": False}}}):
        change = ("patch", "seedautoscaler", name, "--type=merge", "-p")
        await landscape.kubectl(*change, json.dumps({"spec": off}))
        await landscape.until(released)
        on = {"mode": "Auto", "behavior": {"scaleDown": {"cordon": True}}}
        await landscape.kubectl(*change, json.dumps({"spec": on}))
        await landscape.until(drained)
    await landscape.kubectl("delete", "seedautoscaler", name, "--timeout=60s")
    assert await _drained(landscape) == [], "they were released before it was gone"


async def _drained(landscape: Any) -> list[str]:
    seeds = (await landscape.get("seed"))["items"]
    return [
        _name(each)
        for each in seeds
        if _name(each).startswith(f"{landscape.name}-")
        and any(taint["key"] == names.CORDON_TAINT for taint in each["spec"].get("taints") or ())
    ]


def _autoscaler(name: str) -> Draft:
    quick = {"type": "Replicas", "value": 10, "periodSeconds": 1}
    down = {"stabilizationWindowSeconds": 2, "policies": [quick]}
    draft = make_autoscaler(
        name, 80, behavior={"scaleUp": {"policies": [quick]}, "scaleDown": down}
    )
    return {**draft, "apiVersion": "seedmanagement.gardener.cloud/v1alpha1"}
