"""A gardenlet is deployed into a shoot's own cluster and taken out of it again."""

import argparse
import asyncio
import base64
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from tests.landscapes import raw_seed
from tests.leaders import PLAYED, define_kinds, running
from tests.planes import require_parts
from tests.sets import make_guest
from webhook.api.meta import Draft
from webhook.cli import manifests
from webhook.cli.dev import shoots as played
from webhook.cli.dev.server import Server
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.domain.options import Options, SeedsOptions
from webhook.planes.embedded import Embedded
from webhook.planes.kubectl import Kubectl
from webhook.planes.kubernetes import Kubernetes
from webhook.planes.ports import free_port

pytestmark = pytest.mark.timeout(300)


async def until(kubectl: Any, holds: Any, *what: str, seconds: float = 90) -> Any:
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
    monkeypatch.setattr(played, "PACE", timedelta(0))
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


@pytest.fixture
async def restricted(tmp_path, capsys, monkeypatch):
    """A garden where the program has the rights that are generated for it, and no others."""
    require_parts("etcd", "kubernetes")
    monkeypatch.setattr(played, "PACE", timedelta(0))
    parser = argparse.ArgumentParser()
    manifests.add_arguments(parser)
    await asyncio.to_thread(manifests.run, parser.parse_args(["--standalone"]))
    printed = capsys.readouterr().out
    async with Kubernetes(tmp_path / "garden", durable=False) as garden:
        await garden.kubectl("apply", "--server-side", "-f", "-", input=printed)
        await garden.kubectl("wait", "--for=condition=Established", "--timeout=90s", "crd", "--all")
        await define_kinds(garden)
        account = await asyncio.to_thread(
            garden.apiserver.access,
            "system:serviceaccount:espalier-system:espalier",
            ["system:serviceaccounts", "system:serviceaccounts:espalier-system"],
        )
        kubeconfig = await asyncio.to_thread(account.write_kubeconfig, tmp_path / "kubeconfig")
        flags = ("--roles=controllers", "--manage-webhooks=false")
        ports = (free_port(), free_port())
        espalier = Server(tmp_path / "espalier", kubeconfig, ports, *flags)
        await espalier.start()
        try:
            async with running(garden, PLAYED):
                yield garden
        finally:
            await espalier.stop()
        told = await asyncio.to_thread(espalier.log.read_text)
        assert [line for line in told.splitlines() if "is forbidden: User" in line] == []


async def test_generated_rights_suffice_for_both_ways_to_the_garden(restricted, tmp_path):
    await restricted.kubectl("apply", "--server-side", "-f", "-", input=raw_seed("parent"))
    for mechanism in ("BootstrapToken", "ServiceAccount"):
        name = f"oak-{mechanism.lower()}"
        async with Embedded(tmp_path / name) as cluster:
            await _register(restricted, cluster, name, mechanism)
            found = await until(
                cluster.kubectl, bool, "secret", "gardenlet-kubeconfig-bootstrap", "-n", "garden"
            )
            contact = tmp_path / f"{name}.kubeconfig"
            contact.write_bytes(base64.b64decode(found["data"]["kubeconfig"]))
            if mechanism == "ServiceAccount":
                await _meets_the_garden(restricted, contact, name)


async def _register(garden: Kubernetes, cluster: Embedded, name: str, mechanism: str) -> None:
    kubeconfig = base64.b64encode(cluster.kubeconfig.read_bytes()).decode()
    metadata = {"name": name, "namespace": "garden"}
    shoot = make_guest(name, "parent")
    shoot["metadata"] = metadata
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"kubeconfig": kubeconfig}}
    secret["metadata"] = {**metadata, "name": f"{name}.kubeconfig"}
    managed_seed: Draft = {
        "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
        "kind": "ManagedSeed",
        "metadata": metadata,
        "spec": {
            "shoot": {"name": name},
            "gardenlet": {"config": {"seedConfig": {}}, "bootstrap": mechanism},
        },
    }
    objects = [shoot, secret, managed_seed]
    await garden.kubectl("apply", "--server-side", "-f", "-", input=objects)


async def _meets_the_garden(garden: Kubernetes, contact: Path, name: str) -> None:
    """See who a gardenlet is with the kubeconfig that it was given."""
    await asyncio.to_thread(_trust, contact, Path(garden.admin.ca_file))
    told = await Kubectl(contact)("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    assert told.stdout == f"system:serviceaccount:garden:gardenlet-bootstrap-{name}"


def _trust(contact: Path, authority: Path) -> None:
    """Add the garden's authority, which settings would name where the system does not have it."""
    document = yaml.safe_load(contact.read_text())
    encoded = base64.b64encode(authority.read_bytes()).decode()
    document["clusters"][0]["cluster"]["certificate-authority-data"] = encoded
    contact.write_text(yaml.safe_dump(document))
