"""Installing into a real cluster and leaving it again, with the files that are generated."""

import argparse
import asyncio
import contextlib
import json
import re
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
import yaml

from tests.behaviour import twins
from tests.behaviour.samples import make_prometheus
from tests.builders import make_cloud_profile, make_seed, make_shoot, make_worker
from tests.documents import manifests as examples_of_documents
from tests.gardening import Beside, playing
from tests.gardening import make_shoot as make_garden_shoot
from tests.planes import require_parts
from tests.waiting import eventually
from webhook.api import names
from webhook.api.crds import crd, definable
from webhook.cli import manifests
from webhook.cli.dev.server import Server
from webhook.controllers.leaving import LOOK_SECONDS
from webhook.planes.gardener import Gardener
from webhook.planes.kubernetes import Kubernetes
from webhook.planes.ports import free_port

pytestmark = pytest.mark.timeout(420)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kubernetes]:
    """A cluster of our own: taking definitions away would hurt those who share one."""
    require_parts("etcd", "kubernetes")
    async with Kubernetes(tmp_path_factory.mktemp("installing"), durable=False) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def garden(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gardener]:
    """A real Gardener of our own."""
    require_parts("etcd", "kubernetes", "gardener")
    async with Gardener(tmp_path_factory.mktemp("garden"), durable=False) as server:
        yield server


FOLDER = Path(__file__).parents[2] / "manifests"
MET, NEW = "zmetz", "znewz"
"""Twins, by names that are in no other word."""


def espalier(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str, str]:
    parser = argparse.ArgumentParser()
    manifests.add_arguments(parser)
    code = manifests.run(parser.parse_args(flags))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
async def run(cluster, capsys):
    """Run `espalier manifests` against the real server."""

    async def run(*flags: str) -> tuple[int, str, str]:
        kubeconfig = f"--kubeconfig={cluster.kubeconfig}"
        return await asyncio.to_thread(espalier, capsys, kubeconfig, *flags)

    return run


async def test_kubectl_builds_the_kustomizations(cluster):
    for folder in (FOLDER, FOLDER / "monitoring", FOLDER / "kube-scheduler"):
        built = await cluster.kubectl("kustomize", str(folder))
        assert "kind: " in built.stdout
        assert "WebhookConfiguration" not in built.stdout


async def test_a_real_server_takes_the_webhook_configurations(cluster):
    applied = await cluster.kubectl(
        "apply", "--dry-run=server", "-f", str(FOLDER / "webhooks.yaml")
    )
    assert applied.stdout.count("created") == 2


async def test_a_real_server_establishes_every_kind(cluster):
    kinds = list(definable(beside_gardener=False))
    items = [crd(kind, beside_gardener=False) for kind in kinds]
    definitions = {"apiVersion": "v1", "kind": "List", "items": items}
    applied = await cluster.kubectl("apply", "--server-side", "-f", "-", input=definitions)
    assert "Warning" not in applied.stderr
    resources = [f"crd/{kind.resource}" for kind in kinds]
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=120s", *resources)
    for condition in ("NonStructuralSchema", "Terminating"):
        path = f'{{range .items[*]}}{{.status.conditions[?(@.type=="{condition}")].message}}{{end}}'
        told = await cluster.kubectl("get", "crds", "-o", f"jsonpath={path}")
        assert told.stdout == ""
    for kind in kinds:
        await _until_empty(cluster, f"{kind.plural}.{kind.version}.{kind.group}")
    await _take_the_documents(cluster)
    # Who applies them again while they still go has them for a moment only.
    await cluster.kubectl("delete", *resources)


async def _until_empty(server, resource: str) -> None:
    """Wait until a kind is served that was established just now; there is nothing of it yet."""
    listed = await eventually(lambda: server.kubectl("get", resource, "-A"))
    assert listed.stderr.strip() == "No resources found"


async def _take_the_documents(cluster) -> None:
    """Send every example of the documents, with unknown fields forbidden."""
    examples = [manifest for _, manifest in examples_of_documents()]
    namespaces = {example["metadata"].get("namespace", "default") for example in examples}
    for namespace in namespaces - {"default"}:
        await cluster.kubectl("create", "namespace", namespace)
    applied = await cluster.kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-",
        input={"apiVersion": "v1", "kind": "List", "items": examples},
    )  # fmt: skip
    assert len(applied.stdout.splitlines()) == len(examples)
    await cluster.kubectl("delete", "namespace", "--wait=false", *namespaces - {"default"})


