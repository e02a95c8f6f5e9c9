"""The real servers that other tests use as the reference run and behave as a cluster."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest
from blockbuster import blockbuster_ctx

from tests.support.control_planes import require_parts
from tests.support.waits import eventually
from webhook.dev.planes.certificates import client_context
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.dev.planes.probe import answers_ok

pytestmark = pytest.mark.timeout(300)


async def status_of(url: str, context: ssl.SSLContext) -> int:
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context) as response:
        return response.status


@pytest.fixture
async def namespace(real_server):
    name = f"real-{uuid4().hex[:8]}"
    await real_server.kubectl("create", "namespace", name)
    yield name
    await real_server.kubectl("delete", "namespace", name, "--wait=false")


async def test_kubectl_and_the_server_are_the_pinned_version(real_server):
    reported = json.loads((await real_server.kubectl("version", "-o", "json")).stdout)
    assert (
        reported["clientVersion"]["gitVersion"]
        == reported["serverVersion"]["gitVersion"]
        == "v1.36.3"
    )


async def test_whoever_has_no_credentials_is_a_stranger(real_server):
    stranger = client_context(real_server.admin.ca_file)
    assert await status_of(f"{real_server.url}/api", stranger) == 401
    assert await status_of(f"{real_server.url}/api", real_server.admin.context()) == 200


async def test_a_user_without_rights_is_refused_by_name(real_server):
    access = await asyncio.to_thread(real_server.apiserver.access, "eve", ["strangers"])
    kubeconfig = access.write_kubeconfig(real_server.directory / "eve.kubeconfig")
    done = await real_server.kubectl("get", "nodes", f"--kubeconfig={kubeconfig}", check=False)
    assert done.code == 1
    assert 'User "eve" cannot list resource "nodes"' in done.stderr


async def test_a_namespace_comes_with_a_service_account_and_goes_with_its_objects(real_server):
    name = f"real-{uuid4().hex[:8]}"
    kubectl = real_server.kubectl
    await kubectl("create", "namespace", name)
    await kubectl("create", "configmap", "c", "-n", name)
    await kubectl("wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=90s")
    token = await kubectl("create", "token", "default", "-n", name)
    assert token.stdout.count(".") == 2
    await kubectl("delete", "namespace", name, "--timeout=120s")


async def test_a_custom_resource_is_served_once_its_definition_is_established(
    real_server, namespace
):
    plural = f"trellises{uuid4().hex[:6]}"
    group = "real.espalier.test"
    kind = {"group": group, "names": {"plural": plural, "kind": plural.title()}}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            **kind,
            "scope": "Namespaced",
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    kubectl = real_server.kubectl
    await kubectl("create", "-f", "-", input=definition)
    await kubectl("wait", "--for=condition=Established", f"crd/{plural}.{group}", "--timeout=90s")
    thing = {"apiVersion": f"{group}/v1", "kind": plural.title(), "metadata": {"name": "t"}}
    await eventually(lambda: kubectl("create", "-n", namespace, "-f", "-", input=thing))
    listed = await kubectl("get", f"{plural}.{group}", "-n", namespace, "-o", "name")
    assert listed.stdout.strip() == f"{plural}.{group}/t"
    await kubectl("delete", "crd", f"{plural}.{group}", "--timeout=120s")


async def test_an_owned_object_goes_with_its_owner(real_server, namespace):
    kubectl = real_server.kubectl
    await kubectl("create", "configmap", "owner", "-n", namespace)
    owner = json.loads(
        (await kubectl("get", "configmap", "owner", "-n", namespace, "-o", "json")).stdout
    )
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    owned = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "owned",
            "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
        },
    }
    await kubectl("create", "-n", namespace, "-f", "-", input=owned)
    await kubectl("delete", "configmap", "owner", "-n", namespace)
    await kubectl("wait", "--for=delete", "configmap/owned", "-n", namespace, "--timeout=120s")


async def test_a_budget_for_disruptions_gets_its_status(real_server, namespace):
    kubectl = real_server.kubectl
    await kubectl("create", "pdb", "b", "--selector=app=a", "--min-available=1", "-n", namespace)
    reported = "--for=jsonpath={.status.observedGeneration}=1"
    await kubectl("wait", reported, "pdb/b", "-n", namespace, "--timeout=120s")


async def test_kube_scheduler_runs_with_a_configuration_of_ours(real_server, namespace):
    scheduler = real_server.scheduler({"profiles": [{"schedulerName": "espalier-test"}]})
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{namespace}"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "schedulerName": "espalier-test",
            "containers": [{"name": "c", "image": "none"}],
            "tolerations": [{"operator": "Exists"}],
        },
    }
    kubectl = real_server.kubectl
    account = "serviceaccount/default"
    await kubectl("wait", "--for=create", account, "-n", namespace, "--timeout=120s")
    await kubectl("create", "-f", "-", input=node)
    await kubectl(
        "patch",
        "node",
        f"node-{namespace}",
        "--subresource=status",
        "-p",
        '{"status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}}}',
    )
    await scheduler.start()
    try:
        await kubectl("create", "-n", namespace, "-f", "-", input=pod)
        bound = f"--for=jsonpath={{.spec.nodeName}}=node-{namespace}"
        await kubectl("wait", bound, "pod/p", "-n", namespace, "--timeout=120s")
    finally:
        await scheduler.stop()
        await kubectl("delete", "node", f"node-{namespace}")


@pytest.fixture
async def own_server(tmp_path):
    """A server that a test may break."""
    require_parts("etcd", "kubernetes")
    async with Kubernetes(tmp_path, durable=False) as server:
        yield server


async def test_starting_and_stopping_never_block_the_loop(tmp_path):
    require_parts("etcd", "kubernetes")
    with blockbuster_ctx("webhook.dev.planes"):
        async with Kubernetes(tmp_path, durable=False) as server:
            await server.kubectl("get", "namespaces")
            assert server.admin.url == server.url
            await server.controller_manager.restart()
            os.kill(server.controller_manager.pid, signal.SIGKILL)
            with pytest.raises(PlaneError, match="kube-controller-manager exited with code -9"):
                await asyncio.wait_for(server.supervise(), 60)


async def test_a_server_goes_on_after_a_crash_a_freeze_and_a_restart(own_server):
    kubectl = own_server.kubectl
    context = own_server.admin.context()
    await kubectl("create", "namespace", "kept")

    await own_server.apiserver.kill()
    assert not own_server.apiserver.is_running
    assert not await answers_ok(f"{own_server.url}/readyz", context)
    await own_server.apiserver.start()
    await kubectl("get", "namespace", "kept")

    own_server.apiserver.pause()
    assert not await answers_ok(f"{own_server.url}/readyz", context)
    own_server.apiserver.resume()
    await eventually(lambda: answers_ok(f"{own_server.url}/readyz", context))

    await own_server.etcd.kill()
    with pytest.raises(PlaneError, match="is not running"):
        own_server.etcd.pause()
    await own_server.etcd.start()
    # The API server finds it again with a delay.
    await eventually(lambda: kubectl("get", "namespace", "kept"))


async def test_a_kept_folder_goes_on_where_it_was_and_its_kubeconfig_stays_good(tmp_path):
    require_parts("etcd", "kubernetes")
    async with Kubernetes(tmp_path) as server:
        await server.kubectl("create", "namespace", "kept")
        port = int(server.url.rpartition(":")[2])
        before = server.kubeconfig.read_text()
    async with Kubernetes(tmp_path, port=port) as server:
        assert server.kubeconfig.read_text() == before
        await server.kubectl("get", "namespace", "kept")


async def test_a_process_that_dies_at_its_start_reports_why(tmp_path):
    require_parts("etcd", "kubernetes")
    (tmp_path / "etcd").mkdir()
    (tmp_path / "etcd" / "data").write_text("not a folder")
    server = Kubernetes(tmp_path)
    with pytest.raises(PlaneError, match=r"(?s)etcd exited with code 1.*not a directory"):
        await server.start()
    assert not any(process.is_running for process in server.processes)


def test_nothing_outlives_a_parent_that_is_killed(tmp_path):
    require_parts("etcd", "kubernetes")
    program = textwrap.dedent(
        """
        import asyncio, os, pathlib, sys
        from webhook.dev.planes.etcd import Etcd

        async def main():
            etcd = Etcd(pathlib.Path(sys.argv[1]))
            await etcd.start()
            print(etcd.pid, flush=True)
            os.kill(os.getpid(), 9)

        asyncio.run(main())
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=150
    )
    assert done.returncode == -9, done.stderr
    pid = int(done.stdout)
    deadline = time.monotonic() + 60
    while _is_alive(pid):
        assert time.monotonic() < deadline, f"etcd {pid} is still there"
        time.sleep(0.05)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
