"""Policies as people meet them: kubectl apply against a living landscape, on both API servers."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders import (
    CORE,
    make_cloud_profile,
    make_managed_seed,
    make_managed_seed_set,
    make_object,
    make_seed,
    make_seed_shoot,
    make_shoot,
    make_worker,
    merged,
)
from tests.planes import require_parts
from webhook.planes.kubectl import Kubectl
from webhook.planes.ports import free_port

pytestmark = pytest.mark.timeout(300)

NAMESPACE = "garden-dev"


@asynccontextmanager
async def landscape(directory: Path, api: str) -> AsyncIterator[Kubectl]:
    """Run `espalier dev` with an empty landscape until the block ends."""
    ports = [f"--{name}={free_port()}" for name in ("api-port", "port", "http-port")]
    flags = (f"--dir={directory}", f"--api={api}", "--landscape=empty", "--no-local-provider")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "webhook", "dev", *flags, *ports),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(120):
            assert (await process.stdout.readline()).startswith(b"ready")
        yield Kubectl(directory / "kubeconfig")
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        async with asyncio.timeout(30):
            await process.wait()


def namespace(name: str) -> dict[str, Any]:
    return make_object("v1", "Namespace", name)


GOOD = [
    namespace(NAMESPACE),
    namespace("garden"),
    make_cloud_profile(),
    make_seed("host"),
    make_seed_shoot(),
    make_managed_seed(),
    make_managed_seed_set(),
    make_shoot("guest", NAMESPACE, spec={"seedName": "host"}),
]
HIGH = {"kubernetes": {"controlPlane": {"highAvailability": {"enabled": True}}}}
BAD = [
    (make_shoot("a", NAMESPACE, workers=[make_worker(zones="abc", maximum=2)]), "maximum"),
    (make_shoot("a", NAMESPACE, spec=HIGH), "highAvailability.type"),
    (
        make_shoot(
            "a", NAMESPACE, spec={"kubernetes": {"clusterAutoscaler": {"sizingStrategy": "x"}}}
        ),
        "sizingStrategy",
    ),
    (make_shoot("a", NAMESPACE, spec={"seedName": "nowhere"}), "spec.seedName"),
    (make_seed("b", spec={"networks": {"pods": "10.1.0.0/16"}}), "spec.networks.pods"),
    (merged(make_managed_seed(), {"metadata": {"name": "other"}}), "spec.shoot.name"),
    (
        merged(make_managed_seed_set("s"), {"spec": {"updateStrategy": {"type": "OnDelete"}}}),
        "spec.updateStrategy.type",
    ),
    (make_object(CORE, "Seed", "c"), "spec"),
]


@pytest.mark.parametrize("api", ["embedded", "kube-apiserver"])
async def test_the_table_through_kubectl(tmp_path: Path, api: str) -> None:
    require_parts("kubernetes")
    async with landscape(tmp_path / "landscape", api) as kubectl:
        for raw in GOOD:
            await kubectl("apply", "-f", "-", input=json.dumps(raw))
        for raw, named in BAD:
            refused = await kubectl("apply", "-f", "-", input=json.dumps(raw), check=False)
            assert refused.code != 0, raw
            assert named in refused.stderr, refused.stderr
        purpose = await kubectl(
            *("get", "shoot", "guest", "-n", NAMESPACE, "-o", "jsonpath={.spec.purpose}")
        )
        assert purpose.stdout == "evaluation"
        for what in (("seed", "host"), ("shoot", "seed", "-n", "garden")):
            refused = await kubectl("delete", *what, "--wait=false", check=False)
            assert refused.code != 0, what
