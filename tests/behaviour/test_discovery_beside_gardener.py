"""What Espalier finds out about a cluster, and what it leaves as it is when it comes there."""

import argparse
import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml

from tests.behaviour import twins
from tests.behaviour.samples import make_prometheus
from tests.gardening import ACCOUNT, GROUPS, Beside, make_set, make_shoot, ready_seed, unique
from tests.machines import make_deployment
from tests.planes import require_parts
from tests.waiting import eventually
from webhook.api import names
from webhook.cli import doctor, manifests
from webhook.cli.dev.server import Server
from webhook.cluster.landscape import GARDENER
from webhook.planes.gardener import PROJECT_NAMESPACE
from webhook.planes.kubernetes import Kubernetes
from webhook.planes.mcm import crds_folder
from webhook.planes.ports import free_port

pytestmark = pytest.mark.timeout(300)

HOOKS = ("mutatingwebhookconfiguration/espalier", "validatingwebhookconfiguration/espalier")
SEEDS = "seedmanagement.gardener.cloud"
SYSTEM = "espalier-system"
HERE = f"--namespace={PROJECT_NAMESPACE}"


def command(module: Any, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str, str]:
    """Run a command of ours in this process."""
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    code = module.run(parser.parse_args(flags))
    return code, *capsys.readouterr()


@pytest.fixture
def examine(capsys):
    """Run `espalier doctor` and give its findings about a cluster, by subject."""

    async def examine(kubeconfig: Path) -> dict[str, str]:
        flags = (f"--kubeconfig={kubeconfig}", "-o", "json")
        _, printed, _ = await asyncio.to_thread(command, doctor, capsys, *flags)
        return {found["subject"]: found["message"] for found in json.loads(printed)}

    return examine


@pytest.fixture
def printing(capsys):
    """Run `espalier manifests` against a cluster."""

    async def printing(kubeconfig: Path, *flags: str) -> tuple[int, str, str]:
        where = f"--kubeconfig={kubeconfig}"
        return await asyncio.to_thread(command, manifests, capsys, where, *flags)

    return printing


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


# What exists.


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


async def test_nothing_that_exists_changes_by_the_installation_alone(beside, printing):
    require_parts("mcm")
    assert beside.server is not None
    folder, name = ("-f", str(crds_folder())), unique("z")
    await beside.server.stop()
    try:
        await beside.kubectl("apply", "--server-side", *folder)
        await beside.kubectl("wait", "--for=condition=Established", "--timeout=120s", *folder)
        await asyncio.gather(twins.live(beside, name), drift(beside, name))
        pool = make_pool(f"shoot--{name}")
        await eventually(lambda: beside.kubectl("apply", "-f", "-", input=pool))
        before, log = await look(beside, name), await length(beside.server)
        code, printed, _ = await printing(beside.plane.kubeconfig, "--advertise-url=https://h:1")
        assert code == 0
        await beside.kubectl("apply", "-f", "-", input=printed)
        await beside.server.start()
        await eventually(partial(has_looked, beside.server))
        after = await look(beside, name)
        theirs = {"gardener-controller-manager", "gardener-scheduler", "local-provider"}
        assert before.keys() <= after.keys()
        for key, old in before.items():
            assert asked(after[key]) == asked(old), key
            assert written(old, after[key]) <= theirs, key
        records = await beside.get("configmaps", "-n", SYSTEM, "-l", names.POOL_LABEL)
        assert [each for each in records["items"] if name in each["metadata"]["name"]] == []
        told = await said_since(beside.server, log)
        assert len(re.findall(r"\bbeside a Gardener\b", told)) == 1
        # It is there and at work all the same: whoever asks for more gets it.
        zones = ("machinedeployments", "--all", "-n", f"shoot--{name}")
        wishes = {names.SIZING_STRATEGY: "Adaptive", names.POOL_MAXIMUM: "4"}
        await beside.kubectl("annotate", *zones, *(f"{key}={each}" for key, each in wishes.items()))
        label = f"--for=jsonpath={{.metadata.labels.{names.ADAPTIVE_NAMESPACE}}}=true"
        label = label.replace("gardener.cloud", r"gardener\.cloud").replace(
            "espalier.", r"espalier\."
        )
        await beside.kubectl("wait", label, "--timeout=60s", f"namespace/shoot--{name}")
    finally:
        if not beside.server.is_running:
            await beside.server.start()
        await beside.kubectl("delete", "--wait=false", "namespace", f"shoot--{name}", check=False)
        await beside.kubectl("delete", *folder, check=False)


