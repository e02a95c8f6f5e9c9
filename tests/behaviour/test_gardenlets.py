"""A gardenlet is deployed into a shoot's own cluster and removed again."""

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

from tests.support.account import write_kubeconfig
from tests.support.control_planes import kubernetes, require_parts
from tests.support.controllers import LOCAL_PROVIDER, define_kinds, running_controllers
from tests.support.landscape_objects import raw_seed
from tests.support.set_objects import make_hosted_shoot
from webhook.api import names
from webhook.cli import manifests
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.kubectl import Kubectl
from webhook.dev.planes.kubernetes import CONTROLLERS, WORKLOAD_CONTROLLERS, Kubernetes
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess
from webhook.domain.options import Options, SeedsOptions
from webhook.kube.meta import Draft

pytestmark = pytest.mark.timeout(300)

PODS = ("pods", "-n", "garden")


async def until(kubectl: Any, holds: Any, *what: str, seconds: float = 90) -> Any:
    async with asyncio.timeout(seconds):
        while True:
            done = await kubectl("get", *what, "-o", "json", check=False)
            found = json.loads(done.stdout) if done.code == 0 else None
            if holds(found):
                return found
            await asyncio.sleep(0.3)


def is_registered(found: Any) -> bool:
    reported = ((found or {}).get("status") or {}).get("conditions") or []
    return any(each["type"] == "SeedRegistered" and each["status"] == "True" for each in reported)


async def test_a_gardenlet_comes_and_goes(server, namespace, tmp_path, monkeypatch):
    monkeypatch.setattr("webhook.dev.localprovider.shoots.OPERATION_DURATION", timedelta(0))
    await define_kinds(server)
    suffix = uuid4().hex[:6]
    name, parent = f"oak-{suffix}", f"parent-{suffix}"
    here = ("-n", namespace)
    options = Options(namespace=namespace, seeds=SeedsOptions(garden_server=server.url))
    async with Embedded(tmp_path / "shoot") as cluster:
        objects = [raw_seed(parent), *_managed_seed(name, parent, namespace, cluster)]
        await server.kubectl("apply", "--server-side", "-f", "-", input=objects)
        async with (
            running_controllers(server, LOCAL_PROVIDER, options),
            running_controllers(server, (MANAGED_SEED,), options),
        ):
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


async def test_a_real_controller_manager_creates_the_pods_of_a_gardenlet(
    embedded_server, tmp_path, monkeypatch
):
    require_parts("etcd", "kubernetes")
    monkeypatch.setattr("webhook.dev.localprovider.shoots.OPERATION_DURATION", timedelta(0))
    garden = embedded_server
    await define_kinds(garden)
    suffix = uuid4().hex[:6]
    name, parent, namespace = f"oak-{suffix}", f"parent-{suffix}", f"test-{suffix}"
    await garden.kubectl("create", "namespace", namespace)
    options = Options(namespace=namespace, seeds=SeedsOptions(garden_server=garden.url))
    controllers = (*CONTROLLERS, *WORKLOAD_CONTROLLERS)
    folder = tmp_path / "shoot"
    async with Kubernetes(folder, durable=False, controllers=controllers) as cluster:
        objects = [raw_seed(parent), *_managed_seed(name, parent, namespace, cluster)]
        await garden.kubectl("apply", "--server-side", "-f", "-", input=objects)
        async with (
            running_controllers(garden, LOCAL_PROVIDER, options),
            running_controllers(garden, (MANAGED_SEED,), options),
        ):
            created = await until(
                cluster.kubectl, lambda found: found and len(found["items"]) == 2, *PODS
            )
            assert {pod["spec"]["priority"] for pod in created["items"]} == {999998950}
            await cluster.kubectl(
                *("wait", "poddisruptionbudget/gardenlet", "-n", "garden", "--timeout=60s"),
                "--for=jsonpath={.status.expectedPods}=2",
            )
            await garden.kubectl("delete", "managedseed", name, "--wait=false", "-n", namespace)
            gone = ("managedseed", name, "-n", namespace)
            await until(garden.kubectl, lambda found: found is None, *gone)
            assert (
                json.loads((await cluster.kubectl("get", *PODS, "-o", "json")).stdout)["items"]
                == []
            )
        await garden.kubectl("delete", f"seed/{parent}", f"namespace/{namespace}", "--wait=false")


