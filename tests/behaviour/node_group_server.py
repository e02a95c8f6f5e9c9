"""A worker pool of a shoot on an API server, our server beside it, and autoscalers of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import grpc

from tests.support.account import IN_SEED, account_kubeconfig
from tests.support.cluster_autoscaler import Autoscaler, FakeNode, connected_autoscaler
from tests.support.in_process_server import FastClock, serving
from tests.support.machine_objects import make_class, make_deployment, make_machine, make_set
from tests.support.scheduler import create_all
from tests.support.server_processes import Replica
from tests.support.waits import eventually
from webhook.api import names
from webhook.api.crds import crd
from webhook.api.extensions import Cluster, Worker
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.cli.main import main
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.kube.meta import Object, ObjectKey
from webhook.nodegroups import provider_pb2
from webhook.tls.authority import KeyPair

OK = grpc.StatusCode.OK
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
MODELS: tuple[type[Object], ...] = (
    *(MachineDeployment, MachineSet, Machine, MachineClass),
    *(Worker, Cluster),
)
DEPLOYMENT = kind_of_model(MachineDeployment)


class Certificate(NamedTuple):
    pair: KeyPair
    authority: bytes


class Place:
    """The namespace of a shoot on a server, and a namespace for Espalier."""

    def __init__(self, server: Any, client: Client, directory: Path) -> None:
        number = uuid4().hex[:6]
        self.server = server
        self.client = client
        self.directory = directory
        self.namespace = f"shoot--dev--{number}"
        self.own = f"own-{number}"
        self.kubeconfig = Path()
        """The kubeconfig of our account."""

    def group(self, zone: int) -> str:
        return f"{self.namespace}.{self.zone(zone).name}"

    def zone(self, zone: int) -> ObjectKey:
        return ObjectKey(self.namespace, f"{self.namespace}-pool-z{zone + 1}")

    async def prepare(self, *replicas: int, bounds: tuple[int, int] = (3, 6)) -> None:
        """Create the namespaces, and an adaptive pool in the shoot's."""
        await self.server.kubectl("create", "namespace", self.namespace)
        self.kubeconfig = await account_kubeconfig(
            self.server, self.directory / "kubeconfig", replace(IN_SEED, namespace=self.own)
        )
        adaptive = {"annotations": {names.SIZING_STRATEGY: "Adaptive"}}
        drafts = [
            make_deployment(
                zone=zone, namespace=self.namespace, replicas=size, bounds=bounds, metadata=adaptive
            )
            for zone, size in enumerate(replicas)
        ]
        classes = [
            make_class(f"{self.zone(zone).name}-abcde", self.namespace)
            for zone in range(len(replicas))
        ]
        await create_all(self.client, [*drafts, *classes])

    async def add_node(self, zone: int) -> FakeNode:
        """Create a machine in a zone that has become a Node."""
        owner = await self.client.get(DEPLOYMENT, self.zone(zone))
        made = make_set(owner, uuid4().hex[:4])
        await create_all(self.client, [made])
        key = ObjectKey(self.namespace, made["metadata"]["name"])
        found = await self.client.get(kind_of_model(MachineSet), key)
        machine = make_machine(found)
        await create_all(self.client, [machine])
        return FakeNode(machine["metadata"]["name"], machine["spec"]["providerID"])

    async def grow(self, autoscaler: Autoscaler, zone: int, size: int) -> None:
        """Increase a zone to a size, again in every loop, because a busy seed grants nothing."""

        async def has_grown() -> bool:
            await autoscaler.scan()
            if missing := size - await autoscaler.size(self.group(zone)):
                assert await autoscaler.increase(self.group(zone), missing) in (OK, UNAVAILABLE)
            return (await self.sizes())[zone] == size

        await eventually(has_grown)

    async def shrink(self, autoscaler: Autoscaler, zone: int, *ids: str) -> None:
        """Delete nodes, again while the server is unavailable."""

        async def is_done() -> bool:
            return await autoscaler.delete(self.group(zone), *ids) is OK

        await eventually(is_done)

    async def sizes(self) -> list[int]:
        page = await self.client.page(Selection(DEPLOYMENT, self.namespace))
        found = [json.loads(bytes(item)) for item in page.items]
        found.sort(key=lambda each: str(each["metadata"]["name"]))
        return [each["spec"].get("replicas", 0) for each in found]

    @asynccontextmanager
    async def serving(
        self, name: str, kubeconfig: Path | None = None, roles: str = "nodegroups"
    ) -> AsyncIterator[int]:
        """Serve autoscalers from this process; return the port."""
        flags = {
            "identity": name,
            "namespace": self.own,
            "roles": roles,
            "features": "node-groups",
            "nodegroups_port": 0,
            "certificate_names": "127.0.0.1",
            "manage_webhooks": "false",
        }
        proxy = str(kubeconfig or self.kubeconfig)
        async with serving(proxy, FastClock(1.0), **flags) as served:
            yield served.address.nodegroups_port

    def replica(self, name: str, *flags: str, kubeconfig: Path | None = None) -> Replica:
        """Return a process that a test can kill; it is not started yet."""
        return Replica(
            *(name, self.directory, kubeconfig or self.kubeconfig),
            *("--namespace", self.own, "--roles", "nodegroups", "--nodegroups-port", "0"),
            *("--features", "node-groups"),
            *("--certificate-names", "127.0.0.1", "--drain-quiet", "0", *flags),
        )

    async def certificate(self) -> Certificate:
        """Create a client certificate with the command that operators use."""
        folder = self.directory / "certs" / f"nodegroups-{self.namespace}"
        arguments = ["certs", "create", "--secret", "--nodegroups", self.namespace]
        arguments += ["--kubeconfig", str(self.server.kubeconfig), "--namespace", self.own]
        arguments += ["--directory", str(self.directory / "certs")]
        assert await asyncio.to_thread(main, arguments) == 0
        pair = KeyPair((folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes())
        return Certificate(pair, (folder / "ca.crt").read_bytes())


@asynccontextmanager
async def connected(where: Replica | int, certificate: Certificate) -> AsyncIterator[Autoscaler]:
    """Connect an autoscaler to a server, by its port or by the port in its log."""
    port = where
    if isinstance(where, Replica):
        port = (await where.logged("listening"))["nodegroups_port"]
    address = f"127.0.0.1:{port}"
    async with connected_autoscaler(address, certificate.pair, certificate.authority) as autoscaler:

        async def answers() -> bool:
            return await autoscaler.code("Refresh", provider_pb2.RefreshRequest()) is OK

        await eventually(answers)
        yield autoscaler


@asynccontextmanager
async def opened(server: Any, directory: Path) -> AsyncIterator[Place]:
    """Define the kinds of pools, and delete the namespaces at the end."""
    kinds = [kind_of_model(model) for model in MODELS]
    items = [crd(kind, beside_gardener=False) for kind in kinds]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    await server.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=listed)
    async with Client(await config.load(str(server.kubeconfig))) as client:
        for kind in kinds:
            await eventually(partial(client.page, Selection(kind), limit=1))
        made = Place(server, client, directory)
        yield made
    await server.kubectl("delete", "namespace", made.namespace, made.own, "--wait=false")
