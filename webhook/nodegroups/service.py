"""The gRPC server: authenticates callers, dispatches methods, maps errors to status codes."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple, TypeAlias

import grpc
from grpc.aio import ServicerContext

from webhook.cluster.cache import NotSyncedError
from webhook.cluster.errors import ApiError
from webhook.domain.pools.scale_down import ForeignNodeError, RollingError
from webhook.nodegroups import provider_pb2
from webhook.nodegroups.catchup import CacheLagError
from webhook.nodegroups.deployments import NodeGroupNotFoundError
from webhook.nodegroups.identity import namespace_of
from webhook.nodegroups.metrics import GroupMetrics
from webhook.nodegroups.provider import Caller, Provider, ProviderError
from webhook.tls.authority import KeyPair

Method: TypeAlias = Callable[[Provider, Caller, Any], Awaitable[Any]]
CallContext: TypeAlias = ServicerContext[Any, Any]

SERVICE: Final = provider_pb2.DESCRIPTOR.services_by_name["CloudProvider"].full_name

METHODS: Final[Mapping[str, Method]] = {
    "Refresh": Provider.refresh,
    "NodeGroups": Provider.node_groups,
    "NodeGroupForNode": Provider.node_group_for_node,
    "NodeGroupTargetSize": Provider.target_size,
    "NodeGroupNodes": Provider.nodes,
    "NodeGroupTemplateNodeInfo": Provider.template_node_info,
    "NodeGroupIncreaseSize": Provider.increase_size,
    "NodeGroupDeleteNodes": Provider.delete_nodes,
    "NodeGroupDecreaseTargetSize": Provider.decrease_target_size,
    "NodeGroupGetOptions": Provider.options,
    "GPULabel": Provider.gpu_label,
    "GetAvailableGPUTypes": Provider.gpu_types,
    "Cleanup": Provider.cleanup,
    "PricingNodePrice": Provider.price,
    "PricingPodPrice": Provider.price,
}
"""Every method of the service, and the function that answers it."""

CODES: Final[Mapping[type[Exception], grpc.StatusCode]] = {
    NotSyncedError: grpc.StatusCode.UNAVAILABLE,
    CacheLagError: grpc.StatusCode.UNAVAILABLE,
    ApiError: grpc.StatusCode.UNAVAILABLE,
    NodeGroupNotFoundError: grpc.StatusCode.NOT_FOUND,
    ForeignNodeError: grpc.StatusCode.INVALID_ARGUMENT,
    RollingError: grpc.StatusCode.FAILED_PRECONDITION,
}
"""Status codes of expected errors; any other error is a bug, and UNKNOWN."""

_EXPECTED: Final[tuple[type[Exception], ...]] = (ProviderError, *CODES)
_NO_NAMESPACE: Final = (
    "the client certificate names no namespace:"
    " create one with espalier certs create --nodegroups NAMESPACE"
)


class ServingCredentials(NamedTuple):
    """The serving certificate, and the CAs of accepted client certificates."""

    pair: KeyPair
    client_authorities: bytes


class ListenOptions(NamedTuple):
    """The address to listen on, and who may connect."""

    host: str
    port: int
    credentials: Callable[[], ServingCredentials] | None
    """Called at every handshake, so that a renewed certificate takes effect at once."""
    insecure: str = ""
    """Without credentials: the namespace that every caller may read and scale."""
    is_shared: bool = False
    stop_seconds: float = 1.0
    """How long calls in progress may take when the listener stops."""
    """Whether several processes listen on the same port."""


class GrpcListenError(Exception):
    """The address cannot be listened on."""


@asynccontextmanager
async def serving(
    provider: Provider, metrics: GroupMetrics, listen: ListenOptions
) -> AsyncIterator[int]:
    """Serve while the block runs; yields the port."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", int(listen.is_shared))])
    server.add_generic_rpc_handlers((_handlers(provider, metrics, listen.insecure),))
    address = f"{listen.host}:{listen.port}"
    try:
        if listen.credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, _server_credentials(listen.credentials))
    except RuntimeError as error:
        raise GrpcListenError(f"cannot listen on {address} for node groups") from error
    await server.start()
    try:
        yield port
    finally:
        await server.stop(grace=listen.stop_seconds)


def _handlers(
    provider: Provider, metrics: GroupMetrics, insecure: str
) -> "grpc.GenericRpcHandler[Any, Any]":
    service = provider_pb2.DESCRIPTOR.services_by_name["CloudProvider"]
    handlers = {}
    for name, method in METHODS.items():
        request = getattr(provider_pb2, service.methods_by_name[name].input_type.name)
        handlers[name] = grpc.unary_unary_rpc_method_handler(
            _handler(provider, metrics, insecure, name, method),
            request_deserializer=request.FromString,
            response_serializer=_serialize,
        )
    return grpc.method_handlers_generic_handler(SERVICE, handlers)


def _serialize(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


def _handler(
    provider: Provider, metrics: GroupMetrics, insecure: str, name: str, method: Method
) -> Callable[[Any, CallContext], Awaitable[Any]]:
    """Make the handler of a method: it authenticates, calls the method and counts the result."""
    method_metrics = metrics.for_method(name)

    async def handle(request: Any, context: CallContext) -> Any:
        started = time.perf_counter()
        namespace = insecure or namespace_of(context.auth_context())
        if not namespace:
            method_metrics.record_call("PERMISSION_DENIED", started)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, _NO_NAMESPACE)
        try:
            response = await method(provider, Caller(context.peer(), namespace), request)
        except _EXPECTED as error:
            code = code_of(error)
            method_metrics.record_call(code.name, started)
            await context.abort(code, " ".join(str(error).split()))
        method_metrics.record_call("OK", started)
        return response

    return handle


def code_of(error: Exception) -> grpc.StatusCode:
    """Return the status code of an expected error."""
    if isinstance(error, ProviderError):
        return grpc.StatusCode[error.code]
    return next(code for kind, code in CODES.items() if isinstance(error, kind))


def _server_credentials(current: Callable[[], ServingCredentials]) -> grpc.ServerCredentials:
    def configuration() -> Any:
        credentials = current()
        return grpc.ssl_server_certificate_configuration(
            [(credentials.pair.key, credentials.pair.certificate)],
            root_certificates=credentials.client_authorities,
        )

    return grpc.dynamic_ssl_server_credentials(
        configuration(), configuration, require_client_authentication=True
    )
