"""What Espalier discovers about a cluster, and what it leaves unchanged."""

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

from tests.behaviour import object_pairs
from tests.behaviour.discovery import (
    HOOKS,
    command,
    desired,
    drift,
    has_reconciled_all,
    hooks,
    is_beside_gardener,
    length,
    logged_since,
    make_apiservice,
    make_pool,
    read_objects,
    readiness,
    without_apiservice,
    written,
)
from tests.behaviour.sample_objects import make_prometheus
from tests.support.account import write_kubeconfig
from tests.support.control_planes import kubernetes, require_parts
from tests.support.garden_cluster import (
    GardenCluster,
    make_shoot,
    ready_seed,
    unique,
)
from tests.support.waits import eventually
from webhook.api import names
from webhook.cli import doctor, manifests
from webhook.cluster.discovery import GARDENER_API
from webhook.dev.planes.gardener import PROJECT_NAMESPACE
from webhook.dev.planes.kubectl import Completed
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.mcm import crds_folder
from webhook.dev.planes.ports import free_port
from webhook.dev.server import EspalierProcess

pytestmark = pytest.mark.timeout(300)

SEEDS = "seedmanagement.gardener.cloud"
SYSTEM = "espalier-system"
HERE = f"--namespace={PROJECT_NAMESPACE}"


@pytest.fixture
def examine(capsys):
    """Run `espalier doctor` and return its checks of a cluster, by subject."""

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


# Existing objects.


async def test_nothing_that_exists_changes_by_the_installation_alone(gardener, printing):
    require_parts("mcm")
    assert gardener.server is not None
    folder, name = ("-f", str(crds_folder())), unique("z")
    await gardener.server.stop()
    try:
        await gardener.kubectl("apply", "--server-side", *folder)
        await gardener.kubectl("wait", "--for=condition=Established", "--timeout=120s", *folder)
        await asyncio.gather(object_pairs.live(gardener, name), drift(gardener, name))
        pool = make_pool(f"shoot--{name}")
        await eventually(lambda: gardener.kubectl("apply", "-f", "-", input=pool))
        before, log = await read_objects(gardener, name), await length(gardener.server)
        code, printed, _ = await printing(gardener.plane.kubeconfig, "--advertise-url=https://h:1")
        assert code == 0
        await gardener.kubectl("apply", "-f", "-", input=printed)
        await gardener.server.start()
        await eventually(partial(has_reconciled_all, gardener.server))
        after = await read_objects(gardener, name)
        theirs = {"gardener-controller-manager", "gardener-scheduler", "local-provider"}
        assert before.keys() <= after.keys()
        for key, old in before.items():
            assert desired(after[key]) == desired(old), key
            assert written(old, after[key]) <= theirs, key
        records = await gardener.get("configmaps", "-n", SYSTEM, "-l", names.POOL_LABEL)
        assert [each for each in records["items"] if name in each["metadata"]["name"]] == []
        reported = await logged_since(gardener.server, log)
        assert len(re.findall(r"\bbeside a Gardener\b", reported)) == 1
        # It runs all the same: an object that asks for more gets it.
        zones = ("machinedeployments", "--all", "-n", f"shoot--{name}")
        settings = {names.SIZING_STRATEGY: "Adaptive", names.POOL_MAXIMUM: "4"}
        await gardener.kubectl(
            "annotate", *zones, *(f"{key}={each}" for key, each in settings.items())
        )
        label = f"--for=jsonpath={{.metadata.labels.{names.ADAPTIVE_NAMESPACE}}}=true"
        label = label.replace("gardener.cloud", r"gardener\.cloud").replace(
            "espalier.", r"espalier\."
        )
        await gardener.kubectl("wait", label, "--timeout=60s", f"namespace/shoot--{name}")
    finally:
        if not gardener.server.is_running:
            await gardener.server.start()
        await gardener.kubectl("delete", "--wait=false", "namespace", f"shoot--{name}", check=False)
        await gardener.kubectl("delete", *folder, check=False)


# Doctor, and a Gardener that is down or removed.


async def test_doctor_lists_what_espalier_manages_and_what_it_leaves(gardener, examine):
    found = await examine(gardener.plane.kubeconfig)
    assert found["Gardener"].startswith("there; Espalier adds to it")
    assert f"SeedAutoscaler, Zone ({SEEDS}/v1beta1)" in found["definitions of ours"]
    assert f"ManagedSeed, ManagedSeedSet ({SEEDS}/v1alpha1)" in found["served by others"]
    # It claims the group and version and yet does not have the kind.
    assert "BackupInfrastructure" not in found["served by others"]
    left = found["policies left to Gardener"].split(", ")
    assert {"shoot.confirmation", "seed.deletion", "managedseed.deletion"} <= {*left}
    assert "shoot.workers" in found["policies of ours"]
    assert "shoots/binding" not in found


async def test_doctor_names_the_rights_that_are_missing(gardener, examine, tmp_path):
    poor = await asyncio.to_thread(gardener.plane.apiserver.access, "poor", ())
    kubeconfig = await asyncio.to_thread(poor.write_kubeconfig, tmp_path / "kubeconfig")
    found = await examine(kubeconfig)
    assert "cannot list" in found["landscape"]
    # Without the APIServices, it is unknown whether there is a Gardener.
    assert found["shoots/binding"].startswith("you may not update; the server needs this")


async def _has_reported(server: EspalierProcess, before: int) -> str:
    reported = await logged_since(server, before)
    return reported if re.search("(beside|without) a Gardener", reported) else ""


