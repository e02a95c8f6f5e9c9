"""Two replicas fill seeds to their exact capacity, whatever happens to the leader."""

import asyncio
import json
import os
import re
import signal
import sys
from collections import Counter
from random import Random
from uuid import uuid4

import aiohttp
import pytest

from tests.support.landscape_objects import raw_shoot
from tests.support.scheduler import Stage, connected, define_kinds
from tests.support.waits import eventually
from webhook.api.core import Lease
from webhook.api.kinds import kind_of_model
from webhook.cluster.errors import NotFoundError
from webhook.dev.planes.ports import free_port
from webhook.domain.options import Options
from webhook.kube.meta import ObjectKey

SOAK = bool(os.environ.get("ESPALIER_SOAK"))
SHOOTS = 1_000 if SOAK else 100
SEEDS = 10
FROZEN_SECONDS = 30.0 if SOAK else 6.0
PATIENCE = 600.0 if SOAK else 200.0

pytestmark = pytest.mark.timeout(1500 if SOAK else 480)

REFUSED = re.compile(
    r"is assigned to seed|does not fit any more|has no room left|keeps changing, try again"
)
"""Why `bind` may refuse what a replica or another call has just placed, or what is full."""

LEASE = kind_of_model(Lease)


class Replica:
    """`espalier serve` as a process."""

    def __init__(self, server, namespace, folder):
        self.identity = f"replica-{uuid4().hex[:6]}"
        self.port, self.http_port = free_port(), free_port()
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
            "http-port": self.http_port,
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

    async def is_ready(self):
        try:
            async with aiohttp.request("GET", f"http://127.0.0.1:{self.http_port}/readyz") as found:
                return found.status == 200
        except aiohttp.ClientError:
            return False

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
    except NotFoundError:  # no replica has led yet
        return False


def is_for_bind(name):
    """Return whether only `bind` places a shoot, because its scheduler is another one."""
    return name.endswith("0")


class Answers:
    """What `bind` has answered: where it has bound shoots, and why it has not."""

    def __init__(self):
        self.bound = set()
        self.errors: Counter[str] = Counter()
        self.unanswered: Counter[Replica] = Counter()

    def add(self, replica, shoot, seed, answer):
        if answer is None:
            self.unanswered[replica] += 1
        elif answer["Error"]:
            self.errors[answer["Error"]] += 1
        else:
            self.bound.add((shoot, seed))

    def check(self, placements, struck):
        """Check that what was bound is there, and that every other answer has a known reason."""
        assert self.bound <= set(placements.items())
        # Of what only `bind` places, it has answered all, but for the answers that were lost.
        unheard = {name for name in placements if is_for_bind(name)} - dict(self.bound).keys()
        assert len(unheard) <= self.unanswered.total()
        assert not [each for each in self.errors if not REFUSED.search(each)]
        assert set(self.unanswered) <= {struck}


async def bind_at_random(stage, replicas, seeds, until, answers):
    """Ask both replicas to bind shoots to any seed, as impatient schedulers do."""
    chance = Random(7)
    context = stage_context(replicas[0])
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        while not until():
            found = await stage.placements()
            waiting = [name for name, seed in found.items() if not seed]
            for name in chance.sample(waiting, min(8, len(waiting))):
                shoot = await stage.get(name)
                seed = chance.choice(seeds)
                body = {
                    "PodName": name,
                    "PodNamespace": stage.namespace,
                    "PodUID": shoot["metadata"]["uid"],
                    "Node": stage.name(seed),
                }
                for replica in replicas:
                    answers.add(replica, name, seed, await _post(session, replica, body))
            await asyncio.sleep(0.2)


def stage_context(replica):
    context = replica._server.admin.context()
    context.check_hostname = False
    context.verify_mode = 0
    return context


async def _post(session, replica, body):
    """Return the answer of bind; None if there is none: the replica is killed or frozen."""
    url = f"https://127.0.0.1:{replica.port}/scheduler/bind"
    try:
        limit = aiohttp.ClientTimeout(total=3)
        async with session.post(url, data=json.dumps(body), timeout=limit) as response:
            assert response.status == 200, await response.text()
            return json.loads(await response.text())
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None


async def watch_counts(stage, slots, until):
    """Check all the time that no seed is over its capacity."""
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
    for replica in replicas:
        await eventually(replica.is_ready, 120)
    done = False
    answers = Answers()
    names = [f"seed-{index}" for index in range(SEEDS)]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch_counts(stage, slots, lambda: done))
        tasks.create_task(bind_at_random(stage, replicas, names, lambda: done, answers))
        await stage.create(*(make_shoot(stage, f"s{index:04}") for index in range(SHOOTS)))
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
    placements = await stage.placements()
    assert set(Counter(placements.values()).values()) == {slots}
    answers.check(placements, struck)


def make_shoot(stage, name):
    scheduler = "another" if is_for_bind(name) else "default-scheduler"
    return raw_shoot(
        name, namespace=stage.namespace, provider=stage.provider, schedulerName=scheduler
    )


async def _placed(stage, count):
    return sum(map(bool, (await stage.placements()).values())) >= count
