"""Installing into a real cluster and uninstalling again, with the generated files."""

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

from tests.behaviour import live_reads, object_pairs
from tests.behaviour.sample_objects import make_prometheus
from tests.support import control_planes, garden_cluster
from tests.support.account import account_access, write_kubeconfig
from tests.support.api_proxy import open_proxy
from tests.support.builders import make_cloud_profile, make_seed, make_shoot, make_worker
from tests.support.control_planes import kubernetes
from tests.support.example_manifests import example_manifests
from tests.support.garden_cluster import GardenCluster, simulated_gardenlets
from tests.support.scaling_definitions import tortoise_definition
from tests.support.server_processes import Replica, running
from tests.support.waits import eventually
from webhook.api import names
from webhook.api.crds import crd, definable
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import Tortoise
from webhook.cli import manifests
from webhook.cli.install.layout import Layout
from webhook.controllers.installation.uninstall_marker import POLL_SECONDS
from webhook.dev.planes.gardener import Gardener
from webhook.dev.planes.kubectl import Kubectl
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess
from webhook.kube.meta import Draft

pytestmark = pytest.mark.timeout(420)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kubernetes]:
    """A separate cluster, because deleting CRDs would break tests that share one."""
    async with kubernetes(tmp_path_factory.mktemp("installing")) as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def garden(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gardener]:
    """A separate real Gardener."""
    async with control_planes.garden(tmp_path_factory.mktemp("garden")) as server:
        yield server


FOLDER = Path(__file__).parents[2] / "manifests"
MET, NEW = "zmetz", "znewz"
"""Objects for comparison, with names that are part of no other."""


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
        reported = await cluster.kubectl("get", "crds", "-o", f"jsonpath={path}")
        assert reported.stdout == ""
    for kind in kinds:
        await _until_empty(cluster, f"{kind.plural}.{kind.version}.{kind.group}")
    await _take_the_documents(cluster)
    # CRDs that are applied while they are being deleted exist only for a moment.
    await cluster.kubectl("delete", *resources)


async def _until_empty(server, resource: str) -> None:
    """Wait until a kind is served that was established just now, without objects."""
    listed = await eventually(lambda: server.kubectl("get", resource, "-A"))
    assert listed.stderr.strip() == "No resources found"


async def _take_the_documents(cluster) -> None:
    """Create every example of the documents with strict field validation."""
    examples = [manifest for _, manifest in example_manifests()]
    namespaces = {example["metadata"].get("namespace", "default") for example in examples}
    for namespace in namespaces - {"default"}:
        await cluster.kubectl("create", "namespace", namespace)
    applied = await cluster.kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-",
        input={"apiVersion": "v1", "kind": "List", "items": examples},
    )  # fmt: skip
    assert len(applied.stdout.splitlines()) == len(examples)
    await cluster.kubectl("delete", "namespace", "--wait=false", *namespaces - {"default"})


async def test_the_definition_of_a_tortoise_that_is_there_stays_as_it_is(cluster, run):
    kubectl, definition = cluster.kubectl, tortoise_definition()
    name = definition["metadata"]["name"]
    # As Tortoise's own instructions do, whose field manager is the same as ours.
    await kubectl("apply", "-f", "-", input=definition)
    await kubectl("wait", "--for=condition=Established", "--timeout=120s", f"crd/{name}")
    before = json.loads((await kubectl("get", "crd", name, "-o", "json")).stdout)
    try:
        # The second time there are definitions of ours, too, which are printed again.
        for flags in ((), ("--standalone",)):
            code, printed, reported = await run("--part=garden", *flags)
            assert (code, "name: scheduledscalings." in printed) == (0, True)
            assert reported == (
                "espalier manifests: left out, because others serve or manage them: "
                f"{name} (kubectl-client-side-apply)\n"
            )
            await kubectl("apply", "-f", "-", input=printed)
            after = json.loads((await kubectl("get", "crd", name, "-o", "json")).stdout)
            assert (after["spec"], after["metadata"]) == (before["spec"], before["metadata"])
    finally:
        await run("--uninstall", "--crds")
        kept = await kubectl("get", "crd", name, "-o", "jsonpath={.metadata.uid}", check=False)
        await kubectl("delete", "crd", name)
    assert kept.stdout == before["metadata"]["uid"]


