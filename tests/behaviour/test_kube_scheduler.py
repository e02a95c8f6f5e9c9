"""An unmodified kube-scheduler queues, calls the extender and binds; the result is ours."""

import asyncio
import base64
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from tests.behaviour.demo_landscape import DemoLandscape
from tests.support.account import account_kubeconfig
from tests.support.scheduler import Stage, connected, define_kinds
from tests.support.waits import eventually
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.cli.install.layout import Layout
from webhook.cluster.errors import NotFoundError
from webhook.dev.landscapes import demo
from webhook.dev.planes.ports import free_port
from webhook.domain.options import Options
from webhook.kube.meta import ObjectKey

pytestmark = pytest.mark.timeout(300)

MANIFESTS = Path(__file__).parents[2] / "manifests" / "kube-scheduler"


@pytest.fixture
async def namespace(real_server):
    name = f"test-{uuid4().hex[:8]}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await real_server.kubectl("create", "-f", "-", input=body)
    yield name
    await real_server.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def stage(real_server, namespace):
    await define_kinds(real_server)
    priorities = MANIFESTS / "priorityclasses.yaml"
    await real_server.kubectl("apply", "-f", str(priorities))
    await real_server.kubectl("create", "serviceaccount", "default", "-n", namespace, check=False)
    options = Options(namespace=namespace)
    async with connected(str(real_server.kubeconfig), options) as scheduling:
        found = Stage(scheduling, namespace)
        await found.begin()
        yield found
        await found.end()


@pytest.fixture
async def port(real_server, namespace, tmp_path):
    """`espalier serve` with kube-scheduler as its engine."""
    config = tmp_path / "espalier.yaml"
    config.write_text("scheduler: {engine: kube-scheduler}\n")
    layout, port = Layout(namespace=namespace), free_port()
    flags = {
        "config": config,
        "kubeconfig": await account_kubeconfig(
            real_server, tmp_path / "kubeconfig", layout, bridge=True
        ),
        "namespace": namespace,
        "host": "127.0.0.1",
        "port": port,
        "http-host": "127.0.0.1",
        "http-port": free_port(),
        "roles": "extender,controllers",
        "manage-webhooks": "false",
        "client-ca": real_server.admin.ca_file,
        "certificate-names": "127.0.0.1",
        "drain-quiet": 0,
    }
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    with (tmp_path / "serve.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "webhook", "serve", *arguments, stdout=log, stderr=log
        )
    yield port
    process.terminate()
    await process.wait()


@pytest.fixture
async def kube_scheduler(real_server, stage, port, tmp_path):
    """A real kube-scheduler with our configuration; only the addresses of files and ports differ.

    It trusts the CA of the serving certificate, and is the user to which our manifests grant the
    permission to bind shoots.
    """
    config = yaml.safe_load((MANIFESTS / "config.yaml").read_text())
    config["leaderElection"] = {"leaderElect": False}
    (extender,) = config["extenders"]
    extender["urlPrefix"] = f"https://127.0.0.1:{port}/scheduler"
    access = await asyncio.to_thread(real_server.apiserver.access, "espalier-kube-scheduler")
    files = {
        "caFile": tmp_path / "ca.crt",
        "certFile": access.client_files.certificate,
        "keyFile": access.client_files.key,
    }
    assert extender["tlsConfig"].keys() == files.keys()
    extender["tlsConfig"] = {key: str(path) for key, path in files.items()}
    await eventually(lambda: _write_authority(stage, files["caFile"]), 120)
    await real_server.kubectl("apply", "-f", "-", input=_permission_to_bind())
    scheduler = real_server.scheduler(config)
    await scheduler.start()
    yield scheduler
    await scheduler.stop()


async def test_the_demo_landscapes_shoots_get_the_seeds_that_explain_predicts(
    stage, real_server, kube_scheduler
):
    demonstration = DemoLandscape(stage)
    await demonstration.begin()
    drafts = demonstration.shoots()
    ends = demonstration.explained(drafts)
    for name in [stage.name(row.name) for row in demo.SEEDS]:
        await eventually(lambda name=name: _has_node(real_server, name), 120)
    await demonstration.create_in_order(drafts, ends)
    assert await demonstration.placements() == ends
    waiting = sum(seed is None for seed in ends.values())
    await eventually(lambda: _has_shadows(real_server, stage.namespace, waiting), 120)


async def test_gone_seeds_and_shoots_leave_nothing_behind(stage, real_server, kube_scheduler):
    await stage.create(stage.seed("far", region="us-east-1"), stage.shoot("waiting"))
    await eventually(lambda: _has_shadows(real_server, stage.namespace, 1), 120)
    await eventually(lambda: _has_node(real_server, stage.name("far")), 120)
    await real_server.kubectl("delete", "shoot", "waiting", "-n", stage.namespace)
    await real_server.kubectl("delete", "seed", stage.name("far"))
    await eventually(lambda: _has_shadows(real_server, stage.namespace, 0), 120)
    await eventually(lambda: _no_node(real_server, stage.name("far")), 120)


async def _write_authority(stage, path):
    """Write the CA of the serving certificate once the server has made it."""
    key = ObjectKey(stage.namespace, "espalier-tls")
    try:
        secret = await stage.client.get(kind_of_model(Secret), key)
    except NotFoundError:
        return False
    path.write_bytes(base64.b64decode(secret["data"]["ca.crt"]))
    return True


def _permission_to_bind():
    """Return the objects of our manifests that let a kube-scheduler bind shoots."""
    written = yaml.safe_load_all((MANIFESTS / "rbac.yaml").read_text())
    items = [item for item in written if item["metadata"]["name"] == "espalier-shoot-binder"]
    assert [item["kind"] for item in items] == ["ClusterRole", "ClusterRoleBinding"]
    return {"apiVersion": "v1", "kind": "List", "items": items}


async def _names(server, *arguments):
    found = await server.kubectl("get", *arguments, "-o", "name", "--ignore-not-found")
    return found.stdout.split()


async def _has_shadows(server, namespace, count):
    return len(await _names(server, "pods", "-n", namespace)) == count


async def _has_node(server, name):
    return bool(await _names(server, "node", name))


async def _no_node(server, name):
    return not await _names(server, "node", name)
