"""The fast path gives the same responses as aiohttp, in the same order."""

import asyncio
import inspect
import json
import re
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web

from tests.unit.server.conftest import Bench, review
from webhook.admission.decision import Finding, Request
from webhook.admission.policy import Policy
from webhook.api.shoots import Shoot
from webhook.server import aiohttp_connection, fastpath, listeners
from webhook.server.listeners import listening
from webhook.state.snapshot import Snapshot
from webhook.tls.authority import Authority, KeyPair
from webhook.tls.bundle import merge_certificates
from webhook.tls.serving import ServingContext, as_file

NOW = datetime.now(UTC)
GO_IDLE_SECONDS = 90.0
"""How long Go's HTTP client keeps an idle connection."""

PLAIN = (
    b"POST /validate?timeout=5s HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 12"
)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(PLAIN, ("/validate", "timeout=5s", 12, len(PLAIN) + 16), id="a plain request"),
        pytest.param(
            PLAIN.replace(b"?timeout=5s", b""),
            ("/validate", "", 12, len(PLAIN) + 16 - len("?timeout=5s")),
            id="without a query",
        ),
        pytest.param(PLAIN.replace(b"POST", b"PUT"), None, id="another method"),
        pytest.param(PLAIN.replace(b"1.1", b"1.0"), None, id="an older protocol"),
        pytest.param(PLAIN.replace(b"json", b"yaml"), None, id="another type of body"),
        pytest.param(PLAIN.replace(b"12", b"-1"), None, id="a negative length"),
        pytest.param(PLAIN.replace(b"12", b"0x9"), None, id="a length that is no number"),
        pytest.param(
            PLAIN.replace(b"12", b"900000"),
            ("/validate", "timeout=5s", 900_000, len(PLAIN) + 4 + 4 + 900_000),
            id="a large body",
        ),
        pytest.param(PLAIN.replace(b"12", b"90000000"), None, id="a length of eight digits"),
        pytest.param(PLAIN.replace(b"12", b""), None, id="no length"),
        pytest.param(PLAIN + b"\r\nContent-Length: 13", None, id="two lengths"),
        pytest.param(PLAIN + b"\r\nTransfer-Encoding: chunked", None, id="a body in chunks"),
        pytest.param(PLAIN + b"\r\nConnection: close", None, id="the last request"),
        pytest.param(PLAIN + b"\r\nExpect: 100-continue", None, id="a body that waits"),
        pytest.param(PLAIN + b"\r\n folded: line", None, id="a folded header"),
        pytest.param(PLAIN + b"\r\nX: a\x00b", None, id="a header with a zero byte"),
        pytest.param(PLAIN + b"\r\nX: a\nY: b", None, id="a header with a bare line end"),
        pytest.param(PLAIN.replace(b"Host: localhost\r\n", b""), None, id="no host"),
        pytest.param(PLAIN.replace(b"/validate", b"/%76alidate"), None, id="an escaped path"),
    ],
)
def test_only_the_head_of_a_plain_request_is_parsed(
    head: bytes, expected: tuple[str, str, int, int] | None
) -> None:
    found = fastpath.parse_head(head)
    assert (None if found is None else tuple(found)) == expected


def refuses(request: Request, _snapshot: Snapshot) -> Iterable[Finding]:
    if request.object_as(Shoot).name == "bad":
        yield Finding.forbidden("metadata.name", "choose another")


