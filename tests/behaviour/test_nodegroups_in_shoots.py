"""What is read from and written to shoots, with a second API server as the shoot."""

import asyncio
import base64
from typing import Any

import pytest
import yaml

from tests.behaviour.node_group_server import DEPLOYMENT, Place, opened
from tests.support.in_process_server import FastClock, serving
from tests.support.waits import eventually
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.decode import convert
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.requests import ApiRequest
from webhook.controllers.pools.shoot_clusters import QUOTAS_PATH
from webhook.domain.pools import record_encoding
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.pool_record import PoolRecord

QUOTA = "capacityquotas.autoscaling.x-k8s.io"
SPEED = 20.0
SETTINGS = {"nodegroups": {"takeoverSeconds": 1}}

pytestmark = pytest.mark.timeout(300)


def make_definition() -> dict[str, Any]:
    """CapacityQuotas, with the parts of cluster-autoscaler's CRD that matter here."""
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
    """The API server that stands for the shoot, as its cluster-autoscaler writes to it."""

    def __init__(self, server: Any, client: Client) -> None:
        self.server = server
        self.client = client

    async def report_scale_up(self, **groups: str) -> None:
        """Write cluster-autoscaler's status: the state of scale-ups by group."""
        listed = [{"name": name, "scaleUp": {"status": status}} for name, status in groups.items()]
        status = yaml.safe_dump({"autoscalerStatus": "Running", "nodeGroups": listed})
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "cluster-autoscaler-status", "namespace": "kube-system"},
            "data": {"status": status},
        }
        # A server that has just started creates kube-system with a delay.
        await eventually(lambda: self.server.kubectl("apply", "-f", "-", input=body))

    async def serve_quotas(self) -> None:
        """Define quotas; a CRD is established before it is served."""
        await self.server.kubectl("apply", "-f", "-", input=make_definition())

        async def is_served() -> bool:
            await self.quotas()
            return True

        await eventually(is_served)

    async def lose(self, quota: str) -> None:
        """Delete a quota; kubectl would have to discover its kind first."""
        await self.client.document(ApiRequest("DELETE", f"{QUOTAS_PATH}/{quota}"))

    async def quotas(self) -> dict[str, str]:
        """Return how many nodes each quota allows."""
        reported = await self.client.document(ApiRequest("GET", QUOTAS_PATH))
        return {
            each["metadata"]["name"]: each["spec"]["limits"]["resources"]["nodes"]
            for each in reported["items"]
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


async def record_of(place: Place) -> PoolRecord:
    key = PoolKey(place.namespace, f"mcm:{names.WORKER_POOL}", "pool")
    path = f"/api/v1/namespaces/{place.own}/configmaps/{record_encoding.name_of(key)}"
    found = await place.client.document(ApiRequest("GET", path))
    record = record_encoding.decode(convert(ConfigMap, found))
    assert record is not None
    return record


async def give_way(place: Place, shoot: Shoot) -> None:
    """Store the shoot's kubeconfig beside its MachineDeployments, for our account to read."""
    text = await asyncio.to_thread(shoot.server.kubeconfig.read_bytes)
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "espalier-shoot", "namespace": place.namespace},
        "data": {"kubeconfig": base64.b64encode(text).decode()},
    }
    here = ("-n", place.namespace)
    await place.server.kubectl("apply", "-f", "-", input=body)
    only = ("--verb=get", "--resource=secrets", "--resource-name=espalier-shoot")
    await place.server.kubectl("create", "role", "espalier-shoot", *only, *here)
    account = f"--serviceaccount={place.own}:espalier"
    await place.server.kubectl(
        "create", "rolebinding", "espalier-shoot", "--role=espalier-shoot", account, *here
    )


async def test_bad_zones_are_read_from_a_shoot_and_quotas_are_kept_there(
    place: Place, shoot: Shoot, tmp_path
) -> None:
    await place.prepare(1, 1, 1)
    await give_way(place, shoot)
    await shoot.report_scale_up(**{place.group(0): "Backoff", place.group(1): "NoActivity"})
    settings = tmp_path / "settings.yaml"
    settings.write_text(yaml.safe_dump(SETTINGS))
    flags = {"namespace": place.own, "roles": "controllers", "manage_webhooks": "false"}
    flags["features"] = "node-groups"
    clock = FastClock(SPEED)
    async with serving(str(place.kubeconfig), clock, config=settings, **flags) as served:
        await served.until_ready()
        await _check_that_other_zones_take_over(place)
        await _check_quotas(place, shoot)
        await _check_that_bad_zones_follow_the_shoot(place, shoot)
        assert (await place.sizes())[1] == 3, "nothing is ever lowered"
        await place.server.kubectl("delete", "machinedeployments", "--all", "-n", place.namespace)
        await place.server.kubectl(
            *("wait", "configmap", "-n", place.own, "-l", names.POOL_LABEL),
            *("--for=delete", "--timeout=60s"),
        )


async def _check_that_other_zones_take_over(place: Place) -> None:
    async def others_carry_its_share() -> bool:
        return await place.sizes() == [1, 2, 1]

    await eventually(others_carry_its_share)
    state = (await record_of(place)).zones.get(place.zone(0).name)
    assert state is not None
    assert state.backed_off


async def _check_quotas(place: Place, shoot: Shoot) -> None:
    """The quota has the pool's maximum, follows it, and is created again."""
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


async def _check_that_bad_zones_follow_the_shoot(place: Place, shoot: Shoot) -> None:
    """Zones recover, others become bad, and none is bad without a kubeconfig of the shoot."""

    async def bad_zones_are(*zones: int) -> bool:
        states = (await record_of(place)).zones
        bad = [name for name, state in states.items() if state.backed_off]
        return bad == [place.zone(zone).name for zone in zones]

    await shoot.report_scale_up(**{place.group(0): "NoActivity"})
    await eventually(bad_zones_are)
    first = (await record_of(place)).zones[place.zone(0).name]
    assert first.unproven, "no machine has joined there yet"
    await shoot.report_scale_up(**{place.group(2): "Backoff"})
    await eventually(lambda: bad_zones_are(2))

    async def the_only_proven_zone_carries_the_minimum() -> bool:
        return (await place.sizes())[1] == 3

    await eventually(the_only_proven_zone_carries_the_minimum)
    await place.server.kubectl("delete", "secret", "-n", place.namespace, "espalier-shoot")
    await eventually(bad_zones_are)