async def test_a_definition_of_ours_that_others_replace_is_theirs(cluster, run):
    kubectl, definition = cluster.kubectl, tortoise_definition()
    name = definition["metadata"]["name"]
    ours = crd(kind_of_model(Tortoise), beside_gardener=False)
    for each in (ours, definition):
        await kubectl("apply", "-f", "-", input=each)
    try:
        code, printed, reported = await run("--standalone", "--part=garden")
        assert (code, f"{name} (" in reported, f"name: {name}" in printed) == (0, True, False)
        # Whoever applies ours on purpose gets it back.
        await kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=ours)
        code, printed, reported = await run("--standalone", "--part=garden")
        assert (code, reported, f"name: {name}" in printed) == (0, "", True)
    finally:
        await kubectl("delete", "crd", name)


async def test_the_server_needs_no_more_than_its_rights(cluster, run, tmp_path):
    kubectl = cluster.kubectl
    _, printed, _ = await run("--standalone")
    await kubectl("apply", "--server-side", "-f", "-", input=printed)
    await kubectl("wait", "--for=condition=Established", "--timeout=120s", "crd", "--all")
    kubeconfig = await write_kubeconfig(cluster, tmp_path / "kubeconfig")
    server = EspalierProcess(tmp_path / "server", kubeconfig, (free_port(), free_port()))
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
    reported = await asyncio.to_thread(server.log.read_text)
    assert [line for line in reported.splitlines() if "is forbidden: User" in line] == []


async def test_api_servers_without_streaming_lists_are_read_in_pages_and_live(
    cluster, run, tmp_path
):
    _, printed, _ = await run("--standalone")
    await cluster.kubectl("apply", "--server-side", "-f", "-", input=printed)
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=120s", "crd", "--all")
    await eventually(
        partial(cluster.kubectl, "create", "-f", "-", input=live_reads.make_binding("garden"))
    )
    try:
        await _check_reads(cluster, tmp_path, Layout())
    finally:
        await run("--uninstall", "--force")


async def test_beside_a_gardener_older_api_servers_are_read_in_pages_and_live(
    garden, tmp_path, capsys
):
    gardener = GardenCluster(garden, tmp_path)
    await gardener.install()
    tortoises = tortoise_definition()
    await garden.kubectl("create", "-f", "-", input=tortoises)
    crd_of_tortoises = f"crd/{tortoises['metadata']['name']}"
    await garden.kubectl("wait", "--for=condition=Established", crd_of_tortoises)
    try:
        await _check_reads(garden, tmp_path, Layout(beside_gardener=True))
    finally:
        await garden.kubectl("delete", crd_of_tortoises)
        flags = (f"--kubeconfig={garden.kubeconfig}", "--uninstall", "--crds")
        await asyncio.to_thread(espalier, capsys, *flags)


async def _check_reads(server: Kubernetes, folder: Path, layout: Layout) -> None:
    """Check that a server with the account of a layout can read all that it needs."""
    settings = live_reads.write_settings(folder)
    stray = live_reads.make_ledger(layout.namespace)
    await server.kubectl("create", "-f", "-", input=stray)
    access = await account_access(server, layout)
    async with open_proxy(server, folder, "pages", access) as proxy:
        proxy.has_streaming_lists = False
        # Without a URL, the leader looks for the Service before it creates webhooks.
        flags = ("--manage-webhooks=true", "--drain-quiet=0", "--retry-period=0.5")
        replica = Replica("pages", folder, proxy.kubeconfig, f"--config={settings}", *flags)
        async with running(replica):
            await replica.until_ready()
            await replica.logged("reading pages instead of a streaming list")
            assert {*await live_reads.send_reviews(replica, "garden")} == {200}
            made = await server.kubectl("create", "token", "default", "-n", layout.namespace)
            assert await live_reads.explain(replica, "made-up") == 401
            assert await live_reads.explain(replica, made.stdout.strip()) == 403
            await replica.logged("renewed the certificate")
            of_ledger = ("configmap", stray["metadata"]["name"], "-n", layout.namespace)
            await server.kubectl("wait", "--for=delete", "--timeout=60s", *of_ledger)
            assert await replica.end() == 0