async def test_the_server_needs_no_more_than_its_rights(cluster, run, tmp_path):
    kubectl = cluster.kubectl
    _, printed, _ = await run("--standalone")
    await kubectl("apply", "--server-side", "-f", "-", input=printed)
    await kubectl("wait", "--for=condition=Established", "--timeout=120s", "crd", "--all")
    account = await asyncio.to_thread(
        cluster.apiserver.access,
        "system:serviceaccount:espalier-system:espalier",
        ["system:serviceaccounts", "system:serviceaccounts:espalier-system"],
    )
    kubeconfig = await asyncio.to_thread(account.write_kubeconfig, tmp_path / "kubeconfig")
    server = Server(tmp_path / "server", kubeconfig, (free_port(), free_port()))
    await server.start()
    try:
        for hooks in ("mutating", "validating"):
            hook = f"{hooks}webhookconfiguration/espalier"
            await kubectl("wait", "--for=create", "--timeout=120s", hook)
        seed = make_seed()
        await kubectl("create", "namespace", "garden-dev")
        for item in (make_cloud_profile(), seed):
            await kubectl("create", "-f", "-", input=item)
        ready = {"type": "GardenletReady", "status": "True"}
        status = {**seed["status"], "conditions": [ready], "lastOperation": {"state": "Succeeded"}}
        change = json.dumps({"status": status})
        await kubectl("patch", "seed/seed", "--subresource=status", "--type=merge", "-p", change)
        await kubectl("create", "-f", "-", input=make_shoot())
        await kubectl("wait", "--for=jsonpath={.spec.seedName}=seed", "--timeout=120s",
                      "shoot/shoot", "-n", "garden-dev")  # fmt: skip
        bad = make_shoot("bad", workers=[make_worker(zones="abc", maximum=1)])
        refused = await kubectl("create", "-f", "-", input=bad, check=False)
        assert "spec.provider.workers[0].maximum" in refused.stderr
    finally:
        await server.stop()
        await run("--uninstall", "--force")
    told = await asyncio.to_thread(server.log.read_text)
    assert [line for line in told.splitlines() if "is forbidden: User" in line] == []


async def test_installing_and_leaving(cluster, run):
    kubectl = cluster.kubectl
    code, printed, _ = await run()
    assert code == 0
    applied = await kubectl("apply", "--server-side", "-f", "-", input=printed)
    assert "Warning" not in applied.stderr
    await kubectl("wait", "--for=condition=Established", "--timeout=120s", "crd", "-l",
                  "app.kubernetes.io/part-of=espalier")  # fmt: skip
    await kubectl("apply", "-k", str(FOLDER / "kube-scheduler"))
    account = "--as=system:serviceaccount:espalier-system:espalier"
    for allowed in ("patch shoots.core.gardener.cloud --subresource=binding", "watch seeds"):
        told = await kubectl("auth", "can-i", *allowed.split(), account, "-A")
        assert told.stdout.strip() == "yes"
    for refused in (
        "list secrets -A",
        "delete mutatingwebhookconfigurations",
        "create clusterroles",
    ):
        told = await kubectl("auth", "can-i", *refused.split(), account, check=False)
        assert told.stdout.strip() == "no"

    shoot = {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {
            "name": "waiting",
            "namespace": "garden",
            "finalizers": [names.FINALIZER],
            "annotations": {names.PAUSED: "true"},
        },
        "spec": {"schedulerName": "espalier"},
    }
    await kubectl("apply", "-f", "-", input=shoot)
    label = f"{names.PREFIX}test=ours"
    await kubectl("label", "shoot/waiting", "-n", "garden", label, "--field-manager=espalier")
    hook = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "espalier"},
    }
    await kubectl("create", "-f", "-", input=hook)

    code, _, complaint = await run("--uninstall")
    assert code == 1
    assert "garden/waiting" in complaint
    assert (await kubectl("get", "-f", "-", input=hook)).code == 0

    code, printed, complaint = await run("--uninstall", "--force")
    assert (code, complaint) == (0, "")
    assert printed.index("deleting validatingwebhookconfiguration/espalier") < printed.index(
        "cleaned shoot/garden/waiting"
    )
    assert f"keeps {names.PAUSED}, which Espalier did not write" in printed
    left = json.loads((await kubectl("get", "shoot/waiting", "-n", "garden", "-o", "json")).stdout)
    assert "finalizers" not in left["metadata"]
    assert "labels" not in left["metadata"]
    assert left["metadata"]["annotations"][names.PAUSED] == "true"
    kinds = "clusterroles,clusterrolebindings,priorityclasses,roles,rolebindings"
    left = await kubectl("get", kinds, "-A", "-o", "name")
    assert "espalier" not in left.stdout

    code, _, complaint = await run("--uninstall", "--crds", "--force")
    assert (code, complaint) == (0, "")
    ours = ("crd", "-l", "app.kubernetes.io/part-of=espalier")
    await kubectl("wait", "--for=delete", "--timeout=120s", *ours, check=False)
    defined = await kubectl("get", *ours, "-o", "name")
    assert defined.stdout.strip() == ""


