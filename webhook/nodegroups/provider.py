"""The methods of the CloudProvider service: reads from the cache, writes through the resizer.

The answers depend on how an unmodified cluster-autoscaler reacts: after an error of
NodeGroupTargetSize it ends the loop, after an error of NodeGroupForNode it does not scale up at
all, after an error of NodeGroupIncreaseSize it backs off the zone, and an empty template ends its
process.
"""

from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.domain.pools.node_groups import ZoneGroup
from webhook.nodegroups import provider_pb2
from webhook.nodegroups.catchup import CacheCatchUp
from webhook.nodegroups.metrics import GroupMetrics
from webhook.nodegroups.resizer import Resizer
from webhook.nodegroups.views import View, Views, nodes_of

Code: TypeAlias = Literal["NOT_FOUND", "INVALID_ARGUMENT", "UNIMPLEMENTED"]

GPU_LABEL: Final = "gpu"

_NOT_MANAGED: Final = provider_pb2.NodeGroupForNodeResponse(nodeGroup=provider_pb2.NodeGroup())


class ProviderError(Exception):
    """A call that cannot be answered: a gRPC status code and the reason."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Caller(NamedTuple):
    """A connection, and the namespace that it may read and scale."""

    peer: str
    namespace: str


class Provider:
    """Answers calls, each for the namespace of its caller."""

    def __init__(
        self, views: Views, resizer: Resizer, catch_up: CacheCatchUp, metrics: GroupMetrics
    ) -> None:
        self._views = views
        self._resizer = resizer
        self._catch_up = catch_up
        self._metrics = metrics

    async def refresh(
        self, caller: Caller, request: provider_pb2.RefreshRequest
    ) -> provider_pb2.RefreshResponse:
        await self._catch_up.wait_on_first_call(caller.peer, caller.namespace)
        # An autoscaler refreshes between two loops, so all increases of the last one are known.
        self._metrics.record_increase(0, await self._resizer.grant_rest(caller.namespace))
        self._views.refresh(caller.namespace)
        return provider_pb2.RefreshResponse()

    async def node_groups(
        self, caller: Caller, request: provider_pb2.NodeGroupsRequest
    ) -> provider_pb2.NodeGroupsResponse:
        return self._views.get(caller.namespace).encoded

    async def node_group_for_node(
        self, caller: Caller, request: provider_pb2.NodeGroupForNodeRequest
    ) -> provider_pb2.NodeGroupForNodeResponse:
        view = self._views.get(caller.namespace)
        # Not by name: Nodes of other origin may have the same name.
        group = view.group_of(request.node.providerID)
        if group is None:
            return _NOT_MANAGED
        # Scale-down respects the minimum of this answer.
        return provider_pb2.NodeGroupForNodeResponse(nodeGroup=view.messages[group])

    async def target_size(
        self, caller: Caller, request: provider_pb2.NodeGroupTargetSizeRequest
    ) -> provider_pb2.NodeGroupTargetSizeResponse:
        view = self._views.get(caller.namespace)
        group = view.groups.get(request.id) or self._views.last_known(view.namespace, request.id)
        if group is None:
            raise _not_found(view, request.id)
        return provider_pb2.NodeGroupTargetSizeResponse(targetSize=group.target)

    async def nodes(
        self, caller: Caller, request: provider_pb2.NodeGroupNodesRequest
    ) -> provider_pb2.NodeGroupNodesResponse:
        return nodes_of(self._group(caller, request.id))

    async def template_node_info(
        self, caller: Caller, request: provider_pb2.NodeGroupTemplateNodeInfoRequest
    ) -> provider_pb2.NodeGroupTemplateNodeInfoResponse:
        node = self._views.get(caller.namespace).templates.get(request.id)
        if not node:
            why = f"the MachineClass of {request.id} does not describe its Nodes"
            raise ProviderError("UNIMPLEMENTED", why)
        return provider_pb2.NodeGroupTemplateNodeInfoResponse(nodeBytes=node)

    async def increase_size(
        self, caller: Caller, request: provider_pb2.NodeGroupIncreaseSizeRequest
    ) -> provider_pb2.NodeGroupIncreaseSizeResponse:
        group = self._group(caller, request.id)
        if request.delta <= 0:
            raise ProviderError("INVALID_ARGUMENT", f"delta: {request.delta} is not positive")
        granted = await self._resizer.increase(group, request.delta)
        self._metrics.record_increase(request.delta, granted)
        return provider_pb2.NodeGroupIncreaseSizeResponse()

    async def delete_nodes(
        self, caller: Caller, request: provider_pb2.NodeGroupDeleteNodesRequest
    ) -> provider_pb2.NodeGroupDeleteNodesResponse:
        group = self._group(caller, request.id)
        # Instances without a Node have their id as name and as providerID.
        ids = [node.providerID or node.name for node in request.nodes]
        await self._resizer.delete(group, ids)
        return provider_pb2.NodeGroupDeleteNodesResponse()

    async def decrease_target_size(
        self, caller: Caller, request: provider_pb2.NodeGroupDecreaseTargetSizeRequest
    ) -> provider_pb2.NodeGroupDecreaseTargetSizeResponse:
        group = self._group(caller, request.id)
        if request.delta >= 0:
            raise ProviderError("INVALID_ARGUMENT", f"delta: {request.delta} is not negative")
        await self._resizer.decrease(group, -request.delta)
        return provider_pb2.NodeGroupDecreaseTargetSizeResponse()

    async def options(
        self, caller: Caller, request: provider_pb2.NodeGroupAutoscalingOptionsRequest
    ) -> provider_pb2.NodeGroupAutoscalingOptionsResponse:
        # An answer cannot hold the startup time of Nodes, and cluster-autoscaler would take it for
        # zero and delete booting Nodes. Without an answer, it uses its flags.
        raise ProviderError("UNIMPLEMENTED", "the flags of cluster-autoscaler apply")

    async def gpu_label(
        self, caller: Caller, request: provider_pb2.GPULabelRequest
    ) -> provider_pb2.GPULabelResponse:
        return provider_pb2.GPULabelResponse(label=GPU_LABEL)

    async def gpu_types(
        self, caller: Caller, request: provider_pb2.GetAvailableGPUTypesRequest
    ) -> provider_pb2.GetAvailableGPUTypesResponse:
        # None: like prices, they are for expanders that are of no use here.
        return provider_pb2.GetAvailableGPUTypesResponse()

    async def cleanup(
        self, caller: Caller, request: provider_pb2.CleanupRequest
    ) -> provider_pb2.CleanupResponse:
        return provider_pb2.CleanupResponse()

    async def price(
        self,
        caller: Caller,
        request: provider_pb2.PricingNodePriceRequest | provider_pb2.PricingPodPriceRequest,
    ) -> provider_pb2.PricingNodePriceResponse:
        raise ProviderError("UNIMPLEMENTED", "prices are not known, use another expander")

    def _group(self, caller: Caller, group: str) -> ZoneGroup:
        view = self._views.get(caller.namespace)
        found = view.groups.get(group)
        if found is None:
            raise _not_found(view, group)
        return found


def _not_found(view: View, group: str) -> ProviderError:
    return ProviderError(
        "NOT_FOUND", f"there is no node group {group!r} in namespace {view.namespace}"
    )
