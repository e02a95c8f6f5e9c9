"""The extender of a running server: what it does for whom, and Events about bad tables."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.behaviour.placement_stage import staged
from tests.support.account import account_kubeconfig
from tests.support.server_processes import Replica, running, without_verification
from tests.support.waits import eventually
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.cli.install.layout import Layout
from webhook.cluster.requests import ApiRequest
from webhook.dev.planes.gardener import Gardener
from webhook.kube.meta import ObjectKey

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def stage(server, namespace, espalier):
    async with staged(server, namespace, espalier) as found:
        yield found


@pytest.fixture
async def replica(server, stage, tmp_path):
    """`espalier serve` with kube-scheduler as its engine, so that it does not schedule itself."""
    config = tmp_path / "espalier.yaml"
    settings = {
        "scheduler": {"engine": "kube-scheduler"},
        "gardenNamespace": stage.namespace,
    }
    config.write_text(json.dumps(settings))
    layout = Layout(
        namespace=stage.namespace,
        garden_namespace=stage.namespace,
        beside_gardener=isinstance(server, Gardener),
    )
    kubeconfig = await account_kubeconfig(server, tmp_path / "kubeconfig", layout, bridge=True)
    found = Replica(
        "extender", tmp_path, kubeconfig,
        f"--config={config}", f"--namespace={stage.namespace}", "--roles=extender,controllers",
        f"--client-ca={server.admin.ca_file}", "--drain-quiet=0",
    )  # fmt: skip
    async with running(found):
        await found.until_ready()
        yield found


@pytest.fixture
async def call(server, replica):
    """Call the extender over TLS; return the status and the body."""
    certificate = without_verification(await asyncio.to_thread(server.admin.context))
    async with aiohttp.ClientSession(f"https://127.0.0.1:{replica.port}") as session:

        async def call(method, path, token="", body=None, *, with_certificate=False):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            data = json.dumps(body) if body is not None else None
            context = certificate if with_certificate else False
            async with session.request(
                method, path, headers=headers, data=data, ssl=context
            ) as response:
                return response.status, await response.text()

        yield call


async def make_token(server, namespace, name, *rules):
    """Create a ServiceAccount, with permission for shoots/binding if wanted; return its token."""
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


async def test_bind_and_explain_are_for_those_who_may_bind_shoots(server, stage, call):
    await stage.create(stage.seed("a"), stage.shoot("one"))
    allowed = await make_token(server, stage.namespace, "binder", "update")
    untrusted = await make_token(server, stage.namespace, "untrusted")
    one = await stage.get("one")
    binding = {
        "PodName": "one",
        "PodNamespace": stage.namespace,
        "PodUID": one["metadata"]["uid"],
        "Node": stage.name("a"),
    }
    explain = f"/scheduler/explain/{stage.namespace}/one"

    async def is_explained() -> bool:
        """Return whether the server has seen the seed, the shoot and the permission to bind it."""
        status, reported = await call("GET", explain, allowed)
        return bool(status == 200 and json.loads(reported)["seed"] == stage.name("a"))

    await eventually(is_explained)
    # A scheduler reads errors from bodies only.
    calls = (("POST", "/scheduler/bind", binding, 200), ("GET", explain, None, 403))
    for method, path, body, refused in calls:
        status, reported = await call(method, path, body=body)
        assert (status, "authenticate with" in reported) == (401, True)
        status, _ = await call(method, path, "no-such-token", body)
        assert status == 401
        status, reported = await call(method, path, untrusted, body)
        assert (status, "may not update shoots/binding" in reported) == (refused, True)
    assert not (await stage.get("one"))["spec"].get("seedName")
    for _ in range(2):
        assert await call("POST", "/scheduler/bind", allowed, binding) == (200, '{"Error":""}')
    assert await stage.is_on("one", "a")


FORGED_CALLS = 300
FORGED_SHOOTS = 25
ROOM = 20


async def test_forged_calls_of_filter_write_no_event_and_reserve_nothing(stage, call):
    await stage.create(stage.seed("a", shoots=ROOM), stage.shoot("one"))
    one, seed = await stage.get("one"), stage.name("a")

    async def filter_seeds(shoot, *, names=(seed,), authorized=False):
        body = {"Pod": shoot, "NodeNames": [*names]}
        _, text = await call("POST", "/scheduler/filter", "", body, with_certificate=authorized)
        return json.loads(text)

    async def fits() -> bool:
        return bool((await filter_seeds(one, authorized=True))["NodeNames"] == [seed])

    await eventually(fits)
    for index in range(FORGED_CALLS):
        forged = {**one, "metadata": {"name": f"forged-{index}", "namespace": "kube-system"}}
        assert (await filter_seeds(forged, names=["nowhere"]))["NodeNames"] == []
    for index in range(FORGED_SHOOTS):
        metadata = {"name": f"forged-{index}", "namespace": stage.namespace, "uid": str(index)}
        for authorized in (False, True):
            found = await filter_seeds({**one, "metadata": metadata}, authorized=authorized)
            assert found["NodeNames"] == [seed], found
    # Events are written in their order, so this one comes after all that were asked for before.
    assert (await filter_seeds(one, names=["nowhere"], authorized=True))["NodeNames"] == []
    await eventually(lambda: stage.events("one", "SchedulingFailed"))
    for namespace, expected in (("kube-system", []), (stage.namespace, ["one"])):
        chosen = {"fieldSelector": "reason=SchedulingFailed"}
        request = ApiRequest("GET", f"/api/v1/namespaces/{namespace}/events", chosen)
        items = (await stage.client.document(request))["items"]
        assert [event["involvedObject"]["name"] for event in items] == expected


async def test_an_untrusted_client_learns_nothing_about_the_shoot_of_a_pod(stage, call):
    await stage.create(stage.seed("a"), stage.shoot("one"))

    async def filter_seeds(shoot, *, authorized):
        annotations = {"espalier.gardener.cloud/shoot": f"{stage.namespace}/{shoot}"}
        body = {"Pod": {"metadata": {"annotations": annotations}}, "NodeNames": [stage.name("a")]}
        _, text = await call("POST", "/scheduler/filter", "", body, with_certificate=authorized)
        return json.loads(text)

    async def fits() -> bool:
        found = await filter_seeds("one", authorized=True)
        return bool(found["NodeNames"] == [stage.name("a")])

    await eventually(fits)
    known, unknown = [await filter_seeds(name, authorized=False) for name in ("one", "two")]
    assert known == unknown
    assert "authenticate with a client certificate or a bearer token" in known["Error"]


async def test_malformed_calls_are_answered_with_an_error(call):
    bodies: list[Any] = ["no object", {"Pod": {}}, {"Pod": {"metadata": {}}, "NodeNames": ["a"]}]
    for body in bodies:
        status, reported = await call("POST", "/scheduler/filter", body=body)
        assert status == 200
        assert json.loads(reported)["Error"]


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
        "distances are computed from the names of regions: data[eu-west-1] must map"
    )


async def _warnings(stage):
    request = ApiRequest("GET", f"/api/v1/namespaces/{stage.namespace}/events")
    listed = await stage.client.document(request)
    return [
        event["message"]
        for event in listed["items"]
        if event["reason"] == "RegionConfigBroken" and event["type"] == "Warning"
    ]
