"""Policies as people meet them: kubectl against a living landscape, on both API servers.

Every row of the table is met on each side of its edge, in one landscape a server.
"""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.applying import (
    CHANGES,
    DELETIONS,
    DERIVED,
    GOOD,
    LATER,
    NAMESPACE,
    REFUSED,
    Change,
    Refused,
    make_bare_managed_seed,
)
from tests.builders import make_shoot, make_worker
from tests.planes import require_parts
from tests.waiting import eventually
from webhook.admission.table import POLICIES
from webhook.api import names
from webhook.planes.kubectl import Completed, Kubectl
from webhook.planes.ports import free_port

pytestmark = pytest.mark.timeout(480)

_AT_ONCE = 4


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
        async with asyncio.timeout(150):
            assert (await process.stdout.readline()).startswith(b"ready")
        yield Kubectl(directory / "kubeconfig")
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        async with asyncio.timeout(90):
            await process.wait()


async def run(*command: str) -> tuple[int, str, str]:
    """Run a command of ours to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "webhook", *command),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


@pytest.mark.parametrize("api", ["embedded", "kube-apiserver"])
async def test_the_table_through_kubectl(tmp_path: Path, api: str) -> None:
    require_parts("kubernetes")
    async with landscape(tmp_path / "landscape", api) as kubectl:
        await kubectl("apply", "-f", "-", input=GOOD)
        said = await kubectl("apply", "-f", "-", input=LATER)
        assert "Warning: scheduledscaling.rules: spec.targetRefs.tortoiseName" in said.stderr
        await check_derived(kubectl)
        await check_columns(kubectl)
        await in_parallel(check_refused(kubectl, each) for each in REFUSED)
        await in_parallel(check_change(kubectl, each) for each in CHANGES)
        for what, named in DELETIONS:
            refused = await answered(kubectl, "delete", *what)
            assert refused.code != 0, what
            assert named in refused.stderr, refused.stderr
        await check_confirmation(kubectl)
        await check_maintenance(kubectl)
        await check_weak_pools(kubectl)
        await check_finalizers(kubectl)
        await check_commands(kubectl)


async def answered(kubectl: Kubectl, *arguments: str, **more: Any) -> Completed:
    """Run kubectl to its end, again while webhooks were short of time and no rule has spoken."""

    async def answer() -> Completed | None:
        done = await kubectl(*arguments, check=False, **more)
        return None if "failed calling webhook" in done.stderr else done

    found: Completed = await eventually(answer, 90, 0.5)
    return found


async def in_parallel(checks: Iterable[Coroutine[Any, Any, None]]) -> None:
    turns = asyncio.Semaphore(_AT_ONCE)

    async def take_turn(check: Coroutine[Any, Any, None]) -> None:
        async with turns:
            await check

    async with asyncio.TaskGroup() as group:
        for check in checks:
            group.create_task(take_turn(check))


async def check_derived(kubectl: Kubectl) -> None:
    """What mutators fill in is stored."""
    for what, path, expected in DERIVED:
        found = await kubectl("get", *what, "-o", f"jsonpath={path}")
        assert found.stdout == expected, (what, path, found.stdout)


async def check_columns(kubectl: Kubectl) -> None:
    """The older spelling of a shoot's cloud profile is shown as well."""
    listed = (await kubectl("get", "shoots", "guest", "-n", NAMESPACE)).stdout.splitlines()
    assert dict(zip(listed[0].split(), listed[1].split(), strict=False))["CLOUDPROFILE"] == "local"


async def check_refused(kubectl: Kubectl, case: Refused) -> None:
    refused = await answered(kubectl, "apply", "-f", "-", input=case.raw)
    assert refused.code != 0, case
    assert case.named in refused.stderr, (case.policy, refused.stderr)


async def check_change(kubectl: Kubectl, change: Change) -> None:
    patch = json.dumps(change.patch)
    done = await answered(kubectl, "patch", *change.what, "--type=merge", "-p", patch)
    assert (done.code == 0) is not bool(change.named), (change, done.stderr)
    assert change.named in done.stderr, (change, done.stderr)


async def check_maintenance(kubectl: Kubectl) -> None:
    """A shoot whose maintenance is asked for gets the newest image that is no preview."""
    guest = ("shoot", "guest", "-n", NAMESPACE)
    await kubectl("annotate", *guest, f"{names.MAINTENANCE_TRIGGER}={names.MAINTENANCE}")
    raw = json.loads((await kubectl("get", *guest, "-o", "json")).stdout)
    assert names.MAINTENANCE_TRIGGER not in raw["metadata"].get("annotations", {})
    [pool] = raw["spec"]["provider"]["workers"]
    assert pool["machine"]["image"] == {"name": "linux", "version": "2.1.0"}


