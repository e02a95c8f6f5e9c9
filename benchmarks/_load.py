"""A client that costs as little as possible, so that the server is what is measured.

Run as a process: `python -m benchmarks._load PORT FOLDER SECONDS CONNECTIONS [update]`.
"""

import asyncio
import json
import os
import ssl
import sys
import time
from pathlib import Path
from typing import Any

import uvloop
from typing_extensions import override

from benchmarks._shoots import make_shoot

AUTHORITY_FILE = "ca.crt"
CLIENT_FILE = "client.pem"
SIZE = 8 * 1024


def make_review() -> bytes:
    """Return a review of a Shoot, of 8 KB altogether."""
    shoot = make_shoot(1)
    review: dict[str, Any] = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "core.gardener.cloud", "version": "v1beta1", "kind": "Shoot"},
            "resource": {
                "group": "core.gardener.cloud",
                "version": "v1beta1",
                "resource": "shoots",
            },
            "name": shoot["metadata"]["name"],
            "namespace": shoot["metadata"]["namespace"],
            "operation": "CREATE",
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": shoot,
            "oldObject": None,
            "dryRun": False,
        },
    }
    workers = shoot["spec"]["provider"]["workers"]
    while len(json.dumps(review)) < SIZE - 700:
        workers.append({**workers[0], "name": f"pool-{len(workers)}"})
    shoot["metadata"]["annotations"]["note"] = ""
    missing = SIZE - len(json.dumps(review))
    shoot["metadata"]["annotations"]["note"] = "x" * max(0, missing)
    return json.dumps(review).encode()


def make_update() -> bytes:
    """Return a review of an update of a Shoot, of 8 KB: another maximum for one of its pools."""
    review = json.loads(make_review())
    old = make_shoot(1)
    old["metadata"]["annotations"]["note"] = ""
    del old["status"]["conditions"][2:]  # two whole Shoots do not fit
    new = json.loads(json.dumps(old))
    new["spec"]["provider"]["workers"][0]["maximum"] += 1
    review["request"].update(operation="UPDATE", object=new, oldObject=old)
    missing = SIZE - len(json.dumps(review, separators=(",", ":")))
    new["metadata"]["annotations"]["note"] = "x" * missing
    return json.dumps(review, separators=(",", ":")).encode()


class Caller(asyncio.Protocol):
    """Sends the same request again as soon as it is answered."""

    def __init__(self, request: bytes, until: float) -> None:
        self._request = request
        self._until = until
        self._length = 0
        self._received = 0
        self.answers = 0
        self.waits: list[float] = []
        self._sent = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._sent = time.perf_counter()
        transport.write(self._request)

    @override
    def data_received(self, data: bytes) -> None:
        if self._length == 0:
            head, _, _ = data.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode())
            size = next(
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            )
            self._length = len(head) + 4 + size
        self._received += len(data)
        if self._received >= self._length:
            self._received = self._length = 0
            self.answers += 1
            now = time.perf_counter()
            self.waits.append(now - self._sent)
            if now < self._until:
                assert self._transport is not None
                self._sent = now
                self._transport.write(self._request)
            elif not self.done.done():
                self.done.set_result(None)

    @override
    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))


async def load(port: int, folder: Path, seconds: float, connections: int, body: bytes) -> None:
    head = (
        "POST /validate?timeout=5s HTTP/1.1\r\n"
        f"Host: localhost:{port}\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
        f"User-Agent: kube-apiserver-admission\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    context = ssl.create_default_context(cafile=str(folder / AUTHORITY_FILE))
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    callers = []
    for _ in range(connections):
        _, caller = await loop.create_connection(
            lambda: Caller(head.encode() + body, started + seconds),
            *("127.0.0.1", port),
            ssl=context,
            server_hostname="localhost",
        )
        callers.append(caller)
    await asyncio.gather(*(caller.done for caller in callers))
    elapsed = time.perf_counter() - started
    answers = sum(caller.answers for caller in callers)
    waits = sorted(wait for caller in callers for wait in caller.waits)
    p99 = round(waits[int(len(waits) * 0.99)] * 1000, 2)
    found = {"rate": answers / elapsed, "answers": answers, "bytes": len(body), "p99_ms": p99}
    print(json.dumps(found))


if __name__ == "__main__":
    if len(cores := sorted(os.sched_getaffinity(0))) > 1:
        os.sched_setaffinity(0, cores[1:2])
    port, folder, seconds, connections, *kind = sys.argv[1:]
    body = make_update() if kind == ["update"] else make_review()
    uvloop.run(load(int(port), Path(folder), float(seconds), int(connections), body))
