"""The real Gardener that other tests use as the reference runs and behaves as a garden."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from tests.support.control_planes import require_parts
from tests.support.waits import eventually
from webhook.dev.planes.gardener import PROJECT, PROJECT_NAMESPACE, Gardener
from webhook.dev.planes.gardenmanifests import CORE, DOMAIN, shoot
from webhook.dev.planes.mcm import MachineControllerManager, crds_folder

pytestmark = pytest.mark.timeout(300)


def make_seed(name: str) -> dict[str, Any]:
    credentials = {"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden"}
    dns = {"type": "local", "credentialsRef": credentials}
    return {
        "apiVersion": CORE,
        "kind": "Seed",
        "metadata": {"name": name, "labels": {"test": name}},
        "spec": {
            "provider": {"type": "local", "region": "local", "zones": ["local-a"]},
            "networks": {
                "nodes": "10.240.0.0/16",
                "pods": "10.241.0.0/16",
                "services": "10.242.0.0/16",
            },
            "ingress": {"domain": f"{name}.seeds.test", "controller": {"kind": "nginx"}},
            "dns": {"provider": dns, "internal": {**dns, "domain": "internal.test"}},
        },
    }


def make_lease(seed: str) -> dict[str, Any]:
    """The lease of a gardenlet, without which Gardener considers a seed lost."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": seed, "namespace": "gardener-system-seed-lease"},
        "spec": {"holderIdentity": seed, "leaseDurationSeconds": 2, "renewTime": now},
    }


def ready_status() -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    operation = {"type": "Reconcile", "state": "Succeeded", "progress": 100, "lastUpdateTime": now}
    condition = {"type": "GardenletReady", "status": "True", "reason": "Test", "message": "played"}
    times = {"lastTransitionTime": now, "lastUpdateTime": now}
    return json.dumps(
        {
            "status": {
                "lastOperation": {**operation, "description": "played"},
                "conditions": [{**condition, **times}],
            }
        }
    )


async def test_a_shoot_is_defaulted(gardener_server):
    name = f"s{uuid4().hex[:6]}"
    done = await gardener_server.kubectl(
        "create", "-f", "-", "-o", "json", input=shoot(name, PROJECT_NAMESPACE, PROJECT)
    )
    created = json.loads(done.stdout)
    assert created["spec"]["schedulerName"] == "default-scheduler"
    assert created["spec"]["kubernetes"]["version"] == "1.36.0"


async def test_a_shoot_with_fewer_machines_than_zones_is_refused_with_its_field(gardener_server):
    bad: dict[str, Any] = dict(shoot(f"s{uuid4().hex[:6]}", PROJECT_NAMESPACE, PROJECT))
    bad["spec"]["provider"]["workers"][0]["zones"] = ["local-a", "local-b", "local-c"]
    done = await gardener_server.kubectl("create", "-f", "-", input=bad, check=False)
    assert done.code == 1
    assert "spec.provider.workers[0].maximum" in done.stderr


async def test_the_scheduler_of_gardener_binds_a_shoot_to_a_ready_seed(gardener_server):
    kubectl = gardener_server.kubectl
    name = f"seed-{uuid4().hex[:6]}"
    await kubectl("create", "-f", "-", input=make_seed(name))
    wanted: dict[str, Any] = dict(shoot(f"s{uuid4().hex[:6]}", PROJECT_NAMESPACE, PROJECT))
    wanted["spec"]["seedSelector"] = {"matchLabels": {"test": name}}
    await kubectl("create", "-f", "-", input=wanted)
    where = (wanted["metadata"]["name"], f"--namespace={PROJECT_NAMESPACE}", "-o", "json")

    async def is_bound() -> Any:
        """Renew the lease and read the seed; without it Gardener soon considers the seed lost."""
        await kubectl("apply", "-f", "-", input=make_lease(name))
        status_of = ("seed", name, "--subresource=status", "--type=merge")
        await kubectl("patch", *status_of, "-p", ready_status())
        found = json.loads((await kubectl("get", "shoot", *where)).stdout)
        return found if found["spec"].get("seedName") == name else None

    bound = await eventually(is_bound, 120, 1)
    assert bound["spec"]["dns"]["domain"] == f"{where[0]}.{PROJECT}.{DOMAIN}"


async def test_the_project_is_ready_through_the_controller_manager(gardener_server):
    await gardener_server.kubectl(
        "wait", "--for=jsonpath={.status.phase}=Ready", f"project/{PROJECT}", "--timeout=90s"
    )


async def test_a_restarted_gardener_serves_what_it_stored(gardener_server):
    await gardener_server.gardener_apiserver.restart()
    # kube-apiserver finds it again with a delay.
    listed = await eventually(lambda: gardener_server.kubectl("get", "cloudprofiles", "-o", "name"))
    assert "cloudprofile.core.gardener.cloud/local" in listed.stdout.split()


async def test_a_kept_garden_goes_on_where_it_was(tmp_path):
    require_parts("etcd", "kubernetes", "gardener")
    name = f"s{uuid4().hex[:6]}"
    async with Gardener(tmp_path, durable=False) as server:
        await server.kubectl("create", "-f", "-", input=shoot(name, PROJECT_NAMESPACE, PROJECT))
    async with Gardener(tmp_path, durable=False) as server:
        shoots = ("get", "shoot", name, f"--namespace={PROJECT_NAMESPACE}")
        await eventually(lambda: server.kubectl(*shoots))
        for project in (PROJECT, "garden"):
            await server.kubectl(
                "wait",
                "--for=jsonpath={.status.phase}=Ready",
                f"project/{project}",
                "--timeout=120s",
            )


async def test_machine_controller_manager_makes_machines(real_server, tmp_path):
    require_parts("mcm")
    kubectl = real_server.kubectl
    namespace = f"mcm-{uuid4().hex[:6]}"
    await kubectl("create", "namespace", namespace)
    await kubectl("apply", "--server-side", "-f", str(crds_folder()))
    # Only these: others on the shared server may be in deletion.
    these = ("-f", str(crds_folder()), "--timeout=120s")
    await kubectl("wait", "--for=condition=Established", *these)
    manager = MachineControllerManager(tmp_path, real_server.apiserver, namespace)
    await manager.start()
    try:
        objects = [make_machine_class(), make_machine_deployment(replicas=2)]
        await eventually(lambda: kubectl("apply", "-n", namespace, "-f", "-", input=objects))
        machines = ("machines", "--selector=name=pool", f"--namespace={namespace}")

        async def are_made() -> bool:
            return len((await kubectl("get", *machines, "-o", "name")).stdout.splitlines()) == 2

        await eventually(are_made)
    finally:
        await manager.stop()


def make_machine_class() -> dict[str, Any]:
    return {
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineClass",
        "metadata": {"name": "small"},
        "provider": "stub",
        "providerSpec": {},
    }


def make_machine_deployment(replicas: int) -> dict[str, Any]:
    labels = {"name": "pool"}
    template = {"class": {"kind": "MachineClass", "name": "small"}}
    return {
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineDeployment",
        "metadata": {"name": "pool"},
        "spec": {
            "replicas": replicas,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template},
        },
    }
