"""What shoots say of their zones and what is kept there, with a second API server as the shoot."""

import asyncio
import base64
from typing import Any

import pytest
import yaml

from tests.behaviour.pooling import DEPLOYMENT, Place, opened
from tests.swift import SwiftClock, serving
from tests.waiting import eventually
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.decode import convert
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.requests import Request
from webhook.controllers.pools.shoots import QUOTAS
from webhook.domain import poolencoding
from webhook.domain.poolrecord import Record
from webhook.domain.pools import PoolKey

QUOTA = "capacityquotas.autoscaling.x-k8s.io"
SPEED = 20.0
SETTINGS = {"nodegroups": {"takeoverSeconds": 1}}

pytestmark = pytest.mark.timeout(300)


def make_definition() -> dict[str, Any]:
    """CapacityQuotas as far as cluster-autoscaler's own definition matters here."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": QUOTA},
        "spec": {
            "group": "autoscaling.x-k8s.io",
            "scope": "Cluster",
            "names": {
                "kind": "CapacityQuota",
                "plural": "capacityquotas",
                "singular": "capacityquota",
            },
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


class Shoot:
    """The other API server, which plays the shoot, as its cluster-autoscaler would write there."""

    def __init__(self, server: Any, client: Client) -> None:
        self.server = server
        self.client = client

    async def say(self, **groups: str) -> None:
        """Write cluster-autoscaler's status: how scaling up stands, by group."""
        listed = [{"name": name, "scaleUp": {"status": said}} for name, said in groups.items()]
        status = yaml.safe_dump({"autoscalerStatus": "Running", "nodeGroups": listed})
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "cluster-autoscaler-status", "namespace": "kube-system"},
            "data": {"status": status},
        }
        # A server that has just started makes kube-system in a moment.
        await eventually(lambda: self.server.kubectl("apply", "-f", "-", input=body))

    async def serve_quotas(self) -> None:
        """Define quotas; a definition is established before it is served."""
        await self.server.kubectl("apply", "-f", "-", input=make_definition())

        async def is_served() -> bool:
            await self.quotas()
            return True

        await eventually(is_served)

    async def lose(self, quota: str) -> None:
        """Delete a quota; kubectl would have to discover its kind first."""
        await self.client.document(Request("DELETE", f"{QUOTAS}/{quota}"))

    async def quotas(self) -> dict[str, str]:
        """Tell how many nodes each quota allows."""
        told = await self.client.document(Request("GET", QUOTAS))
        return {
            each["metadata"]["name"]: each["spec"]["limits"]["resources"]["nodes"]
            for each in told["items"]
        }

    async def clear(self) -> None:
        await self.server.kubectl("delete", "crd", QUOTA, "--ignore-not-found")
        await self.server.kubectl(
            *("delete", "configmap", "-n", "kube-system"),
            *("cluster-autoscaler-status", "--ignore-not-found"),
        )


@pytest.fixture
async def place(server, tmp_path):
    async with opened(server, tmp_path) as made:
        yield made


@pytest.fixture
async def shoot(server, embedded_server, real_server):
    other = real_server if server is embedded_server else embedded_server
    async with Client(await config.load(str(other.kubeconfig))) as client:
        found = Shoot(other, client)
        await found.clear()
        yield found
        await found.clear()


async def record_of(place: Place) -> Record:
    key = PoolKey(place.namespace, f"mcm:{names.WORKER_POOL}", "pool")
    path = f"/api/v1/namespaces/{place.own}/configmaps/{poolencoding.name_of(key)}"
    found = await place.client.document(Request("GET", path))
    record = poolencoding.decode(convert(ConfigMap, found))
    assert record is not None
    return record


async def give_way(place: Place, shoot: Shoot) -> None:
    """Put the shoot's kubeconfig beside its MachineDeployments."""
    text = await asyncio.to_thread(shoot.server.kubeconfig.read_bytes)
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "espalier-shoot", "namespace": place.namespace},
        "data": {"kubeconfig": base64.b64encode(text).decode()},
    }
    await place.server.kubectl("apply", "-f", "-", input=body)


async def test_a_shoot_says_which_zones_are_bad_and_holds_the_quotas_of_its_pools(
    place: Place, shoot: Shoot, tmp_path
) -> None:
    await place.prepare(1, 1, 1)
    await give_way(place, shoot)
    await shoot.say(**{place.group(0): "Backoff", place.group(1): "NoActivity"})
    settings = tmp_path / "settings.yaml"
    settings.write_text(yaml.safe_dump(SETTINGS))
    flags = {"namespace": place.own, "roles": "controllers", "manage_webhooks": "false"}
    clock = SwiftClock(SPEED)
    async with serving(str(place.server.kubeconfig), clock, config=settings, **flags) as served:

        async def is_avoided() -> bool:
            state = (await record_of(place)).zones.get(place.zone(0).name)
            return state is not None and bool(state.backed_off)

        async def others_carry_its_share() -> bool:
            return await place.sizes() == [1, 2, 1]

        await served.until_ready()
        await eventually(others_carry_its_share)
        assert await is_avoided()

        await shoot.serve_quotas()

        async def is_bound(nodes: str) -> bool:
            return await shoot.quotas() == {"espalier-pool": nodes}

        await eventually(lambda: is_bound("6"))
        for zone in range(3):
            more = {"metadata": {"annotations": {names.POOL_MAXIMUM: "7"}}}
            await place.client.patch(DEPLOYMENT, place.zone(zone), more)
        await eventually(lambda: is_bound("7"))
        await shoot.lose("espalier-pool")
        await eventually(lambda: is_bound("7"))

        await shoot.say(**{place.group(0): "NoActivity"})

        async def is_good() -> bool:
            return place.zone(0).name not in (await record_of(place)).zones

        await eventually(is_good)
        await shoot.say(**{place.group(2): "Backoff"})

        async def another_is_avoided() -> bool:
            return [*(await record_of(place)).zones] == [place.zone(2).name]

        await eventually(another_is_avoided)
        await place.server.kubectl("delete", "secret", "-n", place.namespace, "espalier-shoot")

        async def none_is_avoided() -> bool:
            return not (await record_of(place)).zones

        await eventually(none_is_avoided)
    assert (await place.sizes())[1] == 2, "nothing is ever lowered"
