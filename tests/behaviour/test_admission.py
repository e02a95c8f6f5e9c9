"""Policies as users meet them: kubectl against a running landscape, on both API servers.

Every policy is met on each side of its boundary, in one landscape for each server.
"""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.behaviour.policy_cases import (
    CHANGES,
    DELETIONS,
    DERIVED,
    GOOD,
    LATER,
    NAMESPACE,
    REFUSED,
    WARNED,
    Change,
    Refused,
    make_bare_managed_seed,
    make_infrastructure,
)
from tests.support.builders import make_shoot, make_worker
from tests.support.control_planes import require_parts
from webhook.admission.table import POLICIES
from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.scaling import Tortoise
from webhook.dev.planes.kubectl import Completed, Kubectl
from webhook.dev.planes.ports import free_port

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
    """Run a command of ours."""
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
        output = await kubectl("apply", "-f", "-", input=LATER)
        assert "Warning: scheduledscaling.rules: spec.targetRefs.tortoiseName" in output.stderr
        await check_derived(kubectl)
        await check_columns(kubectl)
        await in_parallel(check_refused(kubectl, each) for each in REFUSED)
        await in_parallel(check_change(kubectl, each) for each in CHANGES)
        for _policy, what, named in DELETIONS:
            refused = await answered(kubectl, "delete", *what)
            assert refused.code != 0, what
            assert named in refused.stderr, refused.stderr
        await check_confirmation(kubectl)
        await check_maintenance(kubectl)
        await check_weak_pools(kubectl)
        await check_finalizers(kubectl)
        for depth in (1_200, 5_000, 9_000):
            await check_depth(kubectl, depth)
        await check_commands(kubectl)


async def answered(kubectl: Kubectl, *arguments: str, **more: Any) -> Completed:
    """Run kubectl once: a webhook that does not answer in time is an outage, and a failure."""
    done = await kubectl(*arguments, check=False, **more)
    assert "failed calling webhook" not in done.stderr, (arguments, done.stderr)
    return done


async def in_parallel(checks: Iterable[Coroutine[Any, Any, None]]) -> None:
    turns = asyncio.Semaphore(_AT_ONCE)

    async def take_turn(check: Coroutine[Any, Any, None]) -> None:
        async with turns:
            await check

    async with asyncio.TaskGroup() as group:
        for check in checks:
            group.create_task(take_turn(check))


async def check_derived(kubectl: Kubectl) -> None:
    """Mutating policies store their defaults."""
    for _policy, what, path, expected in DERIVED:
        found = await kubectl("get", *what, "-o", f"jsonpath={path}")
        assert found.stdout == expected, (what, path, found.stdout)


async def check_columns(kubectl: Kubectl) -> None:
    """The columns also show the older spelling of a shoot's CloudProfile."""
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
    """A shoot with a maintenance operation gets the newest image that is no preview."""
    hosted = ("shoot", "guest", "-n", NAMESPACE)
    await kubectl("annotate", *hosted, f"{names.MAINTENANCE_TRIGGER}={names.MAINTENANCE}")
    raw = json.loads((await kubectl("get", *hosted, "-o", "json")).stdout)
    assert names.MAINTENANCE_TRIGGER not in raw["metadata"].get("annotations", {})
    [pool] = raw["spec"]["provider"]["workers"]
    assert pool["machine"]["image"] == {"name": "linux", "version": "2.1.0"}


async def check_weak_pools(kubectl: Kubectl) -> None:
    """A seed on a shoot with pools too small for control planes gets a warning."""
    weak = make_bare_managed_seed("weak")
    reported = await kubectl("create", "--dry-run=server", "-f", "-", input=weak)
    for role in ("etcd", "control planes"):
        assert f"no worker pool for {role} has at least 3 nodes" in reported.stderr
    strong = make_bare_managed_seed("narrow-shoot")
    reported = await kubectl("create", "--dry-run=server", "-f", "-", input=strong)
    assert "no worker pool" not in reported.stderr


async def check_finalizers(kubectl: Kubectl) -> None:
    """An object that is being deleted keeps its spec, but can always lose its finalizers."""
    held = ("infrastructures.extensions.gardener.cloud", "held", "-n", NAMESPACE)
    await kubectl("delete", *held, "--wait=false")
    there = json.dumps({"spec": {"region": "there"}})
    refused = await kubectl("patch", *held, "--type=merge", "-p", there, check=False)
    assert "spec: Forbidden" in refused.stderr
    freed = json.dumps({"metadata": {"finalizers": None}})
    await kubectl("patch", *held, "--type=merge", "-p", freed)
    await kubectl("wait", "--for=delete", "--timeout=90s", *held)