# Doctor, and a Gardener that is down or goes.


async def test_doctor_tells_what_is_taken_on_and_what_is_left(beside, examine):
    found = await examine(beside.plane.kubeconfig)
    assert found["Gardener"].startswith("there; Espalier adds to it")
    assert f"SeedAutoscaler, Zone ({SEEDS}/v1beta1)" in found["definitions of ours"]
    assert f"ManagedSeed, ManagedSeedSet ({SEEDS}/v1alpha1)" in found["served by others"]
    # It claims the group and version and yet has no such kind.
    assert "BackupInfrastructure" not in found["served by others"]
    left = found["policies left to Gardener"].split(", ")
    assert {"shoot.confirmation", "seed.deletion", "managedseed.deletion"} <= {*left}
    assert "shoot.workers" in found["policies of ours"]
    assert "shoots/binding" not in found


async def test_doctor_names_the_rights_that_are_missing(beside, examine, tmp_path):
    poor = await asyncio.to_thread(beside.plane.apiserver.access, "poor", ())
    kubeconfig = await asyncio.to_thread(poor.write_kubeconfig, tmp_path / "kubeconfig")
    found = await examine(kubeconfig)
    assert "cannot list" in found["landscape"]
    assert found["shoots/binding"].startswith("you may not update, patch, which serving needs")


async def _tells_itself(server: Server, before: int) -> str:
    told = await said_since(server, before)
    return told if re.search("(beside|without) a Gardener", told) else ""


async def _is_up_to_date(server: Server) -> bool:
    return "stale" not in await readiness(server)


async def test_an_apiservice_that_goes_makes_no_landscape_without_a_gardener(beside, examine):
    seed = unique("seed-")
    await ready_seed(beside, seed)
    await place(beside, seed)
    ledger = ("configmap", f"espalier-ledger-{seed}", "-n", SYSTEM)
    kept, before = await beside.get(*ledger), await hooks(beside.kubectl)
    log = await length(beside.server)
    async with without_apiservice(beside, GARDENER):
        await eventually(partial(_is_unserved, beside.server, log))
        # A new leader reviews all ledgers at once, and cannot have seen the Gardener itself.
        log = await length(beside.server)
        await beside.server.restart()
        told = await eventually(partial(_tells_itself, beside.server, log))
        assert "a Gardener was here before and its APIService is gone" in told
        assert "without a Gardener" not in told
        await eventually(partial(_leads, beside.server))
        found = await examine(beside.plane.kubeconfig)
        assert found["Gardener"].startswith("was seen here")
        assert await hooks(beside.kubectl) == before
        assert await beside.get(*ledger) == kept
    await eventually(partial(_is_up_to_date, beside.server), 90)
    await eventually(lambda: place(beside, seed))


async def place(beside: Beside, seed: str) -> bool:
    shoot = make_shoot(schedulerName="espalier", seedSelector={"matchLabels": {"test": seed}})
    await beside.kubectl("create", "-f", "-", input=shoot)
    placed = (f"--for=jsonpath={{.spec.seedName}}={seed}", "--timeout=60s")
    await beside.kubectl("wait", *placed, f"shoot/{shoot['metadata']['name']}", HERE)
    return True


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


async def _metric(server: Server, pattern: str) -> list[str]:
    address = f"{server.plain_url}/metrics"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return re.findall(pattern, await answer.text(), re.MULTILINE)


async def _is_unserved(server: Server, before: int) -> bool:
    told = await said_since(server, before)
    return all(
        re.search(rf"kind is not served.*kind={kind}\b", told) is not None
        for kind in ("Shoot", "Seed")
    )


async def _leads(server: Server) -> bool:
    return await _metric(server, r"^espalier_leader (\S+)$") == ["1.0"]


