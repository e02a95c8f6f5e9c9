"""A child process is started until it is ready, stopped, and its exit is reported."""

import asyncio
import os

import pytest

from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.plane import Plane
from webhook.dev.planes.ports import free_port
from webhook.dev.planes.probe import answers_ok
from webhook.dev.planes.process import Launch, Process

SERVER = """
import http.server, signal, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

if "ignore-sigterm" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("serving", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
FAILURE = """
import sys
sys.exit("\\n".join(f"line {number}" for number in range(100)))
"""


@pytest.fixture
def server(tmp_path, install):
    install("etcd", SERVER)
    return make_server(tmp_path)


def make_server(directory, *arguments: str) -> Process:
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    return Process("etcd", directory, lambda: Launch([str(port), *arguments], url))


def url_of(server: Process) -> str:
    return server._launch().ready_url


async def test_a_server_runs_from_its_readiness_until_it_is_stopped(server):
    await server.start()
    assert server.is_running
    assert await answers_ok(url_of(server), None)
    await server.stop()
    assert not server.is_running
    assert not await answers_ok(url_of(server), None)
    assert server.log.read_text().startswith("serving\n")


async def test_a_server_has_its_own_session_so_that_ctrl_c_does_not_reach_it(server):
    await server.start()
    assert os.getsid(server.pid) == server.pid != os.getsid(0)
    await server.stop()


async def test_a_server_that_ignores_sigterm_is_killed(tmp_path, install):
    install("etcd", SERVER)
    server = make_server(tmp_path, "ignore-sigterm")
    await server.start()
    await server.stop(grace=0.1)
    assert server.exit_code == -9


async def test_a_paused_server_answers_again_once_resumed(server):
    await server.start()
    server.pause()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            assert not await answers_ok(url_of(server), None)
    server.resume()
    assert await answers_ok(url_of(server), None)
    await server.kill()


async def test_a_paused_server_can_be_stopped(server):
    await server.start()
    server.pause()
    await server.stop()
    assert server.exit_code == -15


async def test_a_restarted_server_is_another_process_on_the_same_port(server):
    await server.start()
    before = server.pid
    await server.restart()
    assert server.pid != before
    assert await answers_ok(url_of(server), None)
    await server.kill()


async def test_a_server_is_not_started_twice(server):
    await server.start()
    with pytest.raises(PlaneError, match="etcd is already running"):
        await server.start()
    await server.kill()


async def test_stopping_a_stopped_server_is_allowed_but_pausing_it_is_an_error(server):
    await server.stop()
    await server.kill()
    with pytest.raises(PlaneError, match="etcd is not running"):
        server.pause()


async def test_a_server_that_exits_at_its_start_is_reported_with_its_last_lines(tmp_path, install):
    install("etcd", FAILURE)
    server = make_server(tmp_path)
    with pytest.raises(PlaneError) as raised:
        await server.start()
    lines = str(raised.value).splitlines()
    assert lines[0] == f"etcd exited with code 1; its log {server.log} ends with:"
    assert lines[1:] == [f"  line {number}" for number in range(80, 100)]


async def test_a_cancelled_start_leaves_no_process(tmp_path, install):
    install("etcd", "import time; time.sleep(60)")
    server = make_server(tmp_path)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await server.start()
    assert not server.is_running


async def test_a_binary_that_is_not_built_is_reported_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("ESPALIER_CACHE", str(tmp_path))
    with pytest.raises(PlaneError, match="etcd is not built: run `make real`"):
        await make_server(tmp_path).start()


async def test_a_plane_starts_in_order_and_stops_in_reverse(tmp_path, install):
    install("etcd", SERVER)
    first, second = make_server(tmp_path / "1"), make_server(tmp_path / "2")
    plane = Plane(tmp_path)
    seen = []

    async def record() -> None:
        seen.append((first.is_running, second.is_running))

    plane.steps = [first, record, second]
    async with plane:
        await record()
        assert plane.processes == [first, second]
    await record()
    assert seen == [(True, False), (True, True), (False, False)]


async def test_a_plane_with_a_failing_step_leaves_no_process(tmp_path, install):
    install("etcd", SERVER)
    server = make_server(tmp_path)
    plane = Plane(tmp_path)

    async def fail() -> None:
        raise PlaneError("no")

    plane.steps = [server, fail]
    with pytest.raises(PlaneError, match="no"):
        await plane.start()
    assert not server.is_running


async def test_supervision_raises_when_a_process_exits_by_itself(server):
    plane = Plane(server.directory)
    plane.steps = [server]
    async with plane:
        os.kill(server.pid, 15)
        with pytest.raises(PlaneError, match="etcd exited with code -15"):
            await asyncio.wait_for(plane.supervise(), 5)


def test_no_port_is_returned_twice():
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    assert all(20_000 <= port < 32_768 for port in ports)
