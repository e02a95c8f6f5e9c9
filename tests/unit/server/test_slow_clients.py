"""Slow, silent and rude clients: they take a bounded share, and are no bugs of ours."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from tests.support.waits import eventually
from tests.unit.server.conftest import Bench, review
from tests.unit.server.test_fastpath import Wire, post
from webhook.admission.table import POLICIES
from webhook.cli.install.generate import workload
from webhook.kube.quantity import parse
from webhook.server import bodies, connection, fastpath
from webhook.server.bodies import BodyBudget, HeldBody
from webhook.server.listeners import listening
from webhook.settings import load

LIMIT = 1_000_000
SIZE = 400_000

pytestmark = pytest.mark.parametrize("fast_path", [True, False], ids=["fast path", "ordinary"])


class Server:
    """A server to which a test opens connections."""

    def __init__(self, bench: Bench, port: int, stack: AsyncExitStack) -> None:
        self.bench, self._port, self._stack = bench, port, stack
        self._wires: list[Wire] = []

    async def connect(self, *sent: bytes) -> Wire:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._stack.callback(writer.transport.abort)
        wire = Wire(reader, writer)
        wire.send(*sent)
        self._wires.append(wire)
        return wire

    async def half_body(self, size: int = SIZE) -> Wire:
        return await self.connect(post(b"x" * size)[:-1])

    async def until_used(self, used: int) -> None:
        async def is_used() -> bool:
            return self.bench.traffic.bodies.used == used

        await eventually(is_used, 10)

    async def counted(self, name: str, number: int, **labels: str) -> None:
        async def is_counted() -> bool:
            return self.bench.metric(name, **labels) == number

        await eventually(is_counted, 10)


@pytest.fixture
async def server(
    bench: Bench, fast_path: bool, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Server]:
    monkeypatch.setattr(fastpath, "COMPLETION_SECONDS", 0.01)
    async with opened(bench, fast_path) as server:
        yield server


@asynccontextmanager
async def opened(bench: Bench, fast_path: bool) -> AsyncIterator[Server]:
    bench.fast_path = fast_path
    bench.traffic.bodies.limit = LIMIT
    async with (
        listening(bench.app(), "127.0.0.1", 0) as port,
        AsyncExitStack() as stack,
    ):
        yield Server(bench, port, stack)


async def test_the_body_that_arrives_for_the_longest_time_gives_way(server: Server) -> None:
    first, second = await server.half_body(), await server.half_body()
    await server.until_used(2 * (SIZE - 1))
    third = await server.half_body()
    status, headers, _ = await first.answer()
    assert (status, headers["retry-after"]) == (503, "1")
    await server.until_used(2 * (SIZE - 1))
    for wire in (second, third):
        wire.send(b"x")
        assert (await wire.answer())[0] == 400, "it is read to its end and is no review"
    await server.until_used(0)
    assert server.bench.metric("requests_shed_total", path="/validate", reason="bytes") == 1


async def test_small_reviews_are_answered_while_the_budget_is_full(server: Server) -> None:
    for _ in range(5):
        await server.half_body()
    wire = await server.connect(post(review()))
    assert (await wire.answer())[0] == 200


async def test_slow_bodies_do_not_count_as_requests_in_flight(server: Server) -> None:
    server.bench.traffic._limit = 2
    for _ in range(5):
        await server.half_body(1000)

    async def all_arrive() -> bool:
        return server.bench.traffic.bodies.arriving == 5

    await eventually(all_arrive, 10)
    wire = await server.connect(post(review()))
    assert (await wire.answer())[0] == 200


async def test_a_body_has_a_deadline(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.05)
    wire = await server.half_body()
    status, headers, _ = await wire.answer()
    assert (status, headers["retry-after"]) == (503, "1")
    await server.until_used(0)
    await server.counted("incomplete_requests_total", 1, reason="late-body")


async def test_a_hang_up_returns_its_bytes_and_is_no_bug(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    wire = await server.half_body()
    await server.until_used(SIZE - 1)
    wire.writer.transport.abort()
    await server.counted("incomplete_requests_total", 1, reason="hung-up")
    await server.until_used(0)
    assert server.bench.metric("panics_total", path="/validate") == 0
    assert server.bench.metric("requests_total", path="/validate", code="500") == 0
    assert caplog.records == []


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"nonsense\r\n\r\n", id="no request line"),
        pytest.param(b"POST /validate HTTP/1.1\r\nno colon\r\n\r\n", id="a malformed header"),
        pytest.param(
            b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nno size\r\n",
            id="a malformed chunk",
        ),
    ],
)
async def test_malformed_http_is_counted_without_a_traceback(
    server: Server, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    wire = await server.connect(sent)
    assert (await wire.answer())[0] == 400
    await server.counted("incomplete_requests_total", 1, reason="malformed")
    assert server.bench.metric("panics_total", path="/validate") == 0
    assert caplog.records == []


async def test_a_head_has_a_deadline_and_an_idle_connection_has_none(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)
    idle = await server.connect(post(review()))
    assert (await idle.answer())[0] == 200
    silent = await server.connect()
    slow = [await server.connect(b"POST /validate HTTP/1.1\r\nHost: a\r\n") for _ in range(3)]
    async with asyncio.timeout(5):
        for wire in slow:
            assert await wire.at_eof()
    assert server.bench.metric("incomplete_requests_total", reason="late-head") == 3
    for wire in (idle, silent):
        wire.send(post(review()))
        assert (await wire.answer())[0] == 200


async def test_a_head_that_never_ends_is_rejected_by_its_size(server: Server) -> None:
    wire = await server.connect(b"POST /validate HTTP/1.1\r\n")
    async with asyncio.timeout(5):
        for number in range(2000):
            wire.send(b"X-%d: %b\r\n" % (number, b"x" * 1000))
            await asyncio.sleep(0)
            if wire.writer.transport.is_closing():
                break
        try:
            await wire._reader.read()
        except ConnectionError:
            return


async def test_the_connection_that_is_idle_for_the_longest_time_gives_way(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 3)
    wires = []
    for _ in range(3):
        wire = await server.connect(post(review()))
        assert (await wire.answer())[0] == 200
        wires.append(wire)
    wires[0].send(post(review()))
    assert (await wires[0].answer())[0] == 200
    newest = await server.connect(post(review()))
    assert (await newest.answer())[0] == 200
    async with asyncio.timeout(5):
        assert await wires[1].at_eof()
    for wire in (wires[0], wires[2]):
        wire.send(post(review()))
        assert (await wire.answer())[0] == 200


async def test_compressed_bodies_are_not_expanded(server: Server) -> None:
    wire = await server.connect(post(b"{}", b"Content-Encoding: gzip"))
    status, _, body = await wire.answer()
    assert (status, b"without Content-Encoding" in body) == (400, True)


async def test_one_large_body_waits_for_its_turn_after_another(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits, small reviews are answered."""
    pacing = server.bench.traffic.pacing
    monkeypatch.setattr("webhook.server.pacing.LARGE", 2**17)
    with pacing.working(2**17):
        pass
    pacing._free_at += 3600.0
    shoot = {"metadata": {"namespace": "garden-core", "name": "one"}, "spec": {"x": "y" * 2**18}}
    large = post(review(object=shoot)).replace(b"timeout=5s", b"timeout=1s")
    waiting = await server.connect(large)
    small = await server.connect(post(review()))
    assert (await small.answer())[0] == 200
    assert (await waiting.answer())[0] == 503
    pacing._free_at = 0.0
    again = await server.connect(large)
    assert (await again.answer())[0] == 200