async def check_depth(kubectl: Kubectl, depth: int) -> None:
    """An object is refused at any depth, also one whose webhook may be ignored if it fails.

    The embedded server has evaluated CEL by now, in the conditions of the webhooks.
    """
    deep = '{"a":' * depth + "1" + "}" * depth
    infrastructure = make_infrastructure("deep", type="local", region="here")
    shoot = make_shoot("deep", NAMESPACE)
    shoot["spec"]["provider"]["infrastructureConfig"] = None
    infrastructure["spec"]["providerConfig"] = None
    for raw, field in (
        (infrastructure, "spec.providerConfig"),
        (shoot, "spec.provider.infrastructureConfig"),
    ):
        text = json.dumps(raw).replace("null", deep)
        plural = f"{raw['kind'].lower()}s"
        path = f"/apis/{raw['apiVersion']}/namespaces/{NAMESPACE}/{plural}"
        refused = await kubectl("create", "--raw", path, "-f", "-", input=text, check=False)
        assert refused.code != 0, (field, depth)
        assert field in refused.stderr, (depth, refused.stderr[-2000:])
        assert "nested deeper than 200 levels, flatten it" in refused.stderr
        assert "managedFields" not in refused.stderr


async def check_confirmation(kubectl: Kubectl) -> None:
    """Deleting without a confirmation gets a warning; a dry run deletes nothing."""
    hosted = ("shoot", "guest", "-n", NAMESPACE)
    output = await kubectl("delete", *hosted, "--dry-run=server")
    assert f"Warning: {WARNED}" in output.stderr
    await kubectl("annotate", *hosted, "confirmation.gardener.cloud/deletion=true")
    output = await kubectl("delete", *hosted, "--dry-run=server")
    assert "Warning" not in output.stderr
    assert (await kubectl("get", *hosted, "-o", "name")).stdout


async def check_commands(kubectl: Kubectl) -> None:
    """`check --cluster` finds what would be refused today, `fix worker-pools` repairs it."""
    server = f"--kubeconfig={kubectl.kubeconfig}"
    code, out, err = await run("check", "--cluster", server)
    assert (code, "0 refusals" in err) == (0, True), out
    # No policy applies in kube-system, so it can hold objects that are older than the rules.
    old = make_shoot("old", "kube-system", workers=[make_worker("wide", zones="abc", maximum=2)])
    await kubectl("create", "-f", "-", input=old)
    code, out, _ = await run("check", "--cluster", server, "-o", "json")
    assert code == 1
    found = [each for each in json.loads(out) if each["refused"]]
    expected = ("shoot.workers", "spec.provider.workers[0].maximum")
    assert [(each["policy"], each["field"]) for each in found] == [expected]
    code, out, err = await run("fix", "worker-pools", "--dry-run", server)
    assert (code, out) == (0, "kube-system/old: wide: 2 → 3\n")
    assert "1 would be repaired" in err
    shoot = ("get", "shoot", "old", "-n", "kube-system")
    path = ("-o", "jsonpath={.spec.provider.workers[0].maximum}")
    assert (await kubectl(*shoot, *path)).stdout == "2"
    code, _, err = await run("fix", "worker-pools", server)
    assert (code, "1 repaired, 0 failed" in err) == (0, True), err
    assert (await kubectl(*shoot, *path)).stdout == "3"
    assert (await run("check", "--cluster", server))[0] == 0


ELSEWHERE: Final = (Tortoise, HorizontalPodAutoscaler, MachineDeployment, MachineSet)
"""Kinds that others write; `test_scheduled_scaling` and `test_nodegroups` are about them."""


def test_every_row_of_the_table_is_met() -> None:
    met = {case.policy for cases in (REFUSED, CHANGES, DERIVED, DELETIONS) for case in cases}
    met.add(WARNED)
    assert met <= {policy.name for policy in POLICIES}
    # Policies that are off by default are compared with Gardener's own verdicts.
    assert {
        policy.name
        for policy in POLICIES
        if policy.mode != "off" and not {*policy.models} & {*ELSEWHERE}
    } <= met
