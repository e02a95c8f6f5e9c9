"""Pools that roll while our server is down, behind, killed or refused: the bounds hold."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count, cycle

import pytest
import pytest_asyncio
from aiohttp import web

from tests.support.api_proxy import Call, Proxy, open_proxy
from tests.support.control_planes import require_parts
from tests.support.machine_pools import Fleet, Site, site
from tests.support.scripted_webhooks import Object, allow, reviewed, serving
from webhook.dev.server import EspalierProcess

IN_SOAK = bool(os.environ.get("ESPALIER_SOAK"))
KILLS = 200 if IN_SOAK else 3
AWAY_SECONDS = 20 if IN_SOAK else 6
HELD_SECONDS = 3.0
PASSING = re.compile(rb"[0-9T:.-]{9,}Z?|[0-9]{3,}")
ROLL_SECONDS = 300

SHORT = ("--lease-duration=4", "--renew-deadline=3", "--retry-period=0.3")
"""Short, so that a killed server is replaced soon."""

pytestmark = [
    pytest.mark.timeout(3600 if IN_SOAK else 900),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    require_parts("etcd", "kubernetes", "mcm")
    async with site(tmp_path_factory.mktemp("pools")) as found:
        yield found


def check(fleet: Fleet, mark: int, pool: str, *, surge: int) -> None:
    moments = list(fleet.since(mark, pool))
    assert max(each.surge for each in moments) <= surge, "more surge than the pool has"
    assert max(each.missing for each in moments) == 0, "fewer serve than must"


async def roll(fleet: Fleet, pool: str, size: int, image: str = "second") -> None:
    await fleet.roll(pool, image)
    what = f"{pool} rolled"
    await fleet.until(lambda: fleet.has_rolled(pool, image, size), ROLL_SECONDS, what)


async def test_while_we_are_away_nothing_rolls_and_afterwards_it_goes_on(place: Site) -> None:
    server = place.espalier("away", *SHORT)
    await server.start()
    try:
        async with place.fleet("away") as fleet:
            await fleet.pool("p", (2, 1, 1))
            mark = fleet.mark()
            await fleet.roll("p", "second")
            await fleet.until(
                lambda: fleet.pool_state("p").surge == 1, ROLL_SECONDS, "the roll has begun"
            )
            await server.kill()
            before = await _at_rest(fleet)
            await asyncio.sleep(AWAY_SECONDS)
            assert fleet.pool_state("p").sizes == before, "sets changed while nobody counted"
            await fleet.scale("p", 0, 3)  # MachineDeployments can be written all the same
            await server.start()
            await fleet.until(
                lambda: fleet.has_rolled("p", "second", 5), ROLL_SECONDS, "it went on"
            )
            moments = list(fleet.since(mark, "p"))
            assert max(each.surge for each in moments) <= 1
            assert max(each.missing for each in moments) <= 1, "but for the one asked for"
    finally:
        await server.stop()


async def _at_rest(fleet: Fleet) -> dict[str, dict[str, int]]:
    """Return the sizes of sets once everything admitted before has arrived."""
    while True:
        before = fleet.pool_state("p").sizes
        await asyncio.sleep(2)
        if fleet.pool_state("p").sizes == before:
            return before


async def test_every_second_write_of_a_set_fails_after_its_admission(
    place: Site, tmp_path_factory: pytest.TempPathFactory
) -> None:
    turns = cycle((True, False))

    def answer(review: Object) -> web.Response:
        request = review["request"]
        sizes = [request[which]["spec"].get("replicas", 0) for which in ("object", "oldObject")]
        if sizes[0] == sizes[1] or next(turns):
            return allow(review)
        status = {"code": 409, "reason": "Conflict", "message": "played"}
        return reviewed(review, allowed=False, status=status)

    server = place.espalier("flaky")
    await server.start()
    try:
        async with (
            serving(place.session, tmp_path_factory.mktemp("hooks")) as hooks,
            place.fleet("flaky") as fleet,
        ):
            await fleet.pool("p", (1, 1, 1))
            hooks.on("/flaky", answer)
            rule = hooks.rule(
                operations=["UPDATE"],
                apiGroups=["machine.sapcloud.io"],
                apiVersions=["v1alpha1"],
                resources=["machinesets"],
            )
            here = {"matchLabels": {"kubernetes.io/metadata.name": fleet.namespace}}
            hook = hooks.hook("/flaky", rules=[rule], namespaceSelector=here, objectSelector={})
            await hooks.configure("validating", hook)
            mark = fleet.mark()
            await roll(fleet, "p", 3)
            check(fleet, mark, "p", surge=1)
            assert len(hooks.requests("/flaky")) >= 6
    finally:
        await server.stop()


@asynccontextmanager
async def spread(servers: list[EspalierProcess]) -> AsyncIterator[int]:
    """Spread connections over servers in turn, as a Service does; return the port."""
    turns = count()
    open_writers: set[asyncio.StreamWriter] = set()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = servers[next(turns) % len(servers)]
        port = int(server.url.rpartition(":")[2])
        try:
            there, back = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        open_writers.update((writer, back))
        await asyncio.gather(pipe(reader, back), pipe(there, writer))
        open_writers.difference_update((writer, back))

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for writer in [*open_writers]:
            writer.close()


async def test_two_servers_one_of_which_gets_no_events_for_a_while(place: Site) -> None:
    async with open_proxy(place.server, place.folder, "held") as proxy:
        # The port that both advertise is known only once a server listens on it.
        servers: list[EspalierProcess] = []
        async with spread(servers) as port:
            url = f"--advertise-url=https://127.0.0.1:{port}"
            first = place.espalier("first", url)
            second = place.espalier("second", url, kubeconfig=proxy.kubeconfig)
            servers += [first, second]
            await asyncio.gather(first.start(), second.start())
            try:
                async with place.fleet("held") as fleet:
                    await fleet.pool("p", (2, 1, 1))
                    mark = fleet.mark()
                    async with asyncio.TaskGroup() as tasks:
                        holding = tasks.create_task(_hold_now_and_then(proxy))
                        await roll(fleet, "p", 4)
                        holding.cancel()
                    check(fleet, mark, "p", surge=1)
            finally:
                proxy.resume()
                await asyncio.gather(first.stop(), second.stop())


async def _hold_now_and_then(proxy: Proxy) -> None:
    while True:
        proxy.hold_watches()
        await asyncio.sleep(HELD_SECONDS)
        proxy.release_watches()
        await asyncio.sleep(1)


async def test_a_kill_after_every_write_of_a_roll_loses_and_passes_nothing(place: Site) -> None:
    """Each write kills once, however often it is retried; taking a permit is a write, too."""
    async with open_proxy(place.server, place.folder, "killed") as proxy:
        server = place.espalier("killed", *SHORT, kubeconfig=proxy.kubeconfig)
        await server.start()
        try:
            async with place.fleet("killed") as fleet:
                await fleet.pool("p", (1, 1, 1), bounds=(3, 6))
                mark, writes = fleet.mark(), _Writes(proxy, fleet)
                await fleet.roll("p", "second")
                await fleet.raise_to("p", 0, 2)
                kills = 0
                while kills < KILLS and await writes.next():
                    await server.kill()
                    kills += 1
                    await server.start()
                await fleet.until(
                    lambda: fleet.has_rolled("p", "second", 4), ROLL_SECONDS, "rolled in the end"
                )
                moments = list(fleet.since(mark, "p"))
                assert max(each.surge for each in moments) <= 1
                assert max(each.missing for each in moments) <= 1, "but for the one asked for"
                assert max(each.wanted for each in moments) == 4
                print(f"killed {kills} times, after {len(writes.known)} different writes")
        finally:
            await server.stop()


class _Writes:
    """The writes of a server about pools, each once however often it is retried."""

    def __init__(self, proxy: Proxy, fleet: Fleet) -> None:
        self._proxy = proxy
        self._fleet = fleet
        self._seen = len(proxy.calls)
        self.known: set[bytes] = set()

    async def next(self) -> bool:
        """Wait for a write that was not seen before; False if the roll has ended."""
        async with asyncio.timeout(ROLL_SECONDS):
            while not self._fleet.has_rolled("p", "second", 4):
                calls = self._proxy.calls[self._seen :]
                self._seen += len(calls)
                if new := {*map(_write_of, calls)} - {b""} - self.known:
                    self.known |= new
                    return True
                await asyncio.sleep(0.002)
        return False


def _write_of(call: Call) -> bytes:
    """Describe a write about pools without its times and versions; empty for other calls."""
    about = "machine" in call.path or b"espalier-pool" in call.path.encode() + call.body
    if not call.writes or not about:
        return b""
    return call.path.encode() + PASSING.sub(b"", call.body)
