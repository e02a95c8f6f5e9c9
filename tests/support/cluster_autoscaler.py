"""A client that calls the provider as an unmodified cluster-autoscaler 1.36 does.

The order and number of calls are recorded from a real one: at start-up, in an idle loop, in a loop
with pending pods. Of its own logic only what later calls depend on is here.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import grpc

from webhook.nodegroups import provider_pb2
from webhook.nodegroups.provider_pb2_grpc import CloudProviderStub
from webhook.tls.authority import KeyPair

CALL_SECONDS = 30.0
"""More than the default of five seconds, for machines with other load."""


class FakeNode(NamedTuple):
    """A Node of the shoot, with the fields that calls carry."""

    name: str
    provider_id: str


class Autoscaler:
    """One process of cluster-autoscaler, with one connection."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub: Any = CloudProviderStub(channel)
        self.calls: Counter[str] = Counter()
        self.groups: dict[str, provider_pb2.NodeGroup] = {}

    async def call(self, method: str, request: Any) -> Any:
        """Make one call."""
        self.calls[method] += 1
        return await getattr(self._stub, method)(request, timeout=CALL_SECONDS)

    async def code(self, method: str, request: Any) -> grpc.StatusCode:
        """Make a call and return its status code."""
        try:
            await self.call(method, request)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    async def start(self, nodes: Iterable[FakeNode] = ()) -> None:
        """Make the calls that happen once, before the first loop."""
        await self._list_groups()
        for group in self.groups:
            await self.instances(group)
        for node in nodes:
            await self.group_of(node)
        await self.call("GPULabel", provider_pb2.GPULabelRequest())

    async def scan(self, nodes: Iterable[FakeNode] = (), *, pending: bool = False) -> None:
        """Run a loop: 22 calls for three groups and two nodes, more with pending pods."""
        known = [*nodes]
        await self.call("Refresh", provider_pb2.RefreshRequest())
        await self._list_groups()
        busy = {await self.group_of(node) for node in known}
        for group in self.groups:
            if group not in busy:
                await self.template(group)
        for _ in range(8 if pending else 3):
            for group in self.groups:
                await self.size(group)
        for _ in range(8 if pending else 4):
            for node in known:
                await self.options(await self.group_of(node) if pending else "")
        if pending:
            request = provider_pb2.GetAvailableGPUTypesRequest()
            await self.call("GetAvailableGPUTypes", request)

    async def size(self, group: str) -> int:
        answer = await self.call(
            "NodeGroupTargetSize", provider_pb2.NodeGroupTargetSizeRequest(id=group)
        )
        return int(answer.targetSize)

    async def group_of(self, node: FakeNode) -> str:
        """Return a node's group; its bounds are kept, because scale-down depends on them."""
        request = provider_pb2.NodeGroupForNodeRequest(
            node=provider_pb2.ExternalGrpcNode(name=node.name, providerID=node.provider_id)
        )
        group = (await self.call("NodeGroupForNode", request)).nodeGroup
        if group.id:
            self.groups[group.id] = group
        return str(group.id)

    async def instances(self, group: str) -> list[provider_pb2.Instance]:
        answer = await self.call("NodeGroupNodes", provider_pb2.NodeGroupNodesRequest(id=group))
        return [*answer.instances]

    async def template(self, group: str) -> bytes:
        """Return the template of a new Node; empty where the server does not implement it."""
        request = provider_pb2.NodeGroupTemplateNodeInfoRequest(id=group)
        try:
            data: bytes = (await self.call("NodeGroupTemplateNodeInfo", request)).nodeBytes
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return b""
            raise
        assert data, "an empty template ends cluster-autoscaler"
        return data

    async def options(self, group: str) -> None:
        request = provider_pb2.NodeGroupAutoscalingOptionsRequest(id=group)
        assert await self.code("NodeGroupGetOptions", request) is grpc.StatusCode.UNIMPLEMENTED

    async def increase(self, group: str, delta: int) -> grpc.StatusCode:
        request = provider_pb2.NodeGroupIncreaseSizeRequest(id=group, delta=delta)
        return await self.code("NodeGroupIncreaseSize", request)

    async def scale_up(self, nodes: int) -> dict[str, int]:
        """Increase all groups as with --balance-similar-node-groups; return the plan.

        Recorded: each group is limited by its own maximum only, the smallest come first, and each
        call waits for the one before. An error ends the scale-up.
        """
        sizes = {group: await self.size(group) for group in self.groups}
        plan = dict.fromkeys(sorted(sizes, key=lambda group: sizes[group]), 0)
        for _ in range(nodes):
            free = [each for each in plan if sizes[each] + plan[each] < self.groups[each].maxSize]
            if free:
                plan[min(free, key=lambda each: sizes[each] + plan[each])] += 1
        for group, delta in plan.items():
            if delta and await self.increase(group, delta) is not grpc.StatusCode.OK:
                break
        return plan

    async def delete(self, group: str, *ids: str) -> grpc.StatusCode:
        nodes = [provider_pb2.ExternalGrpcNode(name=each, providerID=each) for each in ids]
        request = provider_pb2.NodeGroupDeleteNodesRequest(id=group, nodes=nodes)
        return await self.code("NodeGroupDeleteNodes", request)

    async def decrease(self, group: str, delta: int) -> grpc.StatusCode:
        request = provider_pb2.NodeGroupDecreaseTargetSizeRequest(id=group, delta=delta)
        return await self.code("NodeGroupDecreaseTargetSize", request)

    async def _list_groups(self) -> None:
        answer = await self.call("NodeGroups", provider_pb2.NodeGroupsRequest())
        self.groups = {group.id: group for group in answer.nodeGroups}


@asynccontextmanager
async def connected_autoscaler(
    address: str, pair: KeyPair | None = None, authority: bytes | None = None
) -> AsyncIterator[Autoscaler]:
    """Connect as cluster-autoscaler does, with a client certificate or none."""
    if pair is None:
        channel = grpc.aio.insecure_channel(address)
    else:
        credentials = grpc.ssl_channel_credentials(authority, pair.key, pair.certificate)
        channel = grpc.aio.secure_channel(address, credentials)
    async with channel:
        yield Autoscaler(channel)