async def test_a_gardener_that_is_down_at_the_start_is_there_all_the_same(beside, examine):
    process = beside.plane.gardener_apiserver
    await process.kill()
    try:
        log = await length(beside.server)
        await beside.server.restart()
        told = await eventually(partial(_tells_itself, beside.server, log))
        assert "beside a Gardener" in told
        assert is_beside(await hooks(beside.kubectl))
        found = await examine(beside.plane.kubeconfig)
        assert found["Gardener"].startswith("there")
        assert "does not answer now" in found["core.gardener.cloud/v1beta1"]
        assert "cannot be told" in found["rollouts"]
        assert "seed.deletion" in found["policies left to Gardener"]
    finally:
        await process.start()
    await eventually(partial(_is_up_to_date, beside.server), 90)


# A cluster without a Gardener, and one that comes.


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kubernetes]:
    """A cluster of our own: taking a group over would hurt those who share one."""
    require_parts("etcd", "kubernetes", "mcm")
    async with Kubernetes(tmp_path_factory.mktemp("discovery"), durable=False) as server:
        yield server


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


async def test_what_others_define_is_left_alone_and_the_rest_is_applied(cluster, printing):
    kubectl, folder = cluster.kubectl, ("-f", str(crds_folder()))
    await kubectl("apply", *folder)
    await kubectl("apply", "-f", "-", input=make_prometheus())
    await kubectl("wait", "--for=condition=Established", "--timeout=120s", "crd", "--all")
    versions = ("get", *folder, "-o", "jsonpath={.items[*].metadata.resourceVersion}")
    before = (await kubectl(*versions)).stdout
    assert len(before.split()) == 4
    code, printed, _ = await printing(cluster.kubeconfig)
    assert code == 0
    items = [*yaml.safe_load_all(printed)]
    defined = {item["spec"]["group"] for item in items if "Definition" in item["kind"]}
    assert {"core.gardener.cloud", SEEDS, "autoscaling.mercari.com"} <= defined
    assert "machine.sapcloud.io" not in defined
    assert {"PrometheusRule", "ServiceMonitor"} <= {item["kind"] for item in items}
    applied = await kubectl("apply", "-f", "-", input=printed)
    assert "Warning" not in applied.stderr
    assert len(applied.stdout.splitlines()) == len(items)
    ours = ("crd", "-l", f"{names.MANAGED_BY}={names.FIELD_MANAGER}")
    await kubectl("wait", "--for=condition=Established", "--timeout=120s", *ours)
    assert (await kubectl(*versions)).stdout == before


async def test_a_gardener_that_comes_over_our_definitions_is_named_and_stands_first(
    cluster, printing, examine, tmp_path
):
    kubectl = cluster.kubectl
    account = await asyncio.to_thread(cluster.apiserver.access, ACCOUNT, GROUPS)
    kubeconfig = await asyncio.to_thread(account.write_kubeconfig, tmp_path / "kubeconfig")
    server = Server(tmp_path / "server", kubeconfig, (free_port(), free_port()))
    await server.start()
    try:
        for hook in HOOKS:
            await kubectl("wait", "--for=create", "--timeout=120s", hook)
        assert not is_beside(await hooks(kubectl))
        for group, version in ((SEEDS, "v1alpha1"), ("core.gardener.cloud", "v1beta1")):
            await kubectl("replace", "-f", "-", input=make_apiservice(group, version))
        await eventually(partial(_has_switched, kubectl))
        told = await asyncio.to_thread(server.log.read_text)
        stopped = re.findall(r"error +an aggregated API covers our definitions.*", told)
        assert any("'Seed'" in line and "'Shoot'" in line for line in stopped), stopped
        again = re.findall(r"error +an aggregated API claims a version of our defin.*", told)
        assert any("'SeedAutoscaler', 'Zone'" in line for line in again), again
        ready = await readiness(server)
        assert "shoots.core.gardener.cloud" in ready
        assert "seedautoscalers" not in ready
        await kubectl("get", "configmap", names.GARDENER_SEEN, "-n", SYSTEM)
    finally:
        await server.stop()
    found = await examine(cluster.kubeconfig)
    assert "delete one of them" in found["shoots.core.gardener.cloud"]
    assert "claims v1alpha1 of our definition" in found[f"zones.{SEEDS}"]
    code, _, complaint = await printing(cluster.kubeconfig)
    assert code == 2
    assert "shoots.core.gardener.cloud" in complaint
    assert f"zones.{SEEDS}" not in complaint


async def _has_switched(kubectl: Any) -> bool:
    return is_beside(await hooks(kubectl))
