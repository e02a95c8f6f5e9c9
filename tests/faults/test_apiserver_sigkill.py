"""The embedded API server is killed during writes: no acknowledged write is lost or torn."""

import asyncio
import hashlib
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from tests.support.waits import eventually
from webhook.dev.planes.embedded import Embedded

ROUNDS = 50 if os.environ.get("ESPALIER_SOAK") else 10
WRITERS = 16
MAPS = "/api/v1/namespaces/default/configmaps"

pytestmark = pytest.mark.timeout(60 * ROUNDS)


@dataclass
class Ledger:
    """The writes that the server acknowledged, and those that it did not answer."""

    promised: dict[str, str | None] = field(default_factory=dict)
    """The value that each object must have; None for a deleted one."""
    open: dict[str, str | None] = field(default_factory=dict)
    """The value that an unanswered request may have set."""
    newest: int = 0

    def begin(self, name: str, value: str | None) -> None:
        self.open[name] = value

    def keep(self, name: str, version: int) -> None:
        self.promised[name] = self.open.pop(name)
        self.newest = max(self.newest, version)


def make_map(name: str, value: str) -> dict[str, Any]:
    """A large object whose parts are redundant, so that a torn write is found."""
    digest = hashlib.sha256(value.encode()).hexdigest()
    data = {"value": value, "digest": digest, "ballast": value * 50}
    metadata = {"name": name, "labels": {"ours": ""}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@asynccontextmanager
async def connected(server: Embedded) -> AsyncIterator[aiohttp.ClientSession]:
    context = await asyncio.to_thread(server.admin.context)
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        yield session


async def write(
    session: aiohttp.ClientSession, ledger: Ledger, names: list[str], seed: int
) -> None:
    """Create, replace and delete objects until the server is gone."""
    chance = random.Random(seed)
    count = 0
    while True:
        name = chance.choice(names)
        count += 1
        value = f"{seed}-{count}"
        exists = ledger.promised.get(name) is not None
        path = f"{MAPS}/{name}"
        if exists and chance.random() < 0.2:
            ledger.begin(name, None)
            request = session.delete(path)
        elif exists:
            ledger.begin(name, value)
            request = session.put(path, json=make_map(name, value))
        else:
            ledger.begin(name, value)
            request = session.post(MAPS, json=make_map(name, value))
        async with request as response:
            answer = await response.json()
            assert response.status in (200, 201), answer
            version = answer["metadata"].get("resourceVersion", "0")
            ledger.keep(name, int(version))


async def load(server: Embedded, ledger: Ledger, seed: int) -> None:
    """Write until the process is killed."""
    async with connected(server) as session:
        writers = [
            asyncio.ensure_future(
                write(session, ledger, [f"w{index}-{part}" for part in range(5)], seed + index)
            )
            for index in range(WRITERS)
        ]
        began = ledger.newest
        await asyncio.sleep(0.3 + random.Random(seed).random())
        await eventually(lambda: ledger.newest > began + 10)
        await server.apiserver.kill()
        outcomes = await asyncio.gather(*writers, return_exceptions=True)
    for outcome in outcomes:
        assert isinstance(outcome, aiohttp.ClientError | OSError), outcome


async def stored(session: aiohttp.ClientSession) -> dict[str, str]:
    """Read everything back, and check that every object is whole."""
    async with session.get(MAPS, params={"labelSelector": "ours"}) as response:
        listed = await response.json()
    values = {}
    for item in listed["items"]:
        name, data = item["metadata"]["name"], item["data"]
        assert data == make_map(name, data["value"])["data"]
        values[name] = data["value"]
    return values


def check(ledger: Ledger, values: dict[str, str]) -> None:
    """Check all acknowledged writes, and adopt what unanswered requests did."""
    for name, promised in ledger.promised.items():
        allowed = {promised, ledger.open.get(name, promised)}
        assert values.get(name) in allowed, f"{name} was {promised} and is {values.get(name)}"
    strangers = values.keys() - ledger.promised.keys() - ledger.open.keys()
    assert not strangers
    ledger.promised = dict(values)
    ledger.open.clear()


async def test_no_answered_write_is_lost_and_no_object_is_torn(tmp_path):
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    ledger = Ledger()
    server = Embedded(tmp_path / "server")
    try:
        for number in range(ROUNDS):
            await server.start()
            async with connected(server) as session:
                check(ledger, await stored(session))
                async with session.post(MAPS, json=make_map(f"mark-{number}", "x")) as response:
                    marked = await response.json()
            version = int(marked["metadata"]["resourceVersion"])
            assert version > ledger.newest, "a restart must not give out a version twice"
            ledger.promised[f"mark-{number}"] = "x"
            await load(server, ledger, seed + number * WRITERS)
        await server.start()
        async with connected(server) as session:
            check(ledger, await stored(session))
        assert ledger.newest > 10 * ROUNDS
    finally:
        await server.stop()