async def test_installing_and_leaving(cluster, run):
    kubectl = cluster.kubectl
    code, printed, _ = await run()
    assert code == 0
    applied = await kubectl("apply", "--server-side", "-f", "-", input=printed)
    assert "Warning" not in applied.stderr
    await kubectl("wait", "--for=condition=Established", "--timeout=120s", "crd", "-l",
                  "app.kubernetes.io/part-of=espalier")  # fmt: skip
    await kubectl("apply", "-k", str(FOLDER / "kube-scheduler"))
    await _check_permissions(kubectl)
    hook = await _create_what_espalier_leaves_behind(kubectl)
    await _cordon_and_hide(kubectl)

    code, _, complaint = await run("--uninstall")
    assert code == 1
    assert "garden/waiting" in complaint
    assert (await kubectl("get", "-f", "-", input=hook)).code == 0

    code, printed, complaint = await run("--uninstall", "--force")
    assert (code, complaint) == (0, "")
    deleted = printed.index("deleting validatingwebhookconfiguration/espalier")
    assert deleted < printed.index("cleaned shoot/garden/waiting")
    assert f"keeps {names.PAUSED}, which Espalier did not write" in printed
    await _check_that_only_foreign_marks_are_left(kubectl)
    await _check_that_seeds_are_released(kubectl)

    code, _, complaint = await run("--uninstall", "--crds", "--force")
    assert (code, complaint) == (0, "")
    ours = ("crd", "-l", "app.kubernetes.io/part-of=espalier")
    await kubectl("wait", "--for=delete", "--timeout=120s", *ours, check=False)
    defined = await kubectl("get", *ours, "-o", "name")
    assert defined.stdout.strip() == ""


async def _check_permissions(kubectl: Kubectl) -> None:
    account = "--as=system:serviceaccount:espalier-system:espalier"
    for allowed in ("update shoots.core.gardener.cloud --subresource=binding", "watch seeds"):
        reported = await kubectl("auth", "can-i", *allowed.split(), account, "-A")
        assert reported.stdout.strip() == "yes"
    for refused in (
        "list secrets -A",
        "delete mutatingwebhookconfigurations",
        "create clusterroles",
    ):
        reported = await kubectl("auth", "can-i", *refused.split(), account, check=False)
        assert reported.stdout.strip() == "no"


async def _create_what_espalier_leaves_behind(kubectl: Kubectl) -> Draft:
    """Create a pending shoot with our marks and a webhook configuration; return the latter."""
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
    return hook


async def _cordon_and_hide(kubectl: Kubectl) -> None:
    """Create a seed that is drained, one that is hidden, and the autoscaler that holds both."""
    autoscaler = {
        "apiVersion": "seedmanagement.gardener.cloud/v1beta1",
        "kind": "SeedAutoscaler",
        "metadata": {"name": "leaf", "namespace": "garden"},
        "spec": {
            "scaleTargetRef": {"kind": "ManagedSeedSet", "name": "leaf"},
            "maxReplicas": 3,
            "metrics": [],
        },
    }
    await kubectl("apply", "-f", "-", input=autoscaler)
    await _patch(kubectl, "seedautoscaler/leaf", {"metadata": {"finalizers": [names.FINALIZER]}})
    for name in ("drained", "hidden"):
        await kubectl("create", "-f", "-", input=make_seed(name))
    taints = [{"key": "theirs"}, {"key": names.CORDON_TAINT}]
    held = {"annotations": {names.CORDONED_BY: "garden/leaf"}, "finalizers": [names.FINALIZER]}
    await _patch(kubectl, "seed/drained", {"metadata": held, "spec": {"taints": taints}})
    chosen = {"metadata": {"annotations": {names.SCALE_IN: "hidden"}}}
    invisible = {"spec": {"settings": {"scheduling": {"visible": False}}}}
    await _patch(kubectl, "seed/hidden", {**chosen, **invisible})


async def _patch(kubectl: Kubectl, target: str, change: Draft) -> None:
    where = (target, "-n", "garden", "--type=merge", "--field-manager=espalier")
    await kubectl("patch", *where, "-p", json.dumps(change))


async def _check_that_seeds_are_released(kubectl: Kubectl) -> None:
    """Check that shoots may be placed again, and that no deletion waits for Espalier."""
    seeds = json.loads((await kubectl("get", "seeds", "-o", "json")).stdout)["items"]
    specs = {each["metadata"]["name"]: each["spec"] for each in seeds}
    assert specs["drained"]["taints"] == [{"key": "theirs"}]
    assert specs["hidden"]["settings"]["scheduling"]["visible"] is True
    assert "espalier" not in json.dumps([each["metadata"].get("annotations") for each in seeds])
    await kubectl("delete", "seedautoscaler/leaf", "-n", "garden", "--timeout=30s")
    await kubectl("delete", "seed/drained", "seed/hidden", "--timeout=30s")


