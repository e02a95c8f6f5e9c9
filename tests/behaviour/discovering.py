"""What tests of discovery do to clusters, and how they look at what became of it."""

import argparse
import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.behaviour import twins
from tests.gardening import Beside, make_set, ready_seed
from tests.machines import make_deployment
from webhook.cli.dev.server import Server

HOOKS = ("mutatingwebhookconfiguration/espalier", "validatingwebhookconfiguration/espalier")


def command(module: Any, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str, str]:
    """Run a command of ours in this process."""
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    code = module.run(parser.parse_args(flags))
    return code, *capsys.readouterr()


async def said_since(server: Server, before: int) -> str:
    return (await asyncio.to_thread(server.log.read_text))[before:]


async def length(server: Server) -> int:
    return len(await asyncio.to_thread(server.log.read_text))


async def readiness(server: Server) -> str:
    address = f"{server.plain_url}/readyz?verbose"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return await answer.text()


async def hooks(kubectl: Any) -> list[dict[str, Any]]:
    """Give all our webhooks, without the one about sets of machines, which is closed by design."""
    found = json.loads((await kubectl("get", *HOOKS, "-o", "json")).stdout)
    every = [each for item in found["items"] for each in item.get("webhooks") or ()]
    return [each for each in every if not each["name"].startswith("machinesets.")]


def is_beside(webhooks: list[dict[str, Any]]) -> bool:
    """Tell whether webhooks are those beside a Gardener: open, and none of them for deletions."""
    deletions = any(".delete." in each["name"] for each in webhooks)
    return {each["failurePolicy"] for each in webhooks} == {"Ignore"} and not deletions


def make_pool(namespace: str) -> list[dict[str, Any]]:
    """A pool of two zones as an extension's actuator leaves it, in a namespace of its own."""
    zones = []
    for zone in range(2):
        found = make_deployment(namespace=namespace, zone=zone, replicas=0, bounds=None)
        for field in ("uid", "resourceVersion", "generation"):
            del found["metadata"][field]
        zones.append(found)
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, *zones]


async def drift(beside: Beside, name: str) -> None:
    """Have Gardener make a set of one, then change its template, which Gardener never rolls."""
    await ready_seed(beside, f"{name}-parent")
    await beside.kubectl("create", "-f", "-", input=make_set(f"{name}-d", f"{name}-parent", 1))
    made = ("--for=jsonpath={.status.readyReplicas}=1", "--timeout=120s")
    await beside.kubectl("wait", *made, f"managedseedset/{name}-d", "-n", "garden")
    pool = "/spec/shootTemplate/spec/provider/workers/0/labels"
    change = json.dumps([{"op": "add", "path": pool, "value": {"drifted": "yes"}}])
    where = ("managedseedset", f"{name}-d", "-n", "garden", "--type=json", "-p", change)
    await beside.kubectl("patch", *where)


async def look(beside: Beside, name: str) -> dict[str, dict[str, Any]]:
    """Read all that bears a name, of every kind that Espalier writes on somewhere."""
    kinds = ",".join((*twins.KINDS, "namespaces", "machinedeployments.machine.sapcloud.io"))
    found = await beside.get(kinds, "-A", "--show-managed-fields")
    return {
        f"{each['kind']}/{each['metadata']['name']}": each
        for each in found["items"]
        if name in each["metadata"]["name"]
    }


def written(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Name who has written on an object in between; `?` for what nobody signed."""
    if before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]:
        return set()
    known = before["metadata"]["managedFields"]
    fresh = [each for each in after["metadata"]["managedFields"] if each not in known]
    return {each["manager"] for each in fresh} or {"?"}


def asked(raw: dict[str, Any]) -> Any:
    """Give what people and we write of an object, without its status."""
    kept = ("labels", "annotations", "finalizers", "ownerReferences")
    return raw.get("spec"), {key: raw["metadata"].get(key) for key in kept}


async def has_looked(server: Server) -> bool:
    """Tell whether every controller that has something to look at has looked at all of it."""
    address = f"{server.plain_url}/metrics"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        text = await answer.text()
    looked = {*re.findall(r'^espalier_reconciles_total\{controller="([^"]+)"', text, re.MULTILINE)}
    waiting = re.findall(r"^espalier_queue_depth\{.*\} (\S+)$", text, re.MULTILINE)
    rows = {"pools.fields", "managedseedset.rollout", "managedseed", "capacity", "pools.namespace"}
    return rows <= looked and not any(map(float, waiting))


@asynccontextmanager
async def without_apiservice(beside: Beside, name: str) -> AsyncIterator[None]:
    """Take an APIService away for a while.

    The garbage collector would take its objects for gone, and delete what belongs to them: the
    namespaces of projects. So it sleeps meanwhile, and Gardener's controllers do.
    """
    plane = beside.plane
    asleep = (plane.controller_manager, plane.gardener_controller_manager)
    found = await beside.get("apiservice", name)
    metadata = {"name": name, "labels": found["metadata"].get("labels") or {}}
    again = {**found, "metadata": metadata, "status": {}}
    for process in asleep:
        process.pause()
    await beside.kubectl("delete", "apiservice", name)
    try:
        yield
    finally:
        await beside.kubectl("create", "-f", "-", input=again)
        ready = ("--for=condition=Available", "--timeout=60s")
        await beside.kubectl("wait", *ready, f"apiservice/{name}")
        for process in asleep:
            process.resume()


def make_apiservice(group: str, version: str) -> dict[str, Any]:
    """Register a server that is not there, as a Gardener that still starts does."""
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}"},
        "spec": {
            "group": group,
            "version": version,
            "service": {"name": "gardener-apiserver", "namespace": "garden", "port": 443},
            "insecureSkipTLSVerify": True,
            "groupPriorityMinimum": 9000,
            "versionPriority": 20,
        },
    }