def needs(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    yield from refuses(request, snapshot)
    if request.object_as(Shoot).name == "asks":
        snapshot.look_up(Shoot, request.key)


class Wire:
    """A connection whose bytes the test sends itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer
        self.fast = 0
        """How many requests the fast path has answered."""

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)

    async def at_eof(self) -> bool:
        """Wait until the server closes the connection."""
        return await self._reader.read(1) == b""

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self._reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers, body


@asynccontextmanager
async def connected(
    bench: Bench,
    server_context: ssl.SSLContext | None = None,
    client_context: ssl.SSLContext | None = None,
) -> AsyncIterator[Wire]:
    bench.policies = (
        Policy(
            name="shoot.test",
            models=(Shoot,),
            operations=("CREATE",),
            validate=needs,
            why="a test",
        ),
    )
    app = bench.app()
    found: list[Wire] = []
    if fastpath.FAST_PATHS in app:
        app[fastpath.FAST_PATHS] = count_answers(app[fastpath.FAST_PATHS], found)
    async with listening(app, "127.0.0.1", 0, server_context) as port:
        name = "localhost" if client_context else None
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client_context, server_hostname=name
        )
        found.append(Wire(reader, writer))
        try:
            yield found[0]
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


def count_answers(paths: fastpath.FastPaths, wires: list[Wire]) -> fastpath.FastPaths:
    def count(handler: fastpath.FastHandler) -> fastpath.FastHandler:
        def counted(body: bytes, query: str) -> bytes | None:
            answer = handler(body, query)
            wires[0].fast += answer is not None
            return answer

        return counted

    return paths._replace(handlers={path: count(each) for path, each in paths.handlers.items()})


def post(document: Any, *headers: bytes, path: bytes = b"/validate") -> bytes:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    lines = [
        b"POST %b?timeout=5s HTTP/1.1" % path,
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        *headers,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def named(name: str) -> dict[str, Any]:
    shoot = {"metadata": {"namespace": "garden-core", "name": name}}
    return review(name=name, object=shoot)


async def test_responses_are_those_of_aiohttp(bench: Bench) -> None:
    async with connected(bench) as wire:
        for name in ("good", "bad"):
            responses = []
            for headers in ((), (b"Connection: keep-alive",)):
                wire.send(post(named(name), *headers))
                status, about, body = await wire.answer()
                assert about["content-type"] == "application/json"
                assert "date" in about
                responses.append((status, json.loads(body)))
            assert responses[0] == responses[1]
            assert responses[0][1]["response"]["allowed"] is (name == "good")
    assert bench.metric("requests_total", path="/validate", code="200") == 4


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
async def test_a_request_may_arrive_in_pieces(bench: Bench, size: int) -> None:
    async with connected(bench) as wire:
        for name in ("good", "bad", "good"):
            data = post(named(name))
            for start in range(0, len(data), size):
                wire.send(data[start : start + size])
                await asyncio.sleep(0)
            _, _, body = await wire.answer()
            assert json.loads(body)["response"]["allowed"] is (name == "good")


async def test_pipelined_requests_are_answered_in_order(bench: Bench) -> None:
    async with connected(bench) as wire:
        wire.send(b"".join(post(named(name)) for name in ("good", "bad", "good")))
        allowed = [json.loads((await wire.answer())[2])["response"]["allowed"] for _ in range(3)]
        assert allowed == [True, False, True]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        pytest.param(post(b"{}"), 400, id="no review"),
        pytest.param(post(b"\xff\xff"), 400, id="no UTF-8"),
        pytest.param(post(named("asks")), 503, id="a live read that fails"),
        pytest.param(post({}, path=b"/nothing"), 404, id="no such path"),
        pytest.param(
            b"GET /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 405, id="a GET"
        ),
    ],
)
async def test_other_requests_go_through_aiohttp(
    bench: Bench, request_: bytes, status: int
) -> None:
    async with connected(bench) as wire:
        wire.send(post(named("good")))
        assert (await wire.answer())[0] == 200
        wire.send(request_)
        assert (await wire.answer())[0] == status
        wire.send(post(named("good")))
        assert (await wire.answer())[0] == 200


async def test_an_incomplete_request_gets_the_deadline_of_aiohttp(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastpath, "COMPLETION_SECONDS", 0.01)
    data = post(named("good")).replace(b"timeout=5s", b"timeout=20ms")
    async with connected(bench) as wire:
        wire.send(data[:-5])
        assert (await wire.answer())[0] == 503
        wire.send(data[-5:])  # aiohttp reads a request to its end


async def test_while_draining_the_connection_is_closed(bench: Bench) -> None:
    async with connected(bench) as wire:
        bench.traffic.draining = True
        wire.send(post(named("good")))
        status, headers, _ = await wire.answer()
        assert (status, headers["connection"]) == (200, "close")


async def test_the_fast_path_can_be_turned_off(bench: Bench) -> None:
    bench.fast_path = False
    assert fastpath.FAST_PATHS not in bench.app()
    async with connected(bench) as wire:
        wire.send(post(named("good")))
        assert (await wire.answer())[0] == 200
        assert wire.fast == 0


def large(name: str) -> dict[str, Any]:
    shoot = {
        "metadata": {"namespace": "garden-core", "name": name},
        "spec": {"region": "r" * 2**18},
    }
    return review(name=name, object=shoot)


@pytest.mark.parametrize("size", [1000, 2**16, 2**20])
async def test_after_a_large_body_the_connection_returns_to_the_fast_path(
    bench: Bench, size: int
) -> None:
    async with connected(bench) as wire:
        for name in ("good", "bad"):
            data = post(large(name))
            for start in range(0, len(data), size):
                wire.send(data[start : start + size])
                await asyncio.sleep(0)
            status, _, body = await wire.answer()
            assert (status, json.loads(body)["response"]["allowed"]) == (200, name == "good")
            before = wire.fast
            wire.send(post(named(name)))
            assert json.loads((await wire.answer())[2])["response"]["allowed"] is (name == "good")
            assert wire.fast == before + 1


async def test_a_large_body_and_the_next_request_may_arrive_together(bench: Bench) -> None:
    async with connected(bench) as wire:
        data = post(large("good"))
        wire.send(data[:1000])
        await asyncio.sleep(0.01)
        wire.send(data[1000:] + post(named("bad")))
        allowed = [json.loads((await wire.answer())[2])["response"]["allowed"] for _ in range(2)]
        assert allowed == [True, False]


async def test_after_a_slow_request_the_connection_returns_to_the_fast_path(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastpath, "COMPLETION_SECONDS", 0.01)
    data = post(named("good"))
    async with connected(bench) as wire:
        wire.send(data[:-5])
        await asyncio.sleep(0.05)
        wire.send(data[-5:])
        assert (await wire.answer())[0] == 200
        assert wire.fast == 0
        wire.send(data)
        assert (await wire.answer())[0] == 200
        assert wire.fast == 1


SERVER, API, PEOPLE = (Authority.create(name, NOW) for name in ("server", "api", "people"))


@pytest.mark.parametrize(
    ("pair", "status", "is_fast"),
    [
        pytest.param(API.sign_client("kube-apiserver", NOW), 200, True, id="of the required CA"),
        pytest.param(PEOPLE.sign_client("alice", NOW), 401, False, id="of another CA"),
        pytest.param(None, 401, False, id="no certificate"),
    ],
)
async def test_with_mutual_tls_only_verified_clients_use_the_fast_path(
    bench: Bench, pair: KeyPair | None, status: int, is_fast: bool
) -> None:
    bench.authorities = API.certificate
    both = merge_certificates(API.certificate, PEOPLE.certificate)
    serving = ServingContext(SERVER.sign_server(["localhost"], NOW), both)
    client = ssl.create_default_context(cadata=SERVER.certificate.decode())
    if pair is not None:
        with as_file(pair.certificate) as certificate, as_file(pair.key) as key:
            client.load_cert_chain(certificate, key)
    async with connected(bench, serving.context, client) as wire:
        for _ in range(2):  # the first may arrive before aiohttp's task of the connection runs
            wire.send(post(named("good")))
            assert (await wire.answer())[0] == status
        assert bool(wire.fast) is is_fast


async def test_a_request_is_not_answered_before_an_earlier_one(bench: Bench) -> None:
    """The connection is not idle while aiohttp waits for a live read."""
    async with connected(bench) as wire:
        wire.send(post(named("asks")))
        await asyncio.sleep(0.01)
        bench.cache.release = asyncio.Event()
        wire.send(post(named("asks")))
        await asyncio.sleep(0.01)
        wire.send(post(named("good")))
        await asyncio.sleep(0.01)
        bench.cache.release.set()
        assert [(await wire.answer())[0] for _ in range(3)] == [503, 503, 200]


async def test_while_a_client_does_not_read_its_responses_aiohttp_limits_what_waits_for_it(
    bench: Bench,
) -> None:
    large_answer = review(uid="u" * 100_000)
    async with connected(bench) as wire:

        async def is_fast() -> bool:
            wire.send(post(large_answer))
            before = wire.fast
            for _ in range(50):
                await asyncio.sleep(0.002)
                if wire.fast > before:
                    return True
            return False

        sent = 1
        while await is_fast():
            sent += 1
            assert sent < 500, "the responses fill the memory of the server"
        assert [(await wire.answer())[0] for _ in range(sent)] == [200] * sent


async def test_overload_sheds_requests_of_the_fast_path(bench: Bench) -> None:
    async with connected(bench) as wire:
        bench.traffic.lag = 6.0
        wire.send(post(named("good")))
        status, headers, _ = await wire.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        bench.traffic.lag = 0.0
        wire.send(post(named("good")))
        assert (await wire.answer())[0] == 200
        assert wire.fast == 1
    assert bench.metric("requests_shed_total", path="/validate", reason="late") == 1


async def test_incomplete_requests_count_against_the_bytes_of_all_bodies(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastpath, "COMPLETION_SECONDS", 3600.0)
    budget = bench.traffic.bodies
    budget.limit = 1000
    async with connected(bench) as first:
        first.send(post(b"x" * 600)[:-1])
        async with connected(bench) as second:
            second.send(post(b"x" * 900)[:-1])
            assert (await second.answer())[0] == 503, "it does not wait for the rest"
        assert budget.used == len(post(b"x" * 600)) - 1
    await asyncio.sleep(0.01)
    assert budget.used == 0, "a connection that ends gives its bytes back"


@pytest.mark.parametrize("fast_path", [True, False])
async def test_idle_connections_are_closed_after_the_keep_alive_timeout(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fast_path: bool
) -> None:
    bench.fast_path = fast_path
    assert listeners.KEEP_ALIVE > GO_IDLE_SECONDS
    monkeypatch.setattr(listeners, "KEEP_ALIVE", 0.2)
    async with connected(bench) as wire:
        wire.send(post(named("good")))
        assert (await wire.answer())[0] == 200
        async with asyncio.timeout(5):
            assert await wire.at_eof()


async def test_an_answer_of_the_fast_path_restarts_the_keep_alive_timeout(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "KEEP_ALIVE", 0.6)
    async with connected(bench) as wire:
        for number in range(1, 4):
            await asyncio.sleep(0.4)
            wire.send(post(named("good")))
            assert (await wire.answer())[0] == 200
            assert wire.fast == number


def test_aiohttp_still_has_the_private_attributes_that_the_fast_path_uses() -> None:
    """If this fails after an update of aiohttp, adapt `aiohttp_connection` to the new names."""
    names = {name for each in web.RequestHandler.__mro__ for name in getattr(each, "__slots__", ())}
    assert set(aiohttp_connection.PRIVATE) <= names
    used = re.findall(r"self\.(_\w+)", inspect.getsource(aiohttp_connection))
    assert set(used) == set(aiohttp_connection.PRIVATE)
    own = {*fastpath.FastPathConnection.__slots__, *vars(fastpath.FastPathConnection)}
    used = re.findall(r"self\.(_\w+)", inspect.getsource(fastpath))
    assert set(used) <= own, "only aiohttp_connection uses private attributes of aiohttp"