async def _is_up_to_date(server: EspalierProcess) -> bool:
    return "stale" not in await readiness(server)


async def test_an_apiservice_that_goes_makes_no_landscape_without_a_gardener(gardener, examine):
    seed = unique("seed-")
    await ready_seed(gardener, seed)
    await place(gardener, seed)
    ledger = ("configmap", f"espalier-ledger-{seed}", "-n", SYSTEM)
    kept, before = await gardener.get(*ledger), await hooks(gardener.kubectl)
    log = await length(gardener.server)
    async with without_apiservice(gardener, GARDENER_API):
        await eventually(partial(_is_unserved, gardener.server, log))
        # A new leader collects all ledgers at once, and cannot have seen the Gardener itself.
        log = await length(gardener.server)
        await gardener.server.restart()
        reported = await eventually(partial(_has_reported, gardener.server, log))
        assert "a Gardener was seen before and its APIService is gone" in reported
        assert "without a Gardener" not in reported
        await eventually(partial(_leads, gardener.server))
        found = await examine(gardener.plane.kubeconfig)
        assert found["Gardener"].startswith("was seen here")
        assert await hooks(gardener.kubectl) == before
        assert await gardener.get(*ledger) == kept
    await eventually(partial(_is_up_to_date, gardener.server), 90)
    await eventually(lambda: place(gardener, seed))


async def place(gardener: GardenCluster, seed: str) -> bool:
    shoot = make_shoot(schedulerName="espalier", seedSelector={"matchLabels": {"test": seed}})
    await gardener.kubectl("create", "-f", "-", input=shoot)
    placed = (f"--for=jsonpath={{.spec.seedName}}={seed}", "--timeout=60s")
    await gardener.kubectl("wait", *placed, f"shoot/{shoot['metadata']['name']}", HERE)
    return True


async def _metric(server: EspalierProcess, pattern: str) -> list[str]:
    address = f"{server.http_url}/metrics"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return re.findall(pattern, await answer.text(), re.MULTILINE)


async def _is_unserved(server: EspalierProcess, before: int) -> bool:
    reported = await logged_since(server, before)
    return all(
        re.search(rf"kind is not served.*kind={kind}\b", reported) is not None
        for kind in ("Shoot", "Seed")
    )


async def _leads(server: EspalierProcess) -> bool:
    return await _metric(server, r"^espalier_leader (\S+)$") == ["1.0"]


async def test_a_gardener_that_is_down_at_the_start_is_there_all_the_same(gardener, examine):
    process = gardener.plane.gardener_apiserver
    await process.kill()
    try:
        log = await length(gardener.server)
        await gardener.server.restart()
        reported = await eventually(partial(_has_reported, gardener.server, log))
        assert "beside a Gardener" in reported
        assert is_beside_gardener(await hooks(gardener.kubectl))
        found = await examine(gardener.plane.kubeconfig)
        assert found["Gardener"].startswith("there")
        assert "does not answer now" in found["core.gardener.cloud/v1beta1"]
        assert "cannot be checked" in found["rollouts"]
        assert "seed.deletion" in found["policies left to Gardener"]
    finally:
        await process.start()
    await eventually(partial(_is_up_to_date, gardener.server), 90)


# A cluster without a Gardener, and one that gets a Gardener.


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kubernetes]:
    """A separate cluster, because taking a group over would break tests that share one."""
    require_parts("mcm")
    async with kubernetes(tmp_path_factory.mktemp("discovery")) as server:
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
    applied = await install(cluster, printed)
    assert "Warning" not in applied.stderr
    assert len(applied.stdout.splitlines()) == len(items)
    assert (await kubectl(*versions)).stdout == before


async def test_a_gardener_that_comes_over_our_definitions_is_named_and_stands_first(
    cluster, printing, examine, tmp_path
):
    kubectl = cluster.kubectl
    _, printed, _ = await printing(cluster.kubeconfig)
    await install(cluster, printed)
    kubeconfig = await write_kubeconfig(cluster, tmp_path / "kubeconfig")
    server = EspalierProcess(tmp_path / "server", kubeconfig, (free_port(), free_port()))
    await server.start()
    try:
        for hook in HOOKS:
            await kubectl("wait", "--for=create", "--timeout=120s", hook)
        assert not is_beside_gardener(await hooks(kubectl))
        for group, version in ((SEEDS, "v1alpha1"), ("core.gardener.cloud", "v1beta1")):
            await kubectl("replace", "-f", "-", input=make_apiservice(group, version))
        await eventually(partial(_has_switched, kubectl))
        reported = await asyncio.to_thread(server.log.read_text)
        stopped = re.findall(r"error +an aggregated API covers our definitions.*", reported)
        assert any("'Seed'" in line and "'Shoot'" in line for line in stopped), stopped
        again = re.findall(r"error +an aggregated API claims a version of our defin.*", reported)
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


async def install(cluster: Kubernetes, printed: str) -> Completed:
    """Apply manifests and wait until their definitions are established."""
    applied = await cluster.kubectl("apply", "-f", "-", input=printed)
    ours = ("crd", "-l", f"{names.MANAGED_BY}={names.FIELD_MANAGER}")
    await cluster.kubectl("wait", "--for=condition=Established", "--timeout=120s", *ours)
    return applied


async def _has_switched(kubectl: Any) -> bool:
    return is_beside_gardener(await hooks(kubectl))
