"""The failures of requests to an API server, or to a proxy in front of it."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from typing_extensions import override

from webhook.kube.status import (
    ALREADY_EXISTS,
    BAD_REQUEST,
    CONFLICT,
    EXPIRED,
    FORBIDDEN,
    GONE,
    INTERNAL_ERROR,
    INVALID,
    NOT_FOUND,
    RESOURCE_VERSION_TOO_LARGE,
    SERVER_TIMEOUT,
    SERVICE_UNAVAILABLE,
    TIMEOUT,
    TOO_MANY_REQUESTS,
    UNAUTHORIZED,
)

# Enough of an unexpected response to recognise it, and not enough to flood a log.
_EXCERPT_BYTES: Final = 256

_ANONYMOUS: Final = 'User "system:anonymous"'
# The message of Kubernetes' authorizers. Admission plugins use other words.
_LACKS_PERMISSION: Final = re.compile(
    r'is forbidden: User "[^"]*" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"'
)

DECODE_ERRORS: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The exceptions of decoding: invalid JSON, invalid UTF-8, nesting that is too deep."""


class Permission(NamedTuple):
    """A verb on a resource, as RBAC rules grant it."""

    verb: str
    resource: str
    group: str

    @override
    def __str__(self) -> str:
        plural, _, subresource = self.resource.partition("/")
        name = f"{plural}.{self.group}" if self.group else plural
        return f"{self.verb} {name}/{subresource}" if subresource else f"{self.verb} {name}"


class ApiError(Exception):
    """A request failed; `status` is the HTTP status, 0 without a response."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.retry_after = retry_after

    @property
    def causes(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self.details.get("causes") or ())


class BadRequestError(ApiError):
    """The server cannot parse the request."""


class UnauthorizedError(ApiError):
    """The server does not accept the credentials."""


class ForbiddenError(ApiError):
    """The client lacks a permission, or admission refuses the request."""

    @property
    def is_anonymous(self) -> bool:
        """Whether the server took us for anonymous, whatever our permissions are.

        An aggregated API server that has just started treats every client as anonymous until it
        has read the configuration of the front proxy.
        """
        return _ANONYMOUS in self.message

    @property
    def missing_permission(self) -> Permission | None:
        """The permission that we lack; None if admission refused the content of the request."""
        found = _LACKS_PERMISSION.search(self.message)
        return None if found is None or self.is_anonymous else Permission(*found.groups())


class NotFoundError(ApiError):
    """The object or its kind does not exist."""

    @property
    def is_object_missing(self) -> bool:
        """Whether the server has the kind and not the object.

        Only then the object is gone: the objects of a kind that is not served may still exist.
        """
        return bool(self.details.get("name"))


class ConflictError(ApiError):
    """The object has changed since the state that the request is based on."""


class AlreadyExistsError(ApiError):
    """An object of that name exists."""


class GoneError(ApiError):
    """The requested resource version has expired, or the server does not have it yet."""


class InvalidError(ApiError):
    """The object violates the validation of its kind."""


class ThrottledError(ApiError):
    """The server throttles the client (429)."""


class UnavailableError(ApiError):
    """The server cannot answer at the moment."""


class UnreachableError(UnavailableError):
    """There was no response in time, or the connection broke."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "Unreachable", message)


class SilentWatchError(UnreachableError):
    """A watch sent nothing for so long that its connection counts as dead."""


class UnreadableError(UnavailableError):
    """The response is not one of an API server, but for instance one of a proxy."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, "Unreadable", message)


_BY_REASON: Final[Mapping[str, type[ApiError]]] = {
    BAD_REQUEST: BadRequestError,
    UNAUTHORIZED: UnauthorizedError,
    FORBIDDEN: ForbiddenError,
    NOT_FOUND: NotFoundError,
    CONFLICT: ConflictError,
    ALREADY_EXISTS: AlreadyExistsError,
    GONE: GoneError,
    EXPIRED: GoneError,
    INVALID: InvalidError,
    TOO_MANY_REQUESTS: ThrottledError,
    SERVER_TIMEOUT: UnavailableError,
    SERVICE_UNAVAILABLE: UnavailableError,
    TIMEOUT: UnavailableError,
    INTERNAL_ERROR: UnavailableError,
}
_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: InvalidError,
    429: ThrottledError,
}


class _Status(msgspec.Struct, rename="camel"):
    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


_DECODER: Final = msgspec.json.Decoder(_Status)


def error_from_status(
    document: bytes | msgspec.Raw, status: int = 0, retry_after: float | None = None
) -> ApiError:
    """Make an error of a Status object; any other document is an UnreadableError."""
    try:
        answer = _DECODER.decode(document)
    except DECODE_ERRORS:
        return UnreadableError(status, f"no Status but {excerpt(bytes(document))}")
    if answer.kind != "Status":
        return UnreadableError(status, f"no Status but {excerpt(bytes(document))}")
    code = answer.code or status
    details = answer.details or {}
    if retry_after is None:
        retry_after = details.get("retryAfterSeconds")
    kind = GoneError if _is_version_too_large(details) else _class_of(code, answer.reason)
    return kind(code, answer.reason, answer.message or answer.reason, details, retry_after)


def error_from_response(
    status: int, content_type: str, body: bytes, retry_after: float | None = None
) -> ApiError:
    """Make an error of a failed response; its HTTP status counts even without a Status object."""
    if content_type == "application/json":
        error = error_from_status(body, status, retry_after)
        if not isinstance(error, UnreadableError):
            return error
    message = f"HTTP {status} with {content_type or 'no type'}: {excerpt(body)}"
    if status == 429:
        return ThrottledError(status, TOO_MANY_REQUESTS, message, None, retry_after)
    if status == 401:
        return UnauthorizedError(status, UNAUTHORIZED, message)
    if status == 404 and body.startswith(b"404 page not found"):
        # The response of Kubernetes servers for a path that they do not have.
        return NotFoundError(status, NOT_FOUND, message)
    return UnreadableError(status, message)


def excerpt(body: bytes) -> str:
    """Return the beginning of an unexpected response, on one line."""
    text = " ".join(body[:_EXCERPT_BYTES].decode(errors="replace").split())
    return f"{text!r}…" if len(body) > _EXCERPT_BYTES else f"{text!r}"


def _class_of(status: int, reason: str) -> type[ApiError]:
    by_reason = _BY_REASON.get(reason)
    if by_reason is not None:
        return by_reason
    return _BY_STATUS.get(status, UnavailableError if status >= 500 else ApiError)


def _is_version_too_large(details: Mapping[str, Any]) -> bool:
    # After a restored backup, or on a lagging replica, our version is newer than the server's.
    causes = details.get("causes") or ()
    return any(cause.get("reason") == RESOURCE_VERSION_TOO_LARGE for cause in causes)
