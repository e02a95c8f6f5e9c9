"""The short way in: the same answers as the ordinary one, byte for byte where it matters."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.unit.server.conftest import Bench, review
from webhook.admission.decision import Finding, Request
from webhook.admission.policy import Policy
from webhook.api.shoots import Shoot
from webhook.server import lane
from webhook.server.listeners import listening
from webhook.state.snapshot import Snapshot

PLAIN = (
    b"POST /validate?timeout=5s HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 12"
)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param(PLAIN, ("/validate", "timeout=5s", len(PLAIN) + 16), id="a plain request"),
        pytest.param(
            PLAIN.replace(b"?timeout=5s", b""),
            ("/validate", "", len(PLAIN) + 16 - len("?timeout=5s")),
            id="without a query",
        ),
        pytest.param(PLAIN.replace(b"POST", b"PUT"), None, id="another method"),
        pytest.param(PLAIN.replace(b"1.1", b"1.0"), None, id="an older protocol"),
        pytest.param(PLAIN.replace(b"json", b"yaml"), None, id="another type of body"),
        pytest.param(PLAIN.replace(b"12", b"-1"), None, id="a negative length"),
        pytest.param(PLAIN.replace(b"12", b"0x9"), None, id="a length that is no number"),
        pytest.param(PLAIN.replace(b"12", b"900000"), None, id="a large body"),
        pytest.param(PLAIN.replace(b"12", b""), None, id="no length"),
        pytest.param(PLAIN + b"\r\nContent-Length: 13", None, id="two lengths"),
        pytest.param(PLAIN + b"\r\nTransfer-Encoding: chunked", None, id="a body in chunks"),
        pytest.param(PLAIN + b"\r\nConnection: close", None, id="the last request"),
        pytest.param(PLAIN + b"\r\nExpect: 100-continue", None, id="a body that waits for a word"),
        pytest.param(PLAIN + b"\r\n folded: line", None, id="a folded header"),
        pytest.param(PLAIN + b"\r\nX: a\x00b", None, id="a header with a zero byte"),
        pytest.param(PLAIN + b"\r\nX: a\nY: b", None, id="a header with a bare line end"),
        pytest.param(PLAIN.replace(b"Host: localhost\r\n", b""), None, id="no host"),
        pytest.param(PLAIN.replace(b"/validate", b"/%76alidate"), None, id="an escaped path"),
    ],
)
def test_only_plain_requests_have_a_short_way(
    head: bytes, expected: tuple[str, str, int] | None
) -> None:
    assert lane.read_head(head) == expected


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

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self._reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers, body


@asynccontextmanager
async def connected(bench: Bench) -> AsyncIterator[Wire]:
    bench.policies = (
        Policy(
            name="shoot.test",
            models=(Shoot,),
            operations=("CREATE",),
            validate=needs,
            why="a test",
        ),
    )
    async with listening(bench.app(), "127.0.0.1", 0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield Wire(reader, writer)
        finally:
            writer.close()
            await writer.wait_closed()


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


async def test_answers_are_those_of_the_ordinary_way(bench: Bench) -> None:
    async with connected(bench) as wire:
        for name in ("good", "bad"):
            said = []
            for headers in ((), (b"Connection: keep-alive",)):
                wire.send(post(named(name), *headers))
                status, about, body = await wire.answer()
                assert about["content-type"] == "application/json"
                assert "date" in about
                said.append((status, json.loads(body)))
            assert said[0] == said[1]
            assert said[0][1]["response"]["allowed"] is (name == "good")
    assert bench.metric("requests_total", path="/validate", code="200") == 4


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
async def test_a_request_may_come_in_pieces(bench: Bench, size: int) -> None:
    async with connected(bench) as wire:
        for name in ("good", "bad", "good"):
            data = post(named(name))
            for start in range(0, len(data), size):
                wire.send(data[start : start + size])
                await asyncio.sleep(0)
            _, _, body = await wire.answer()
            assert json.loads(body)["response"]["allowed"] is (name == "good")


async def test_requests_that_come_together_are_answered_in_order(bench: Bench) -> None:
    async with connected(bench) as wire:
        wire.send(b"".join(post(named(name)) for name in ("good", "bad", "good")))
        said = [json.loads((await wire.answer())[2])["response"]["allowed"] for _ in range(3)]
        assert said == [True, False, True]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        pytest.param(post(b"{}"), 400, id="no review"),
        pytest.param(post(b"\xff\xff"), 400, id="no UTF-8"),
        pytest.param(post(named("asks")), 503, id="a question that nobody answers"),
        pytest.param(post({}, path=b"/nothing"), 404, id="no such path"),
        pytest.param(
            b"GET /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 405, id="a GET"
        ),
    ],
)
async def test_what_is_odd_goes_the_ordinary_way(
    bench: Bench, request_: bytes, status: int
) -> None:
    async with connected(bench) as wire:
        wire.send(post(named("good")))
        assert (await wire.answer())[0] == 200
        wire.send(request_)
        assert (await wire.answer())[0] == status
        wire.send(post(named("good")))
        assert (await wire.answer())[0] == 200


async def test_a_caller_that_stalls_meets_the_ordinary_deadline(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "HELD_SECONDS", 0.01)
    data = post(named("good")).replace(b"timeout=5s", b"timeout=20ms")
    async with connected(bench) as wire:
        wire.send(data[:-5])
        assert (await wire.answer())[0] == 503
        wire.send(data[-5:])  # aiohttp does not let go of a request before its end


async def test_while_draining_the_connection_is_closed(bench: Bench) -> None:
    async with connected(bench) as wire:
        bench.traffic.draining = True
        wire.send(post(named("good")))
        status, headers, _ = await wire.answer()
        assert (status, headers["connection"]) == (200, "close")


async def test_where_client_certificates_are_asked_for_there_is_no_short_way(bench: Bench) -> None:
    bench.authorities = b"some"
    assert not bench.app()[lane.LANES]
