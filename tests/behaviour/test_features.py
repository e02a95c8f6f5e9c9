"""Each feature alone, on a real API server, with only its own kinds and permissions."""

import argparse
import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
import yaml

from tests.support.account import write_kubeconfig
from tests.support.builders import (
    make_cloud_profile,
    make_object,
    make_seed,
    make_shoot,
    make_worker,
)
from tests.support.control_planes import kubernetes
from tests.support.machine_objects import make_deployment
from tests.support.scaling_definitions import tortoise_definition
from tests.support.set_objects import make_set
from tests.support.waits import eventually
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import Tortoise
from webhook.cli import manifests
from webhook.cli.install.layout import Layout
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess
from webhook.domain.features import FEATURE_NAMES, Feature, closure
from webhook.kube.meta import Draft

pytestmark = pytest.mark.timeout(240)

SCALING = "autoscaling.mercari.com"
TORTOISE = kind_of_model(Tortoise).resource


class Example(NamedTuple):
    """Objects that show that a feature works."""

    refused: Draft | None = None
    field: str = ""
    """What the refusal names."""
    accepted: tuple[Draft, ...] = ()
    reached: str = ""
    """What the last accepted object reaches, as `kubectl wait` writes it."""


def _scaling(cron: str) -> Draft:
    spec = {
        "targetRefs": {"tortoiseName": "slow"},
        "strategy": {"static": {"minimumMinReplicas": 10}},
        "schedule": {"cron": cron, "duration": "1h"},
    }
    return make_object(f"{SCALING}/v1alpha1", "ScheduledScaling", "daily", "garden-dev", spec=spec)


def _pool(minimum: int) -> Draft:
    draft = make_deployment(namespace="garden-dev", bounds=(minimum, 4))
    for name in ("uid", "resourceVersion", "generation"):
        draft["metadata"].pop(name)
    return draft


def _set() -> Draft:
    draft: dict[str, Any] = dict(make_set(replicas=0))
    meta = draft["metadata"]
    draft["metadata"] = {key: meta[key] for key in ("name", "namespace")}
    draft.pop("status", None)
    return draft


def _infrastructure(**spec: str) -> Draft:
    return make_object(
        "extensions.gardener.cloud/v1alpha1", "Infrastructure", "infra", "garden-dev", spec=spec
    )


BAD_SHOOT = make_shoot("bad", workers=[make_worker(zones="abc", maximum=1)])
EXAMPLES: dict[Feature, Example] = {
    "admission": Example(BAD_SHOOT, "spec.provider.workers[0].maximum"),
    "placement": Example(
        accepted=(make_cloud_profile(), make_seed(), make_shoot()),
        reached="jsonpath={.spec.seedName}=seed",
    ),
    "seeds": Example(accepted=(_set(),), reached="jsonpath={.status.observedGeneration}=1"),
    "node-groups": Example(_pool(5), "spec.poolMinimum", (_pool(3),)),
    "scheduled-scaling": Example(
        _scaling("never"), "spec.schedule", (_scaling("0 9 * * *"),), "jsonpath={.status.phase}"
    ),
    "extensions": Example(_infrastructure(region="a"), "spec.type", (_infrastructure(type="a"),)),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kubernetes]:
    """A separate cluster, because a feature alone has few of the kinds that other tests use."""
    async with kubernetes(tmp_path_factory.mktemp("features")) as server:
        for name in ("garden", "garden-dev"):
            await server.kubectl("create", "namespace", name)
        # A team with a Tortoise of its own, which nothing here may change.
        await server.kubectl("apply", "-f", "-", input=tortoise_definition())
        yield server