async def _check_that_only_foreign_marks_are_left(kubectl: Kubectl) -> None:
    left = json.loads((await kubectl("get", "shoot/waiting", "-n", "garden", "-o", "json")).stdout)
    assert "finalizers" not in left["metadata"]
    assert "labels" not in left["metadata"]
    assert left["metadata"]["annotations"][names.PAUSED] == "true"
    kinds = "clusterroles,clusterrolebindings,priorityclasses,roles,rolebindings"
    others = await kubectl("get", kinds, "-A", "-o", "name")
    assert "espalier" not in others.stdout


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
    # Both have the same group: ours from a CRD, Gardener's from its aggregated server.
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
    # Installing into a namespace that is still being deleted would be refused.
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
            _, output = await process.communicate()
        assert process.returncode == 2
        assert f"an aggregated API covers our definitions of {shoots.resource}" in output.decode()
    finally:
        await garden.kubectl("delete", "crd", shoots.resource)


async def test_leaving_a_garden_leaves_it_as_if_we_had_never_been_there(garden, tmp_path, capsys):
    def run(*flags: str) -> tuple[int, str, str]:
        return espalier(capsys, f"--kubeconfig={garden.kubeconfig}", *flags)

    gardener, here = GardenCluster(garden, tmp_path), ("-n", "garden-local")
    await gardener.install()
    await gardener.start()
    try:
        async with simulated_gardenlets(garden, tmp_path / "play"):
            await object_pairs.live(gardener, MET)
            rolled = await object_pairs.roll(gardener)
            twin = {names.REGION_AFFINITY: "preferred"}
            waiting = garden_cluster.make_shoot(
                "waiting",
                schedulerName="espalier",
                annotations=twin,
                seedSelector=object_pairs.NOWHERE,
            )
            await garden.kubectl("create", "-f", "-", input=waiting)
            for what in ("label", "annotate"):
                await garden.kubectl(what, f"shoot/{MET}", *here, f"{names.PREFIX}mine=x",
                                     "--field-manager=espalier")  # fmt: skip
            code, _, complaint = await asyncio.to_thread(run, "--uninstall")
            assert (code, "garden-local/waiting" in complaint) == (1, True)
            code, output, complaint = await asyncio.to_thread(
                run, "--uninstall", "--force", "--crds"
            )
            assert (code, complaint) == (0, "")
            await object_pairs.live(gardener, NEW)
            with contextlib.suppress(TimeoutError):
                await eventually(lambda: object_pairs.are_equal(gardener, MET, NEW))
            assert await object_pairs.differences(gardener, MET, NEW) == []
            await object_pairs.check_left(gardener, rolled)
    finally:
        await gardener.stop()
    assert f"cleaned shoot/garden-local/{MET}" in output
    assert f"waiting keeps {names.REGION_AFFINITY}, which Espalier did not write" in output
    assert f"{rolled} keeps {names.ROLLOUT}, which Espalier did not write" in output
    kinds = "clusterroles,clusterrolebindings,roles,rolebindings,crds,priorityclasses"
    hooks = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    left = await garden.kubectl("get", f"{kinds},{hooks}", "-A", "-o", "name")
    assert [line for line in left.stdout.splitlines() if "espalier" in line] == []


async def test_a_server_that_somebody_runs_in_the_garden_brings_nothing_back(
    garden, tmp_path, capsys
):
    hooks = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
    quick = ("--namespace=garden", "--retry-period=0.3")
    server = EspalierProcess(
        tmp_path / "server", garden.kubeconfig, (free_port(), free_port()), *quick
    )
    await server.start()
    try:
        for each in hooks.split(","):
            await garden.kubectl("wait", "--for=create", "--timeout=120s", f"{each}/espalier")
        flags = (f"--kubeconfig={garden.kubeconfig}", "--uninstall", "--namespace=garden")
        code, output, complaint = await asyncio.to_thread(espalier, capsys, *flags, "--force")
        assert (code, complaint) == (0, "")
        assert "nobody would place them any more:\n  garden-local/waiting" in output
        # Longer than it takes to find the marker, to acquire the lease and to create webhooks.
        await asyncio.sleep(POLL_SECONDS + 2)
        left = await garden.kubectl("get", hooks, "-o", "name")
        kept = await garden.kubectl(
            "get", "leases,secrets,configmaps", "-n", "garden", "-o", "name"
        )
        found = (left.stdout + kept.stdout).splitlines()
        assert [line for line in found if "espalier" in line] == []
        async with aiohttp.ClientSession() as session:
            answer = await session.get(f"{server.http_url}/readyz")
            assert answer.status == 200
            assert (
                f"uninstalled by ConfigMap garden/{names.UNINSTALL_MARKER}" in await answer.text()
            )
    finally:
        await server.stop()
