"""A node group server for the benchmark: ours, one that does nothing, or its callers."""

import asyncio
import json
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import uvloop
from typing_extensions import override

from tests.support.fake_cache import FakeCache
from tests.support.machine_objects import (
    decode_all,
    make_class,
    make_deployment,
    make_machine,
    make_set,
)
from webhook.kube.clock import SystemClock
from webhook.kube.meta import Object
from webhook.nodegroups import provider_pb2
from webhook.nodegroups.identity import GROUP
from webhook.nodegroups.metrics import GroupMetrics
from webhook.nodegroups.provider import Provider
from webhook.nodegroups.provider_pb2_grpc import CloudProviderStub
from webhook.nodegroups.service import ListenOptions, ServingCredentials, serving
from webhook.nodegroups.views import WATCHED_MODELS, Views
from webhook.runtime.metrics import Metrics
from webhook.state.cluster_state import ClusterState
from webhook.state.live_reads import LiveResults
from webhook.state.snapshot import Snapshot
from webhook.tls.authority import KeyPair
from webhook.tls.material import CertificateProfile, Material

GROUPS, NODES = 9, 90
"""Of one shoot: three pools of three zones, ten nodes each."""


def namespace_of(number: int) -> str:
    return f"shoot--bench--{number}"


def objects(namespace: str) -> Iterable[Object]:
    """Return the pools of one shoot."""
    for pool in range(GROUPS // 3):
        for zone in range(3):
            deployment = make_deployment(
                f"p{pool}", zone, namespace=namespace, replicas=NODES // GROUPS, bounds=(3, 60)
            )
            owner = make_set(deployment)
            machines = [make_machine(owner, str(number)) for number in range(NODES // GROUPS)]
            machine_class = make_class(f"{deployment['metadata']['name']}-abcde", namespace)
            yield from decode_all(deployment, owner, machine_class, *machines)


class Full(FakeCache):
    """A cache with fixed content."""

    def __init__(self, shoots: int) -> None:
        super().__init__()
        self.memory = ClusterState(WATCHED_MODELS)
        for number in range(shoots):
            for each in objects(namespace_of(number)):
                self.memory.observe(type(each), each.key, _entry(each), "10")

    @override
    def snapshot(self, live_results: LiveResults | None = None) -> Snapshot:
        return Snapshot(self.memory, datetime.now(UTC))

    @override
    def watches(self, model: type[Object]) -> bool:
        return model in self.memory


def _entry(each: Object) -> Any:
    from webhook.state.store import StoreEntry

    return StoreEntry(each)


class Present:
    """A connection that has already been compared with the API server."""

    async def wait_on_first_call(self, peer: str, namespace: str) -> None:
        return


async def serve(what: str, shoots: int, folder: Path) -> None:
    """Serve until standard input ends, and print the cost."""
    now = datetime.now(UTC)
    material = Material.create(CertificateProfile(("localhost", "127.0.0.1")), now)
    (folder / "ca.crt").write_bytes(material.trusted)
    for number in range(shoots):
        pair = material.authority.sign_client(
            namespace_of(number), now, (GROUP,), timedelta(hours=1)
        )
        (folder / f"{number}.crt").write_bytes(pair.certificate)
        (folder / f"{number}.key").write_bytes(pair.key)
    credentials = ServingCredentials(material.leaf, material.trusted)
    metrics = GroupMetrics(Metrics().registry)
    nothing: Any = None
    present: Any = Present()
    views = Views(Full(shoots), SystemClock())
    provider: Any = Provider(views, nothing, present, metrics)
    if what == "noop":
        await _serve_nothing(credentials)
        return
    where = ListenOptions("127.0.0.1", 0, lambda: credentials)
    async with serving(provider, metrics, where) as port:
        await _until_stdin_closes(port)


async def _serve_nothing(credentials: ServingCredentials) -> None:
    """Answer every method with an empty message."""

    async def nothing(request: Any, context: Any) -> Any:
        return provider_pb2.RefreshResponse()

    service = provider_pb2.DESCRIPTOR.services_by_name["CloudProvider"]
    handlers = {
        method.name: grpc.unary_unary_rpc_method_handler(
            nothing,
            request_deserializer=getattr(provider_pb2, method.input_type.name).FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )
        for method in service.methods
    }
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service.full_name, handlers),)
    )
    pair = [(credentials.pair.key, credentials.pair.certificate)]
    secure = grpc.ssl_server_credentials(pair, credentials.client_authorities, True)
    port = server.add_secure_port("127.0.0.1:0", secure)
    await server.start()
    await _until_stdin_closes(port)
    await server.stop(None)


async def _until_stdin_closes(port: int) -> None:
    print(port, flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.readline)
    started = time.process_time()
    print("begun", flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    print(time.process_time() - started, flush=True)


async def scan(stub: Any, number: int) -> int:
    """Make the 479 calls of one idle loop over a shoot."""
    prefix = f"{namespace_of(number)}.{namespace_of(number)}"
    groups = [f"{prefix}-p{pool}-z{zone + 1}" for pool in range(GROUPS // 3) for zone in range(3)]
    names = [group.partition(".")[2] for group in groups]
    calls = 2
    await stub.Refresh(provider_pb2.RefreshRequest())
    await stub.NodeGroups(provider_pb2.NodeGroupsRequest())
    for name in names:
        for machine in range(NODES // GROUPS):
            node = provider_pb2.ExternalGrpcNode(providerID=f"p:///{name}-1-{machine}")
            await stub.NodeGroupForNode(provider_pb2.NodeGroupForNodeRequest(node=node))
            calls += 1
    for group in groups * 3:
        await stub.NodeGroupTargetSize(provider_pb2.NodeGroupTargetSizeRequest(id=group))
        calls += 1
    for group in groups * (4 * NODES // GROUPS):
        request = provider_pb2.NodeGroupAutoscalingOptionsRequest(id=group)
        try:
            await stub.NodeGroupGetOptions(request)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                raise
        calls += 1
    return calls


async def load(port: str, shoots: int, folder: Path) -> None:
    """Run one loop of every shoot's autoscaler, all at once."""
    channels = []
    authority = (folder / "ca.crt").read_bytes()
    for number in range(shoots):
        pair = KeyPair(
            (folder / f"{number}.crt").read_bytes(), (folder / f"{number}.key").read_bytes()
        )
        credentials = grpc.ssl_channel_credentials(authority, pair.key, pair.certificate)
        channels.append(grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials))
    stubs: list[Any] = [
        CloudProviderStub(channel)  # type: ignore[no-untyped-call]  # as grpc generates it
        for channel in channels
    ]
    await asyncio.gather(*(stub.Refresh(provider_pb2.RefreshRequest()) for stub in stubs))
    await asyncio.gather(*(stub.NodeGroups(provider_pb2.NodeGroupsRequest()) for stub in stubs))
    print("connected", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    started = time.perf_counter()
    counts = await asyncio.gather(*(scan(stub, number) for number, stub in enumerate(stubs)))
    seconds = time.perf_counter() - started
    print(json.dumps({"calls": sum(counts), "seconds": seconds}), flush=True)
    for channel in channels:
        await channel.close(None)


if __name__ == "__main__":
    mode, first, second, place = sys.argv[1:5]
    if mode == "load":
        uvloop.run(load(first, int(second), Path(place)))
    else:
        uvloop.run(serve(first, int(second), Path(place)))
