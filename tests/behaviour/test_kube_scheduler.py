"""An unmodified kube-scheduler queues, asks the extender and binds, and ends where we would."""

import asyncio
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from tests.landscapes import MULTI_ZONE, read
from tests.schedulers import Stage, connected, define_kinds, eventually
from webhook.api.meta import ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options
from webhook.planes.ports import free_port
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.pipeline import place
from webhook.state.snapshot import Snapshot

pytestmark = pytest.mark.timeout(300)

MANIFESTS = Path(__file__).parents[2] / "manifests" / "kube-scheduler"
SHOOTS = 40


@pytest.fixture
async def namespace(real_server):
    name = f"test-{uuid4().hex[:8]}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await real_server.kubectl("create", "-f", "-", input=body)
    yield name
    await real_server.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def stage(real_server, namespace):
    await define_kinds(real_server)
    priorities = MANIFESTS / "priorityclasses.yaml"
    await real_server.kubectl("apply", "-f", str(priorities))
    await real_server.kubectl("create", "serviceaccount", "default", "-n", namespace, check=False)
    options = Options(namespace=namespace)
    async with connected(str(real_server.kubeconfig), options) as scheduling:
        found = Stage(scheduling, namespace)
        await found.begin()
        yield found
        await found.end()


@pytest.fixture
async def port(real_server, namespace, tmp_path):
    """`espalier serve` with kube-scheduler as its engine."""
    config = tmp_path / "espalier.yaml"
    config.write_text("scheduler: {engine: kube-scheduler}\n")
    port = free_port()
    flags = {
        "config": config,
        "kubeconfig": real_server.kubeconfig,
        "namespace": namespace,
        "host": "127.0.0.1",
        "port": port,
        "http-host": "127.0.0.1",
        "http-port": free_port(),
        "roles": "extender,controllers",
        "manage-webhooks": "false",
        "client-ca": real_server.admin.ca_file,
        "drain-quiet": 0,
    }
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    with (tmp_path / "serve.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "webhook", "serve", *arguments, stdout=log, stderr=log
        )
    yield port
    process.terminate()
    await process.wait()


@pytest.fixture
async def kube_scheduler(real_server, port):
    """A real kube-scheduler with our configuration; only addresses and certificates differ."""
    config = yaml.safe_load((MANIFESTS / "config.yaml").read_text())
    config["leaderElection"] = {"leaderElect": False}
    (extender,) = config["extenders"]
    extender["urlPrefix"] = f"https://127.0.0.1:{port}/scheduler"
    client = real_server.admin.client_files
    extender["tlsConfig"] = {
        "insecure": True,
        "certFile": str(client.certificate),
        "keyFile": str(client.key),
    }
    scheduler = real_server.scheduler(config)
    await scheduler.start()
    yield scheduler
    await scheduler.stop()


async def test_shoots_end_where_the_built_in_scheduler_would_put_them(
    stage, real_server, kube_scheduler
):
    seeds = [
        stage.seed("plain-1", shoots=12, allocatable={"persistent-volumes": 30}),
        stage.seed("plain-2", shoots=9),
        stage.seed("wide", zones=("a", "b", "c"), shoots=30),
        stage.seed("far", region="us-east-1"),
        stage.seed("tainted", taints=[{"key": "private"}], shoots=5),
    ]
    await stage.create(*seeds)
    drafts = [
        stage.shoot(
            f"s{index:02}",
            ha=MULTI_ZONE if index % 5 == 0 else None,
            **({"tolerations": [{"key": "private"}]} if index % 7 == 0 else {}),
        )
        for index in range(SHOOTS)
    ]
    for draft in drafts:
        await stage.create(draft)
        name = draft["metadata"]["name"]
        await eventually(lambda name=name: _is_placed(stage, name), 60)
    found = await stage.placements()
    assert found == await _by_ourselves(stage, seeds, drafts)
    await eventually(lambda: _no_shadows(real_server, stage.namespace), 60)


async def test_gone_seeds_and_shoots_leave_nothing_behind(stage, real_server, kube_scheduler):
    await stage.create(stage.seed("far", region="us-east-1"), stage.shoot("waiting"))
    await eventually(lambda: _has_shadow(real_server, stage.namespace), 60)
    await eventually(lambda: _has_node(real_server, stage.name("far")), 60)
    await real_server.kubectl("delete", "shoot", "waiting", "-n", stage.namespace)
    await real_server.kubectl("delete", "seed", stage.name("far"))
    await eventually(lambda: _no_shadows(real_server, stage.namespace), 60)
    await eventually(lambda: _no_node(real_server, stage.name("far")), 60)


async def _by_ourselves(stage, seeds, drafts):
    """Place the same shoots one after the other, without any server."""
    await eventually(lambda: _knows(stage, seeds))
    snapshot = stage.scheduling.cache.snapshot()
    known = [snapshot.get(Seed, ObjectKey("", seed["metadata"]["name"])) for seed in seeds]
    profile = [
        obj for model in stage.scheduling.cache.memory.models for obj in _of(snapshot, model)
    ]
    placed: dict[str, str] = {}
    shoots: list[Shoot] = []
    for draft in drafts:
        shoot = read(Shoot, draft)
        world = Snapshot.of([*known, *profile, *shoots])
        verdict = place(shoot, Landscape(), world)
        draft["spec"]["seedName"] = verdict.seed
        shoots.append(read(Shoot, draft))
        placed[shoot.name] = (verdict.seed or "").removesuffix(f"-{stage.suffix}")
    return placed


def _of(snapshot, model):
    return snapshot.list(model) if model.__name__ == "CloudProfile" else ()


def _knows(stage, seeds):
    snapshot = stage.scheduling.cache.snapshot()
    found = [snapshot.get(Seed, ObjectKey("", seed["metadata"]["name"])) for seed in seeds]
    return all(seed is not None and seed.status.allocatable for seed in found)


async def _is_placed(stage, name):
    return bool((await stage.get(name))["spec"].get("seedName"))


async def _names(server, *arguments):
    found = await server.kubectl("get", *arguments, "-o", "name", "--ignore-not-found")
    return found.stdout.split()


async def _has_shadow(server, namespace):
    return bool(await _names(server, "pods", "-n", namespace))


async def _no_shadows(server, namespace):
    return not await _names(server, "pods", "-n", namespace)


async def _has_node(server, name):
    return bool(await _names(server, "node", name))


async def _no_node(server, name):
    return not await _names(server, "node", name)
