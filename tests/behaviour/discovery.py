"""Changes to clusters for tests of discovery, and reads of their effects."""

import argparse
import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.behaviour import object_pairs
from tests.support.garden_cluster import GardenCluster, make_set, ready_seed
from tests.support.machine_objects import make_deployment
from webhook.dev.server import EspalierProcess

HOOKS = ("mutatingwebhookconfiguration/espalier", "validatingwebhookconfiguration/espalier")


def command(module: Any, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str, str]:
    """Run a command of ours in this process."""
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    code = module.run(parser.parse_args(flags))
    return code, *capsys.readouterr()


async def logged_since(server: EspalierProcess, before: int) -> str:
    return (await asyncio.to_thread(server.log.read_text))[before:]


async def length(server: EspalierProcess) -> int:
    return len(await asyncio.to_thread(server.log.read_text))


async def readiness(server: EspalierProcess) -> str:
    address = f"{server.http_url}/readyz?verbose"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return await answer.text()


async def hooks(kubectl: Any) -> list[dict[str, Any]]:
    """Return all our webhooks but the one about MachineSets, which fails closed by design."""
    found = json.loads((await kubectl("get", *HOOKS, "-o", "json")).stdout)
    every = [each for item in found["items"] for each in item.get("webhooks") or ()]
    return [each for each in every if not each["name"].startswith("machinesets.")]


def is_beside_gardener(webhooks: list[dict[str, Any]]) -> bool:
    """Return whether webhooks are those beside a Gardener: fail open, none for deletions."""
    deletions = any(".delete." in each["name"] for each in webhooks)
    return {each["failurePolicy"] for each in webhooks} == {"Ignore"} and not deletions


def make_pool(namespace: str) -> list[dict[str, Any]]:
    """A pool of two zones as the worker actuator of an extension creates it, in a new namespace."""
    zones = []
    for zone in range(2):
        found = make_deployment(namespace=namespace, zone=zone, replicas=0, bounds=None)
        for field in ("uid", "resourceVersion", "generation"):
            del found["metadata"][field]
        zones.append(found)
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, *zones]


async def drift(gardener: GardenCluster, name: str) -> None:
    """Let Gardener create a set of one, then change its template, which Gardener never rolls."""
    await ready_seed(gardener, f"{name}-parent")
    await gardener.kubectl("create", "-f", "-", input=make_set(f"{name}-d", f"{name}-parent", 1))
    made = ("--for=jsonpath={.status.readyReplicas}=1", "--timeout=120s")
    await gardener.kubectl("wait", *made, f"managedseedset/{name}-d", "-n", "garden")
    pool = "/spec/shootTemplate/spec/provider/workers/0/labels"
    change = json.dumps([{"op": "add", "path": pool, "value": {"drifted": "yes"}}])
    where = ("managedseedset", f"{name}-d", "-n", "garden", "--type=json", "-p", change)
    await gardener.kubectl("patch", *where)


async def read_objects(gardener: GardenCluster, name: str) -> dict[str, dict[str, Any]]:
    """Return all objects with a name, of every kind that Espalier writes."""
    kinds = ",".join((*object_pairs.KINDS, "namespaces", "machinedeployments.machine.sapcloud.io"))
    found = await gardener.get(kinds, "-A", "--show-managed-fields")
    return {
        f"{each['kind']}/{each['metadata']['name']}": each
        for each in found["items"]
        if name in each["metadata"]["name"]
    }


def written(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Return the field managers that wrote an object in between; `?` for an unsigned write."""
    if before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]:
        return set()
    known = before["metadata"]["managedFields"]
    fresh = [each for each in after["metadata"]["managedFields"] if each not in known]
    return {each["manager"] for each in fresh} or {"?"}


def desired(raw: dict[str, Any]) -> Any:
    """Return what users and Espalier write of an object, without its status."""
    kept = ("labels", "annotations", "finalizers", "ownerReferences")
    return raw.get("spec"), {key: raw["metadata"].get(key) for key in kept}


async def has_reconciled_all(server: EspalierProcess) -> bool:
    """Return whether every controller with objects has reconciled all of them."""
    address = f"{server.http_url}/metrics"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        text = await answer.text()
    reconciled = {
        *re.findall(r'^espalier_reconciles_total\{controller="([^"]+)"', text, re.MULTILINE)
    }
    waiting = re.findall(r"^espalier_queue_depth\{.*\} (\S+)$", text, re.MULTILINE)
    rows = {"pools.fields", "managedseedset.rollout", "managedseed", "capacity", "pools.namespace"}
    return rows <= reconciled and not any(map(float, waiting))


@asynccontextmanager
async def without_apiservice(gardener: GardenCluster, name: str) -> AsyncIterator[None]:
    """Remove an APIService while the block runs.

    The garbage collector would treat its objects as gone and delete their dependents, such as the
    namespaces of projects. So it is paused meanwhile, and so are Gardener's controllers.
    """
    plane = gardener.plane
    asleep = (plane.controller_manager, plane.gardener_controller_manager)
    found = await gardener.get("apiservice", name)
    metadata = {"name": name, "labels": found["metadata"].get("labels") or {}}
    again = {**found, "metadata": metadata, "status": {}}
    for process in asleep:
        process.pause()
    await gardener.kubectl("delete", "apiservice", name)
    try:
        yield
    finally:
        await gardener.kubectl("create", "-f", "-", input=again)
        ready = ("--for=condition=Available", "--timeout=60s")
        await gardener.kubectl("wait", *ready, f"apiservice/{name}")
        for process in asleep:
            process.resume()


def make_apiservice(group: str, version: str) -> dict[str, Any]:
    """An APIService without a running server, as of a Gardener that is still starting."""
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