@pytest.mark.parametrize("feature", FEATURE_NAMES)
async def test_a_feature_runs_alone_with_its_own_kinds_and_permissions(
    cluster: Kubernetes, tmp_path: Path, feature: Feature
):
    kubectl, example = cluster.kubectl, EXAMPLES[feature]
    crds = await _install(cluster, feature)
    layout = Layout(features=closure((feature,)))
    server = EspalierProcess(
        tmp_path / "server",
        await write_kubeconfig(cluster, tmp_path / "kubeconfig", layout),
        (free_port(), free_port()),
        f"--features={feature}",
        "--retry-period=0.3",
    )
    await server.start()
    try:
        await eventually(lambda: _is_registered(cluster, server.url))
        if example.refused is not None:
            tried = await kubectl("create", "-f", "-", input=example.refused, check=False)
            assert example.field in tried.stderr, tried.stderr + tried.stdout
        for item in example.accepted:
            await kubectl("create", "-f", "-", input=item)
            if item["kind"] == "Seed":
                await _make_ready(cluster, item)
        if example.reached:
            await kubectl("wait", f"--for={example.reached}", "--timeout=60s", *_name(item))
        hooks = await _hooks(cluster)
    finally:
        await server.stop()
        log = await asyncio.to_thread(server.log.read_text)
        await _remove(cluster, crds)
    faults = ("is forbidden: User", "Traceback", "UnwatchedKind")
    assert [line for line in log.splitlines() if any(each in line for each in faults)] == []
    needed = {name.partition(".")[0] for name in crds} | {"horizontalpodautoscalers", "tortoises"}
    assert {each.partition("/")[0] for each in hooks} <= needed


async def _install(cluster: Kubernetes, feature: Feature) -> list[str]:
    """Apply what `espalier manifests --features` prints; return the definitions among it."""
    printed, reported = await asyncio.to_thread(_print_manifests, cluster, feature)
    assert (TORTOISE in reported) == (feature == "scheduled-scaling")
    await cluster.kubectl("apply", "-f", "-", input=printed)
    items = [*yaml.safe_load_all(printed)]
    defined = [item for item in items if item["kind"] == "CustomResourceDefinition"]
    crds = [item["metadata"]["name"] for item in defined]
    names = [f"crd/{name}" for name in crds]
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    listed = await cluster.kubectl("get", "crds", "-o", "jsonpath={.items[*].metadata.name}")
    assert {*listed.stdout.split()} == {*crds, TORTOISE}
    return crds


def _print_manifests(cluster: Kubernetes, feature: Feature) -> tuple[str, str]:
    parser = argparse.ArgumentParser()
    manifests.add_arguments(parser)
    flags = ("--standalone", f"--features={feature}", "--advertise-url=https://127.0.0.1:1")
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = manifests.run(parser.parse_args([f"--kubeconfig={cluster.kubeconfig}", *flags]))
    assert code == 0
    return out.getvalue(), error.getvalue()


async def _webhooks(cluster: Kubernetes) -> list[Any]:
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    found = json.loads((await cluster.kubectl("get", kinds, "-o", "json")).stdout)
    assert len(found["items"]) == 2
    return [hook for item in found["items"] for hook in item.get("webhooks") or ()]


async def _is_registered(cluster: Kubernetes, url: str) -> bool:
    hooks = await _webhooks(cluster)
    return bool(hooks) and all(hook["clientConfig"]["url"].startswith(url) for hook in hooks)


async def _hooks(cluster: Kubernetes) -> list[str]:
    hooks = await _webhooks(cluster)
    return [each for hook in hooks for rule in hook["rules"] for each in rule["resources"]]


async def _make_ready(cluster: Kubernetes, seed: Draft) -> None:
    ready = {"type": "GardenletReady", "status": "True"}
    status = {**seed["status"], "conditions": [ready], "lastOperation": {"state": "Succeeded"}}
    change = json.dumps({"status": status})
    await cluster.kubectl(
        *("patch", *_name(seed), "--subresource=status", "--type=merge", "-p", change)
    )


def _name(item: Draft) -> tuple[str, ...]:
    metadata = item["metadata"]
    group = item["apiVersion"].partition("/")[0]
    namespace = metadata.get("namespace")
    found = (f"{item['kind'].lower()}.{group}/{metadata['name']}",)
    return (*found, f"--namespace={namespace}") if namespace else found


async def _remove(cluster: Kubernetes, crds: list[str]) -> None:
    """Remove webhooks and definitions, so that the next feature finds only its own."""
    kubectl = cluster.kubectl
    for kind in ("mutating", "validating"):
        await kubectl("delete", f"{kind}webhookconfiguration/espalier", "--ignore-not-found")
    for name in crds:
        listed = json.loads((await kubectl("get", name, "-A", "-o", "json")).stdout)
        for item in listed["items"]:
            if item["metadata"].get("finalizers"):
                change = json.dumps({"metadata": {"finalizers": None}})
                await kubectl("patch", *_name(item), "--type=merge", "-p", change)
    await kubectl("delete", "--timeout=60s", *(f"crd/{name}" for name in crds))
