"""`espalier dev`, tried as a newcomer would: with kubectl, and again after Ctrl-C."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.planes import require_parts
from webhook.planes.kubectl import Kubectl
from webhook.planes.ports import free_port

pytestmark = pytest.mark.timeout(240)

READY_SECONDS = 90


@asynccontextmanager
async def _dev(directory: Path, *flags: str) -> AsyncIterator[Kubectl]:
    """Run the command until the block ends, then press Ctrl-C."""
    ports = [f"--{name}={free_port()}" for name in ("api-port", "port", "http-port")]
    log = (directory.parent / "dev.log").open("ab")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "webhook", "dev", f"--dir={directory}", *ports, *flags),
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(READY_SECONDS):
            line = await process.stdout.readline()
        assert line.startswith(b"ready"), (directory.parent / "dev.log").read_text()
        yield Kubectl(directory / "kubeconfig")
    finally:
        log.close()
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            assert await process.wait() == 0


async def test_a_living_landscape_in_seconds_and_again_after_ctrl_c(tmp_path: Path) -> None:
    require_parts("kubernetes")
    async with _dev(tmp_path / "landscape") as kubectl:
        seeds = (await kubectl("get", "seeds")).stdout
        assert seeds.splitlines()[0].split()[:3] == ["NAME", "READY", "LAST"]
        await kubectl(
            *("wait", "shoots", "--all", "-n", "garden-alpha", "--timeout=60s"),
            "--for=jsonpath={.status.lastOperation.state}=Succeeded",
        )
        refused = await kubectl("delete", "seed", "gcp-eu2", check=False)
        assert refused.code != 0
        assert "gcp-eu2" in refused.stderr
        await kubectl("label", "shoot", "-n", "garden-alpha", "alpha-00", "kept=yes")
    async with _dev(tmp_path / "landscape") as kubectl:
        shoots = (await kubectl("get", "shoots", "-A", "-l", "kept=yes", "-o", "name")).stdout
        assert shoots.split() == ["shoot.core.gardener.cloud/alpha-00"]


async def test_a_port_in_use_is_named_with_the_remedy(tmp_path: Path) -> None:
    listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "webhook", "dev", f"--dir={tmp_path}", f"--port={port}"),
            *(f"--api-port={free_port()}", f"--http-port={free_port()}"),
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await process.communicate()
    assert process.returncode == 2
    assert f"port {port} cannot be used" in errors.decode()
    assert "--port" in errors.decode()


async def test_a_landscape_that_is_not_there_is_named(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "webhook", "dev", f"--dir={tmp_path}", "--landscape=nowhere.yaml"),
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert errors.decode().strip() == (
        "espalier dev: --landscape nowhere.yaml: no such file; use demo, empty or a file"
    )


async def test_the_demo_lives_on_a_real_gardener(tmp_path: Path) -> None:
    require_parts("etcd", "kubernetes", "gardener")
    async with _dev(tmp_path / "garden", "--api=gardener") as kubectl:
        # Ours, and one that gardener-scheduler places.
        for project, shoots in (("alpha", ("shoots", "--all")), ("gamma", ("shoot/gamma-00",))):
            await kubectl(
                *("wait", *shoots, "-n", f"garden-{project}", "--timeout=90s"),
                "--for=jsonpath={.status.lastOperation.state}=Succeeded",
                timeout=120,
            )
        described = (
            "jsonpath={.spec.schedulerName} {.metadata.labels.shoot\\.gardener\\.cloud/status}"
        )
        told = await kubectl("get", "shoot", "alpha-00", "-n", "garden-alpha", "-o", described)
        assert told.stdout.split()[0] == "espalier"
        await kubectl("wait", "--for=condition=SeedSystemComponentsHealthy", "seed/aws-eu1")
        refused = await kubectl(
            *("annotate", "shoot", "alpha-00", "-n", "garden-alpha"),
            "espalier.gardener.cloud/sizing-strategy=Greedy",
            check=False,
        )
        assert "sizing-strategy" in refused.stderr