async def test_beside_a_gardener_only_what_it_lacks_is_installed(garden, capsys):
    def run(*flags: str) -> tuple[int, str, str]:
        return espalier(capsys, f"--kubeconfig={garden.kubeconfig}", *flags)

    code, printed, _ = await asyncio.to_thread(run)
    assert code == 0
    defined = re.findall(r"^  name: (\S+\.(?:cloud|com))$", printed, re.MULTILINE)
    assert defined == [
        "seedautoscalers.seedmanagement.gardener.cloud",
        "zones.seedmanagement.gardener.cloud",
        "scheduledscalings.autoscaling.mercari.com",
    ]
    await garden.kubectl("apply", "--server-side", "-f", "-", input=printed)
    crds = [f"crd/{name}" for name in defined]
    await garden.kubectl("wait", "--for=condition=Established", "--timeout=120s", *crds)
    # Both are of one group: ours from a definition, Gardener's from its aggregated server.
    for kind in ("seedautoscalers.v1beta1", "managedseedsets.v1alpha1"):
        await _until_empty(garden, f"{kind}.seedmanagement.gardener.cloud")
    found = await asyncio.to_thread(run, "--tortoise-crd-patch")
    assert found[0] == 0
    code, _, complaint = await asyncio.to_thread(run, "--uninstall", "--crds")
    assert (code, complaint) == (0, "")


async def test_a_virtual_garden_and_its_runtime_cluster_get_their_own_parts(garden, capsys):
    def run(*flags: str) -> tuple[int, str, str]:
        return espalier(capsys, f"--kubeconfig={garden.kubeconfig}", *flags)

    monitoring = make_prometheus()
    await garden.kubectl("create", "-f", "-", input=monitoring)
    crds = [f"crd/{each['metadata']['name']}" for each in monitoring]
    await garden.kubectl("wait", "--for=condition=Established", "--timeout=120s", *crds)
    _, for_garden, _ = await asyncio.to_thread(run, "--part=garden")
    _, for_runtime, _ = await asyncio.to_thread(run, "--part=runtime")
    kinds = {
        part: set(re.findall(r"^kind: (\w+)$", printed, re.MULTILINE))
        for part, printed in (("garden", for_garden), ("runtime", for_runtime))
    }
    assert "CustomResourceDefinition" in kinds["garden"]
    of_pods = {"Deployment", "Service", "NetworkPolicy", "PrometheusRule", "ServiceMonitor"}
    assert not kinds["garden"] & of_pods
    assert of_pods <= kinds["runtime"]
    assert not kinds["runtime"] & {"CustomResourceDefinition", "ClusterRole"}
    assert "--kubeconfig=/etc/espalier/garden/kubeconfig" in for_runtime
    url = "https://espalier.espalier-system.svc:443"
    assert f"--advertise-url={url}" in for_runtime
    _, hooks, _ = await asyncio.to_thread(run, "--part=garden", "--webhooks")
    clients = [
        hook["clientConfig"] for each in yaml.safe_load_all(hooks) for hook in each["webhooks"]
    ]
    assert clients
    assert all(client["url"].startswith(f"{url}/") for client in clients)
    await garden.kubectl("create", "namespace", "espalier-system")
    for printed in (for_garden, for_runtime):
        trying = ("apply", "--server-side", "--dry-run=server", "-f", "-")
        await eventually(partial(garden.kubectl, *trying, input=printed))
    await garden.kubectl("delete", *crds)
    # Installing again into a namespace that is still going would be refused.
    await garden.kubectl("delete", "namespace", "espalier-system", "--timeout=120s")


