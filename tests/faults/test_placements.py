"""Two replicas fill seeds with room for exactly as many shoots, whatever befalls the leader."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from random import Random
from uuid import uuid4

import aiohttp
import pytest

from tests.landscapes import raw_shoot
from tests.schedulers import Stage, connected, define_kinds
from tests.waiting import eventually
from webhook.api.core import Lease
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.cluster.errors import NotFoundError
from webhook.domain.options import Options
from webhook.planes.ports import free_port

SOAK = bool(os.environ.get("ESPALIER_SOAK"))
SHOOTS = 1_000 if SOAK else 100
SEEDS = 10
FROZEN_SECONDS = 30.0 if SOAK else 6.0
PATIENCE = 600.0 if SOAK else 200.0

pytestmark = pytest.mark.timeout(1500 if SOAK else 480)

LEASE = kind_of_model(Lease)


class Replica:
    """`espalier serve` as a process of its own."""

    def __init__(self, server, namespace, folder):
        self.identity = f"replica-{uuid4().hex[:6]}"
        self.port = free_port()
        self._server = server
        self._namespace = namespace
        self._log = folder / f"{self.identity}.log"
        self.process = None

    async def start(self):
        access = self._server.admin
        flags = {
            "kubeconfig": self._server.kubeconfig,
            "namespace": self._namespace,
            "identity": self.identity,
            "host": "127.0.0.1",
            "port": self.port,
            "http-host": "127.0.0.1",
            "http-port": free_port(),
            "roles": "extender,controllers",
            "manage-webhooks": "false",
            "client-ca": access.ca_file,
            "lease-duration": 4,
            "renew-deadline": 3,
            "retry-period": 0.5,
            "drain-quiet": 0,
        }
        arguments = [f"--{name}={value}" for name, value in flags.items()]
        with self._log.open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "webhook", "serve", *arguments, stdout=log, stderr=log
            )

    def signal(self, number):
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)

    async def stop(self):
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        if self.process is not None:
            await self.process.wait()


@pytest.fixture
async def stage(server, namespace):
    await define_kinds(server)
    async with connected(str(server.kubeconfig), Options(namespace=namespace)) as scheduling:
        found = Stage(scheduling, namespace)
        await found.begin()
        yield found
        await found.end()


@pytest.fixture
async def replicas(server, namespace, tmp_path):
    found = [Replica(server, namespace, tmp_path) for _ in range(2)]
    for replica in found:
        await replica.start()
    yield found
    for replica in found:
        await replica.stop()


@pytest.fixture(params=["embedded", "real"])
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
async def namespace(server):
    name = f"test-{uuid4().hex[:8]}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await server.kubectl("create", "-f", "-", input=body)
    yield name
    await server.kubectl("delete", "namespace", name, "--wait=false")


async def leader(stage, replicas):
    raw = await stage.client.get(LEASE, ObjectKey(stage.namespace, "espalier"))
    holder = raw["spec"].get("holderIdentity") or ""
    return next((one for one in replicas if holder.startswith(one.identity)), None)


async def has_leader(stage, replicas):
    try:
        return await leader(stage, replicas) is not None
    except NotFoundError:  # nobody has led yet
        return False


async def bind_at_random(stage, replicas, seeds, until):
    """Ask both replicas to bind shoots wherever, as impatient schedulers would."""
    chance = Random(7)
    context = stage_context(replicas[0])
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        while not until():
            found = await stage.placements()
            waiting = [name for name, seed in found.items() if not seed]
            for name in chance.sample(waiting, min(8, len(waiting))):
                shoot = await stage.get(name)
                body = {
                    "PodName": name,
                    "PodNamespace": stage.namespace,
                    "PodUID": shoot["metadata"]["uid"],
                    "Node": chance.choice(seeds),
                }
                for replica in replicas:
                    await _post(session, replica, body)
            await asyncio.sleep(0.2)


def stage_context(replica):
    context = replica._server.admin.context()
    context.check_hostname = False
    context.verify_mode = 0
    return context


async def _post(session, replica, body):
    url = f"https://127.0.0.1:{replica.port}/scheduler/bind"
    try:
        limit = aiohttp.ClientTimeout(total=3)
        async with session.post(url, data=json.dumps(body), timeout=limit) as response:
            await response.read()
    except (aiohttp.ClientError, OSError, TimeoutError):
        return  # killed, frozen or not up yet


async def watch_counts(stage, slots, until):
    """Never is a seed over its capacity, whenever one looks."""
    while not until():
        counts = Counter(seed for seed in (await stage.placements()).values() if seed)
        assert not [seed for seed, count in counts.items() if count > slots], counts
        await asyncio.sleep(0.3)


@pytest.mark.parametrize("blow", ["killed", "frozen"])
async def test_no_seed_is_overfilled(stage, replicas, blow):
    slots = SHOOTS // SEEDS
    seeds = [stage.seed(f"seed-{index}", shoots=slots) for index in range(SEEDS)]
    await stage.create(*seeds)
    await eventually(lambda: has_leader(stage, replicas), 120)
    done = False
    names = [seed["metadata"]["name"] for seed in seeds]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch_counts(stage, slots, lambda: done))
        tasks.create_task(bind_at_random(stage, replicas, names, lambda: done))
        await stage.create(
            *(
                raw_shoot(f"s{index:04}", namespace=stage.namespace, provider=stage.provider)
                for index in range(SHOOTS)
            )
        )
        await eventually(lambda: _placed(stage, SHOOTS // 3), PATIENCE)
        struck = await leader(stage, replicas)
        assert struck is not None
        if blow == "killed":
            struck.signal(signal.SIGKILL)
        else:
            struck.signal(signal.SIGSTOP)
            await asyncio.sleep(FROZEN_SECONDS)
            struck.signal(signal.SIGCONT)
        await eventually(lambda: _placed(stage, SHOOTS), PATIENCE)
        done = True
    counts = Counter((await stage.placements()).values())
    assert set(counts.values()) == {slots}


async def _placed(stage, count):
    return sum(map(bool, (await stage.placements()).values())) >= count
