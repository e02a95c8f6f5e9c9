"""What cluster-autoscaler asks and gets: reads from memory, writes through the pool's record.

Answers follow what an unmodified cluster-autoscaler makes of them: an error of one group's target
size gives up a whole loop, an error of one node's group forbids every scale-up, an error of an
increase backs a zone off, and an empty template ends the process.
"""

from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.domain.groups import Group
from webhook.nodegroups import provider_pb2 as wire
from webhook.nodegroups.catchup import CatchUp
from webhook.nodegroups.metrics import GroupMetrics
from webhook.nodegroups.resizing import Resizer
from webhook.nodegroups.views import View, Views, nodes_of

Code: TypeAlias = Literal["NOT_FOUND", "INVALID_ARGUMENT", "UNIMPLEMENTED"]

GPU_LABEL: Final = "gpu"

_NOT_MANAGED: Final = wire.NodeGroupForNodeResponse(nodeGroup=wire.NodeGroup())


class Refusal(Exception):  # noqa: N818 - an answer like any other, not a fault of ours
    """A call that cannot be answered as asked: a gRPC code, and why."""

    def __init__(self, code: Code, why: str) -> None:
        super().__init__(why)
        self.code = code


class Caller(NamedTuple):
    """Who asks: a connection, and the namespace that it may see and scale."""

    peer: str
    namespace: str


class Provider:
    """Answers callers, each for its own namespace."""

    def __init__(
        self, views: Views, resizer: Resizer, catch_up: CatchUp, metrics: GroupMetrics
    ) -> None:
        self._views = views
        self._resizer = resizer
        self._catch_up = catch_up
        self._metrics = metrics

    async def refresh(self, caller: Caller, request: wire.RefreshRequest) -> wire.RefreshResponse:
        await self._catch_up.first(caller.peer, caller.namespace)
        self._views.refresh(caller.namespace)
        return wire.RefreshResponse()

    async def node_groups(
        self, caller: Caller, request: wire.NodeGroupsRequest
    ) -> wire.NodeGroupsResponse:
        return self._views.get(caller.namespace).encoded

    async def node_group_for_node(
        self, caller: Caller, request: wire.NodeGroupForNodeRequest
    ) -> wire.NodeGroupForNodeResponse:
        view = self._views.get(caller.namespace)
        # Never by name alone: a name says nothing about where a Node comes from.
        group = view.group_of(request.node.providerID)
        if group is None:
            return _NOT_MANAGED
        # The minimum in here is the one that guards scale-down.
        return wire.NodeGroupForNodeResponse(nodeGroup=view.messages[group])

    async def target_size(
        self, caller: Caller, request: wire.NodeGroupTargetSizeRequest
    ) -> wire.NodeGroupTargetSizeResponse:
        view = self._views.get(caller.namespace)
        group = view.groups.get(request.id) or self._views.recall(view.namespace, request.id)
        if group is None:
            raise _unknown(view, request.id)
        return wire.NodeGroupTargetSizeResponse(targetSize=group.target)

    async def nodes(
        self, caller: Caller, request: wire.NodeGroupNodesRequest
    ) -> wire.NodeGroupNodesResponse:
        return nodes_of(self._group(caller, request.id))

    async def template_node_info(
        self, caller: Caller, request: wire.NodeGroupTemplateNodeInfoRequest
    ) -> wire.NodeGroupTemplateNodeInfoResponse:
        node = self._views.get(caller.namespace).templates.get(request.id)
        if not node:
            why = f"the MachineClass of {request.id} does not say what its Nodes are like"
            raise Refusal("UNIMPLEMENTED", why)
        return wire.NodeGroupTemplateNodeInfoResponse(nodeBytes=node)

    async def increase_size(
        self, caller: Caller, request: wire.NodeGroupIncreaseSizeRequest
    ) -> wire.NodeGroupIncreaseSizeResponse:
        group = self._group(caller, request.id)
        if request.delta <= 0:
            raise Refusal("INVALID_ARGUMENT", f"delta: {request.delta} is not positive")
        granted = await self._resizer.increase(group, request.delta)
        self._metrics.granted(request.delta, granted)
        return wire.NodeGroupIncreaseSizeResponse()

    async def delete_nodes(
        self, caller: Caller, request: wire.NodeGroupDeleteNodesRequest
    ) -> wire.NodeGroupDeleteNodesResponse:
        group = self._group(caller, request.id)
        # Instances without a Node come with their id as name and as providerID.
        ids = [node.providerID or node.name for node in request.nodes]
        await self._resizer.delete(group, ids)
        return wire.NodeGroupDeleteNodesResponse()

    async def decrease_target_size(
        self, caller: Caller, request: wire.NodeGroupDecreaseTargetSizeRequest
    ) -> wire.NodeGroupDecreaseTargetSizeResponse:
        group = self._group(caller, request.id)
        if request.delta >= 0:
            raise Refusal("INVALID_ARGUMENT", f"delta: {request.delta} is not negative")
        await self._resizer.decrease(group, -request.delta)
        return wire.NodeGroupDecreaseTargetSizeResponse()

    async def options(
        self, caller: Caller, request: wire.NodeGroupAutoscalingOptionsRequest
    ) -> wire.NodeGroupAutoscalingOptionsResponse:
        # Any answer lacks the time that Nodes may take to start, which cluster-autoscaler then
        # takes for none at all: it deletes booting Nodes. Without an answer its flags count.
        raise Refusal("UNIMPLEMENTED", "the flags of cluster-autoscaler count")

    async def gpu_label(
        self, caller: Caller, request: wire.GPULabelRequest
    ) -> wire.GPULabelResponse:
        return wire.GPULabelResponse(label=GPU_LABEL)

    async def gpu_types(
        self, caller: Caller, request: wire.GetAvailableGPUTypesRequest
    ) -> wire.GetAvailableGPUTypesResponse:
        return wire.GetAvailableGPUTypesResponse()

    async def cleanup(self, caller: Caller, request: wire.CleanupRequest) -> wire.CleanupResponse:
        return wire.CleanupResponse()

    async def price(
        self, caller: Caller, request: wire.PricingNodePriceRequest | wire.PricingPodPriceRequest
    ) -> wire.PricingNodePriceResponse:
        raise Refusal("UNIMPLEMENTED", "prices are not known here, use another expander")

    def _group(self, caller: Caller, group: str) -> Group:
        view = self._views.get(caller.namespace)
        found = view.groups.get(group)
        if found is None:
            raise _unknown(view, group)
        return found


def _unknown(view: View, group: str) -> Refusal:
    return Refusal("NOT_FOUND", f"there is no node group {group!r} in namespace {view.namespace}")