async def test_definitions_that_an_aggregated_api_covers_are_named(garden, tmp_path, capsys):
    shoots = next(kind for kind in definable(beside_gardener=False) if kind.plural == "shoots")
    await garden.kubectl("create", "-f", "-", input=crd(shoots, beside_gardener=False))
    try:
        kubeconfig = f"--kubeconfig={garden.kubeconfig}"
        code, _, complaint = await asyncio.to_thread(espalier, capsys, kubeconfig)
        assert code == 2
        assert shoots.resource in complaint
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "webhook", "serve", kubeconfig, "--port=0", "--http-port=0"),
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(120):
            _, said = await process.communicate()
        assert process.returncode == 2
        assert f"an aggregated API covers our definitions of {shoots.resource}" in said.decode()
    finally:
        await garden.kubectl("delete", "crd", shoots.resource)


async def test_leaving_a_garden_leaves_it_as_if_we_had_never_been_there(garden, tmp_path, capsys):
    def run(*flags: str) -> tuple[int, str, str]:
        return espalier(capsys, f"--kubeconfig={garden.kubeconfig}", *flags)

    beside, here = Beside(garden, tmp_path), ("-n", "garden-local")
    await beside.install()
    await beside.start()
    try:
        async with playing(garden, tmp_path / "play"):
            await twins.live(beside, MET)
            rolled = await twins.roll(beside)
            twin = {names.REGION_AFFINITY: "preferred"}
            waiting = make_garden_shoot(
                "waiting",
                schedulerName="espalier",
                annotations=twin,
                seedSelector=twins.NOWHERE,
            )
            await garden.kubectl("create", "-f", "-", input=waiting)
            for what in ("label", "annotate"):
                await garden.kubectl(what, f"shoot/{MET}", *here, f"{names.PREFIX}mine=x",
                                     "--field-manager=espalier")  # fmt: skip
            code, _, complaint = await asyncio.to_thread(run, "--uninstall")
            assert (code, "garden-local/waiting" in complaint) == (1, True)
            code, said, complaint = await asyncio.to_thread(run, "--uninstall", "--force", "--crds")
            assert (code, complaint) == (0, "")
            await twins.live(beside, NEW)
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: twins.are_equal(beside, MET, NEW))
            assert await twins.differences(beside, MET, NEW) == []
            await twins.check_left(beside, rolled)
    finally:
        await beside.stop()
    assert f"cleaned shoot/garden-local/{MET}" in said
    assert f"waiting keeps {names.REGION_AFFINITY}, which Espalier did not write" in said
    assert f"{rolled} keeps {names.ROLLOUT}, which Espalier did not write" in said
    kinds = "clusterroles,clusterrolebindings,roles,rolebindings,crds,priorityclasses"
    hooks = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    left = await garden.kubectl("get", f"{kinds},{hooks}", "-A", "-o", "name")
    assert [line for line in left.stdout.splitlines() if "espalier" in line] == []


async def test_a_server_that_somebody_runs_in_the_garden_brings_nothing_back(
    garden, tmp_path, capsys
):
    hooks = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    quick = ("--namespace=garden", "--retry-period=0.3")
    server = Server(tmp_path / "server", garden.kubeconfig, (free_port(), free_port()), *quick)
    await server.start()
    try:
        for each in hooks.split(","):
            await garden.kubectl("wait", "--for=create", "--timeout=120s", f"{each}/espalier")
        flags = (f"--kubeconfig={garden.kubeconfig}", "--uninstall", "--namespace=garden")
        code, said, complaint = await asyncio.to_thread(espalier, capsys, *flags, "--force")
        assert (code, complaint) == (0, "")
        assert "nobody would place them any more:\n  garden-local/waiting" in said
        # Longer than it takes to look for the sign, to take the lease and to make webhooks.
        await asyncio.sleep(LOOK_SECONDS + 2)
        left = await garden.kubectl("get", hooks, "-o", "name")
        kept = await garden.kubectl(
            "get", "leases,secrets,configmaps", "-n", "garden", "-o", "name"
        )
        found = (left.stdout + kept.stdout).splitlines()
        assert [line for line in found if "espalier" in line] == []
        async with aiohttp.ClientSession() as session:
            answer = await session.get(f"{server.plain_url}/readyz")
            assert answer.status == 200
            assert f"told by ConfigMap garden/{names.LEAVING} to leave" in await answer.text()
    finally:
        await server.stop()
