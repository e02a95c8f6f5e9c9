"""The gRPC server: who calls, what they call, and which code an error becomes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple, TypeAlias

import grpc
from grpc.aio import ServicerContext

from webhook.cluster.cache import NotSyncedError
from webhook.cluster.errors import ApiError
from webhook.domain.lowering import ForeignNodeError, RollingError
from webhook.nodegroups import provider_pb2 as wire
from webhook.nodegroups.catchup import NotCaughtUpError
from webhook.nodegroups.identity import namespace_of
from webhook.nodegroups.metrics import GroupMetrics
from webhook.nodegroups.provider import Caller, Provider, Refusal
from webhook.nodegroups.resizing import GoneError
from webhook.tls.authority import KeyPair

Method: TypeAlias = Callable[[Provider, Caller, Any], Awaitable[Any]]
Context: TypeAlias = ServicerContext[Any, Any]

SERVICE: Final = wire.DESCRIPTOR.services_by_name["CloudProvider"].full_name

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
"""Every method of the service, and what answers it."""

CODES: Final[Mapping[type[Exception], grpc.StatusCode]] = {
    NotSyncedError: grpc.StatusCode.UNAVAILABLE,
    NotCaughtUpError: grpc.StatusCode.UNAVAILABLE,
    ApiError: grpc.StatusCode.UNAVAILABLE,
    GoneError: grpc.StatusCode.NOT_FOUND,
    ForeignNodeError: grpc.StatusCode.INVALID_ARGUMENT,
    RollingError: grpc.StatusCode.FAILED_PRECONDITION,
}
"""What becomes of an error that a call ends with; any other is a bug, and UNKNOWN."""

_EXPECTED: Final[tuple[type[Exception], ...]] = (Refusal, *CODES)
_STRANGER: Final = (
    "the client certificate names no namespace:"
    " make one with espalier certs create --nodegroups NAMESPACE"
)


class Credentials(NamedTuple):
    """What the server shows, and whose clients it lets in."""

    pair: KeyPair
    client_authorities: bytes


class Listening(NamedTuple):
    """Where and for whom to listen."""

    host: str
    port: int
    credentials: Callable[[], Credentials] | None
    """Asked at every handshake, so that a renewed certificate is served at once."""
    insecure: str = ""
    """Without credentials: the one namespace that every caller may see and scale."""
    is_shared: bool = False
    """Whether several processes listen on the same port."""


class ListenError(Exception):
    """A port that cannot be listened on."""


@asynccontextmanager
async def serving(
    provider: Provider, metrics: GroupMetrics, where: Listening
) -> AsyncIterator[int]:
    """Serve while the block runs; gives the port."""
    server = grpc.aio.server(options=[("grpc.so_reuseport", int(where.is_shared))])
    server.add_generic_rpc_handlers((_handlers(provider, metrics, where.insecure),))
    address = f"{where.host}:{where.port}"
    try:
        if where.credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, _server_credentials(where.credentials))
    except RuntimeError as error:
        raise ListenError(f"cannot listen on {address} for node groups") from error
    await server.start()
    try:
        yield port
    finally:
        await server.stop(grace=1.0)


def _handlers(
    provider: Provider, metrics: GroupMetrics, insecure: str
) -> "grpc.GenericRpcHandler[Any, Any]":
    service = wire.DESCRIPTOR.services_by_name["CloudProvider"]
    handlers = {}
    for name, method in METHODS.items():
        request = getattr(wire, service.methods_by_name[name].input_type.name)
        handlers[name] = grpc.unary_unary_rpc_method_handler(
            _answering(provider, metrics, insecure, name, method),
            request_deserializer=request.FromString,
            response_serializer=_serialized,
        )
    return grpc.method_handlers_generic_handler(SERVICE, handlers)


def _serialized(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


def _answering(
    provider: Provider, metrics: GroupMetrics, insecure: str, name: str, method: Method
) -> Callable[[Any, Context], Awaitable[Any]]:
    """Find out who calls, let the method answer, and count how that went."""
    tally = metrics.tally(name)

    async def answer(request: Any, context: Context) -> Any:
        started = metrics.begin()
        namespace = insecure or namespace_of(context.auth_context())
        if not namespace:
            tally.note("PERMISSION_DENIED", started)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, _STRANGER)
        try:
            response = await method(provider, Caller(context.peer(), namespace), request)
        except _EXPECTED as error:
            code = code_of(error)
            tally.note(code.name, started)
            await context.abort(code, " ".join(str(error).split()))
        tally.note("OK", started)
        return response

    return answer


def code_of(error: Exception) -> grpc.StatusCode:
    """Tell the code that an expected error becomes."""
    if isinstance(error, Refusal):
        return grpc.StatusCode[error.code]
    return next(code for kind, code in CODES.items() if isinstance(error, kind))


def _server_credentials(current: Callable[[], Credentials]) -> grpc.ServerCredentials:
    def configuration() -> Any:
        now = current()
        return grpc.ssl_server_certificate_configuration(
            [(now.pair.key, now.pair.certificate)], root_certificates=now.client_authorities
        )

    return grpc.dynamic_ssl_server_credentials(
        configuration(), configuration, require_client_authentication=True
    )
