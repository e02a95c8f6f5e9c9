"""What Espalier finds out about a cluster, and what it leaves as it is when it comes there."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml

from tests.behaviour import twins
from tests.behaviour.discovering import (
    HOOKS,
    asked,
    command,
    drift,
    has_looked,
    hooks,
    is_beside,
    length,
    look,
    make_apiservice,
    make_pool,
    readiness,
    said_since,
    without_apiservice,
    written,
)
from tests.behaviour.samples import make_prometheus
from tests.gardening import ACCOUNT, GROUPS, Beside, make_shoot, ready_seed, unique
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

SEEDS = "seedmanagement.gardener.cloud"
SYSTEM = "espalier-system"
HERE = f"--namespace={PROJECT_NAMESPACE}"


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


# What exists.


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