async def check_weak_pools(kubectl: Kubectl) -> None:
    """A seed on a shoot whose pools are too small for its control planes is warned about."""
    weak = make_bare_managed_seed("weak")
    told = await kubectl("create", "--dry-run=server", "-f", "-", input=weak)
    for role in ("etcd", "control planes"):
        assert f"no worker pool for {role} has at least 3 nodes" in told.stderr
    strong = make_bare_managed_seed("narrow-shoot")
    told = await kubectl("create", "--dry-run=server", "-f", "-", input=strong)
    assert "no worker pool" not in told.stderr


async def check_finalizers(kubectl: Kubectl) -> None:
    """What is being deleted keeps its spec, but may always lose its finalizers."""
    held = ("infrastructures.extensions.gardener.cloud", "held", "-n", NAMESPACE)
    await kubectl("delete", *held, "--wait=false")
    there = json.dumps({"spec": {"region": "there"}})
    refused = await kubectl("patch", *held, "--type=merge", "-p", there, check=False)
    assert "spec: Forbidden" in refused.stderr
    freed = json.dumps({"metadata": {"finalizers": None}})
    await kubectl("patch", *held, "--type=merge", "-p", freed)
    await kubectl("wait", "--for=delete", "--timeout=90s", *held)


async def check_confirmation(kubectl: Kubectl) -> None:
    """Deleting without a confirmation is warned about; a dry run deletes nothing."""
    guest = ("shoot", "guest", "-n", NAMESPACE)
    said = await kubectl("delete", *guest, "--dry-run=server")
    assert "Warning: shoot.confirmation" in said.stderr
    await kubectl("annotate", *guest, "confirmation.gardener.cloud/deletion=true")
    said = await kubectl("delete", *guest, "--dry-run=server")
    assert "Warning" not in said.stderr
    assert (await kubectl("get", *guest, "-o", "name")).stdout


async def check_commands(kubectl: Kubectl) -> None:
    """`check --cluster` finds what would be refused today, `fix worker-pools` mends it."""
    server = f"--kubeconfig={kubectl.kubeconfig}"
    code, out, err = await run("check", "--cluster", server)
    assert (code, "0 refusals" in err) == (0, True), out
    # Nobody judges what is in kube-system, so it holds what is older than the rules.
    old = make_shoot("old", "kube-system", workers=[make_worker("wide", zones="abc", maximum=2)])
    await kubectl("create", "-f", "-", input=old)
    code, out, _ = await run("check", "--cluster", server, "-o", "json")
    assert code == 1
    found = [each for each in json.loads(out) if each["refused"]]
    expected = ("shoot.workers", "spec.provider.workers[0].maximum")
    assert [(each["policy"], each["field"]) for each in found] == [expected]
    code, out, err = await run("fix", "worker-pools", "--dry-run", server)
    assert (code, out) == (0, "kube-system/old: wide: 2 → 3\n")
    assert "1 would be mended" in err
    shoot = ("get", "shoot", "old", "-n", "kube-system")
    path = ("-o", "jsonpath={.spec.provider.workers[0].maximum}")
    assert (await kubectl(*shoot, *path)).stdout == "2"
    code, _, err = await run("fix", "worker-pools", server)
    assert (code, "1 mended, 0 failed" in err) == (0, True), err
    assert (await kubectl(*shoot, *path)).stdout == "3"
    assert (await run("check", "--cluster", server))[0] == 0


def test_every_row_of_the_table_is_met() -> None:
    met = {case.policy for case in REFUSED} | {change.policy for change in CHANGES}
    met |= {"shoot.defaults", "seed.defaults", "managedseed.defaults", "managedseedset.defaults"}
    met |= {"seedautoscaler.defaults", "seed.deletion", "managedseed.deletion"}
    met |= {"shoot.confirmation"}
    # Off unless operators ask for them: these are compared with Gardener's own verdicts.
    met |= {"shoot.identity", "shoot.references", "shoot.binding", "shoot.finalizers"}
    met |= {"seed.status", "managedseed.status", "managedseedset.status"}
    # What is written into Tortoises and node groups, and beside a Gardener, has its own stories.
    others = ("tortoise.", "autoscaler.", "machinedeployment.", "machineset.", "shoot.scheduler")
    assert not {
        policy.name
        for policy in POLICIES
        if policy.name not in met and not policy.name.startswith(others)
    }
