"""A gardenlet is deployed into a shoot's own cluster and taken out of it again."""

import asyncio
import base64
import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import yaml

from tests.landscapes import raw_seed
from tests.leaders import PLAYED, define_kinds, running
from tests.sets import make_guest
from webhook.cli.dev import gardenlet
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.domain.options import Options, SeedsOptions
from webhook.planes.embedded import Embedded

pytestmark = pytest.mark.timeout(120)


async def until(kubectl: Any, holds: Any, *what: str, seconds: float = 40) -> Any:
    async with asyncio.timeout(seconds):
        while True:
            done = await kubectl("get", *what, "-o", "json", check=False)
            found = json.loads(done.stdout) if done.code == 0 else None
            if holds(found):
                return found
            await asyncio.sleep(0.3)


def is_registered(found: Any) -> bool:
    told = ((found or {}).get("status") or {}).get("conditions") or []
    return any(each["type"] == "SeedRegistered" and each["status"] == "True" for each in told)


async def test_a_gardenlet_comes_and_goes(server, namespace, tmp_path, monkeypatch):
    monkeypatch.setattr(gardenlet, "PACE", timedelta(0))
    await define_kinds(server)
    suffix = uuid4().hex[:6]
    name, parent = f"oak-{suffix}", f"parent-{suffix}"
    here = ("-n", namespace)
    shoot = make_guest(name, parent)
    shoot["metadata"]["namespace"] = namespace
    shoot["spec"]["dns"] = {"domain": "oak.example.org"}
    managed_seed = {
        "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
        "kind": "ManagedSeed",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "shoot": {"name": name},
            "gardenlet": {
                "config": {"seedConfig": {"metadata": {"labels": {"tree": "oak"}}}},
                "bootstrap": "BootstrapToken",
            },
        },
    }
    options = Options(namespace=namespace, seeds=SeedsOptions(garden_server=server.url))
    async with Embedded(tmp_path / "shoot") as cluster:
        kubeconfig = base64.b64encode(cluster.kubeconfig.read_bytes()).decode()
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"{name}.kubeconfig", "namespace": namespace},
            "data": {"kubeconfig": kubeconfig},
        }
        objects = [raw_seed(parent), shoot, secret, managed_seed]
        await server.kubectl("apply", "--server-side", "-f", "-", input=objects)
        async with running(server, PLAYED, options), running(server, (MANAGED_SEED,), options):
            there = ("-n", "garden")
            await until(cluster.kubectl, bool, "deployment", "gardenlet", *there)
            config = await until(cluster.kubectl, bool, "configmap", "gardenlet-config", *there)
            document = yaml.safe_load(config["data"]["config.yaml"])
            assert document["seedConfig"]["metadata"]["name"] == name
            seed = {**raw_seed(name), "metadata": document["seedConfig"]["metadata"]}
            await server.kubectl("apply", "--server-side", "-f", "-", input=seed)
            await until(server.kubectl, is_registered, "managedseed", name, *here)
            await server.kubectl("delete", "managedseed", name, "--wait=false", *here)
            await until(server.kubectl, lambda found: found is None, "managedseed", name, *here)
            gone = await cluster.kubectl("get", "deployment", "gardenlet", *there, check=False)
            assert gone.code == 1
            gone = await server.kubectl("get", "seed", name, check=False)
            assert gone.code == 1
        await server.kubectl("delete", "seed", parent, "--wait=false")