async def test_a_deletion_without_a_kubeconfig_waits_for_the_annotation(
    embedded_server, tmp_path, monkeypatch
):
    monkeypatch.setattr("webhook.dev.localprovider.shoots.OPERATION_DURATION", timedelta(0))
    garden = embedded_server
    await define_kinds(garden)
    suffix = uuid4().hex[:6]
    name, parent, namespace = f"oak-{suffix}", f"parent-{suffix}", f"test-{suffix}"
    here = ("-n", namespace)
    await garden.kubectl("create", "namespace", namespace)
    options = Options(namespace=namespace, seeds=SeedsOptions(garden_server=garden.url))
    async with Embedded(tmp_path / "shoot") as cluster:
        objects = [raw_seed(parent), *_managed_seed(name, parent, namespace, cluster)]
        await garden.kubectl("apply", "--server-side", "-f", "-", input=objects)
        async with (
            running_controllers(garden, LOCAL_PROVIDER, options),
            running_controllers(garden, (MANAGED_SEED,), options),
        ):
            await until(cluster.kubectl, bool, "deployment", "gardenlet", "-n", "garden")
            await garden.kubectl("delete", f"secret/{name}.kubeconfig", *here)
            await garden.kubectl("delete", "managedseed", name, "--wait=false", *here)
            waiting = "--for=jsonpath={.status.conditions[?(@.reason=='KubeconfigMissing')].status}"
            await garden.kubectl("wait", f"managedseed/{name}", f"{waiting}=False", *here)
            annotation = f"{names.ABANDON_GARDENLET}=true"
            await garden.kubectl("annotate", "managedseed", name, annotation, *here)
            await until(garden.kubectl, lambda found: found is None, "managedseed", name, *here)
            await until(cluster.kubectl, bool, "deployment", "gardenlet", "-n", "garden")
        await garden.kubectl("delete", f"seed/{parent}", f"namespace/{namespace}", "--wait=false")


def _managed_seed(
    name: str, parent: str, namespace: str, cluster: Embedded | Kubernetes
) -> list[Draft]:
    """Return a ManagedSeed with its Shoot and the Shoot's kubeconfig."""
    shoot = make_hosted_shoot(name, parent)
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
    kubeconfig = base64.b64encode(cluster.kubeconfig.read_bytes()).decode()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{name}.kubeconfig", "namespace": namespace},
        "data": {"kubeconfig": kubeconfig},
    }
    return [shoot, secret, managed_seed]


@pytest.fixture
async def restricted(tmp_path, capsys, monkeypatch):
    """A garden where the program has its generated permissions and no others."""
    monkeypatch.setattr("webhook.dev.localprovider.shoots.OPERATION_DURATION", timedelta(0))
    parser = argparse.ArgumentParser()
    manifests.add_arguments(parser)
    await asyncio.to_thread(manifests.run, parser.parse_args(["--standalone", "--offline"]))
    printed = capsys.readouterr().out
    async with kubernetes(tmp_path / "garden") as garden:
        await garden.kubectl("apply", "--server-side", "-f", "-", input=printed)
        await garden.kubectl("wait", "--for=condition=Established", "--timeout=90s", "crd", "--all")
        await define_kinds(garden)
        kubeconfig = await write_kubeconfig(garden, tmp_path / "kubeconfig")
        flags = ("--roles=controllers", "--manage-webhooks=false")
        ports = (free_port(), free_port())
        espalier = EspalierProcess(tmp_path / "espalier", kubeconfig, ports, *flags)
        await espalier.start()
        try:
            async with running_controllers(garden, LOCAL_PROVIDER):
                yield garden
        finally:
            await espalier.stop()
        reported = await asyncio.to_thread(espalier.log.read_text)
        assert [line for line in reported.splitlines() if "is forbidden: User" in line] == []


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
            else:
                await _prolongs_its_token(restricted, name)
            here = ("managedseed", name, "-n", "garden")
            await restricted.kubectl("delete", *here, "--wait=false")
            await until(restricted.kubectl, lambda found: found is None, *here)


async def _register(garden: Kubernetes, cluster: Embedded, name: str, mechanism: str) -> None:
    kubeconfig = base64.b64encode(cluster.kubeconfig.read_bytes()).decode()
    metadata = {"name": name, "namespace": "garden"}
    shoot = make_hosted_shoot(name, "parent")
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


async def _prolongs_its_token(garden: Kubernetes, name: str) -> None:
    """Let the only bootstrap token expire, and wait until it is valid again."""
    tokens = ("secrets", "-n", "kube-system", "--field-selector=type=bootstrap.kubernetes.io/token")
    found = json.loads((await garden.kubectl("get", *tokens, "-o", "json")).stdout)
    (token,) = (each["metadata"]["name"] for each in found["items"])
    past = base64.b64encode(b"2020-01-01T00:00:00Z").decode()
    change = json.dumps({"data": {"expiration": past}})
    await garden.kubectl("patch", "secret", token, "-n", "kube-system", "-p", change)
    operation = "gardener.cloud/operation=reconcile"
    await garden.kubectl("annotate", "managedseed", name, operation, "-n", "garden")
    there = ("secret", token, "-n", "kube-system")
    await until(garden.kubectl, lambda found: found["data"]["expiration"] != past, *there)


async def _meets_the_garden(garden: Kubernetes, contact: Path, name: str) -> None:
    """Return the user of the kubeconfig that a gardenlet was given."""
    await asyncio.to_thread(_trust, contact, Path(garden.admin.ca_file))
    reported = await Kubectl(contact)(
        "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"
    )
    assert reported.stdout == f"system:serviceaccount:garden:gardenlet-bootstrap-{name}"


def _trust(contact: Path, authority: Path) -> None:
    """Add the garden's CA, which a setting names where the system does not trust it."""
    document = yaml.safe_load(contact.read_text())
    encoded = base64.b64encode(authority.read_bytes()).decode()
    document["clusters"][0]["cluster"]["certificate-authority-data"] = encoded
    contact.write_text(yaml.safe_dump(document))