async def test_a_body_may_give_way_at_the_moment_of_its_deadline(fast_path: bool) -> None:
    budget, late = BodyBudget(10), HeldBody()

    async def arrive() -> None:
        async with asyncio.timeout(0) as timeout:
            budget.begin(late, timeout)
            budget.take(late, 8)
            try:
                await asyncio.sleep(60)
            finally:
                budget.take(HeldBody(), 8)

    with pytest.raises(TimeoutError):
        await arrive()
    assert late.was_evicted


def test_the_default_is_an_eighth_of_the_memory_limit(fast_path: bool) -> None:
    limit = workload.MEMORY_LIMIT
    assert load({}).max_body_bytes == parse(limit) // 8 == BodyBudget().limit


@pytest.mark.parametrize("depth", [1_200, 5_000, 9_000])
async def test_deep_objects_are_refused_with_200(bench: Bench, fast_path: bool, depth: int) -> None:
    bench.policies = POLICIES
    marked = json.dumps(review(object={"metadata": {"name": "one"}, "spec": {"x": "HERE"}}))
    deep = '{"a":' * depth + "1" + "}" * depth
    async with opened(bench, fast_path) as server:
        wire = await server.connect(post(marked.replace('"HERE"', deep).encode()))
        status, _, body = await wire.answer()
    answer = json.loads(body)["response"]
    assert (status, answer["uid"]) == (200, "705ab4f5-6393-11e8-b7cc-42010a800002")
    assert [each["field"] for each in answer["status"]["details"]["causes"]] == ["spec.x.a"]
