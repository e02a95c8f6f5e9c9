"""The extender of a running server: who may bind and ask, and what is told about bad tables."""

import json
from typing import Any

import aiohttp
import pytest

from tests.behaviour.staging import staged
from tests.faults.replicas import Replica, running
from tests.waiting import eventually
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.cluster.requests import Request

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def stage(server, namespace, espalier):
    async with staged(server, namespace, espalier) as found:
        yield found


@pytest.fixture
async def replica(server, stage, tmp_path):
    """`espalier serve` with kube-scheduler as its engine, so that nobody else places shoots."""
    config = tmp_path / "espalier.yaml"
    settings = {
        "scheduler": {"engine": "kube-scheduler"},
        "admission": {"gardenNamespace": stage.namespace},
    }
    config.write_text(json.dumps(settings))
    found = Replica(
        "extender", tmp_path, server.kubeconfig,
        f"--config={config}", f"--namespace={stage.namespace}", "--roles=extender,controllers",
        f"--client-ca={server.admin.ca_file}", "--drain-quiet=0",
    )  # fmt: skip
    async with running(found):
        await found.until_ready()
        yield found


@pytest.fixture
async def ask(replica):
    """Call the extender over TLS; give the status and the answer."""
    async with aiohttp.ClientSession(f"https://127.0.0.1:{replica.port}") as session:

        async def call(method, path, token="", body=None):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            data = json.dumps(body) if body is not None else None
            async with session.request(
                method, path, headers=headers, data=data, ssl=False
            ) as response:
                return response.status, await response.text()

        yield call


async def make_token(server, namespace, name, *rules):
    """Make a service account, with rights to shoots/binding if asked for, and a token of it."""
    await server.kubectl("create", "serviceaccount", name, "-n", namespace)
    if rules:
        role = [f"--verb={','.join(rules)}", "--resource=shoots.core.gardener.cloud/binding"]
        await server.kubectl("create", "role", name, *role, "-n", namespace)
        subject = f"--serviceaccount={namespace}:{name}"
        await server.kubectl(
            "create", "rolebinding", name, f"--role={name}", subject, "-n", namespace
        )
    made = await server.kubectl("create", "token", name, "-n", namespace)
    return made.stdout.strip()


async def test_bind_and_explain_are_for_those_who_may_bind_shoots(server, stage, ask):
    await stage.create(stage.seed("a"), stage.shoot("one"))
    allowed = await make_token(server, stage.namespace, "binder", "update")
    stranger = await make_token(server, stage.namespace, "stranger")
    one = await stage.get("one")
    binding = {
        "PodName": "one",
        "PodNamespace": stage.namespace,
        "PodUID": one["metadata"]["uid"],
        "Node": stage.name("a"),
    }
    explain = f"/scheduler/explain/{stage.namespace}/one"

    async def is_explained() -> bool:
        """Tell whether the server has heard of the seed, the shoot and the right to bind it."""
        status, told = await ask("GET", explain, allowed)
        return bool(status == 200 and json.loads(told)["seed"] == stage.name("a"))

    await eventually(is_explained)
    # A scheduler reads errors from answers only.
    calls = (("POST", "/scheduler/bind", binding, 200), ("GET", explain, None, 403))
    for method, path, body, refused in calls:
        status, told = await ask(method, path, body=body)
        assert (status, "say who you are" in told) == (401, True)
        status, _ = await ask(method, path, "no-such-token", body)
        assert status == 401
        status, told = await ask(method, path, stranger, body)
        assert (status, "may not update shoots/binding" in told) == (refused, True)
    assert not (await stage.get("one"))["spec"].get("seedName")
    for _ in range(2):
        assert await ask("POST", "/scheduler/bind", allowed, binding) == (200, '{"Error":""}')
    assert await stage.is_on("one", "a")


async def test_malformed_calls_are_answered_with_an_error(ask):
    bodies: list[Any] = ["no object", {"Pod": {}}, {"Pod": {"metadata": {}}, "NodeNames": ["a"]}]
    for body in bodies:
        status, told = await ask("POST", "/scheduler/filter", body=body)
        assert status == 200
        assert json.loads(told)["Error"]


async def test_a_broken_table_of_regions_gets_a_warning(server, stage, replica):
    table = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "distances",
            "labels": {"scheduling.gardener.cloud/purpose": "region-config"},
            "annotations": {"scheduling.gardener.cloud/cloudprofiles": stage.provider},
        },
        "data": {"eu-west-1": "us-east-1: far away\n"},
    }
    key = ObjectKey(stage.namespace, "distances")
    await stage.client.create(kind_of_model(ConfigMap), key, table)
    await eventually(lambda: _warnings(stage))
    (message,) = await _warnings(stage)
    assert message.startswith(
        "distances are judged by the names of regions: data[eu-west-1] must map"
    )


async def _warnings(stage):
    request = Request("GET", f"/api/v1/namespaces/{stage.namespace}/events")
    listed = await stage.client.document(request)
    return [
        event["message"]
        for event in listed["items"]
        if event["reason"] == "RegionConfigBroken" and event["type"] == "Warning"
    ]
