"""What an API server, or whatever stands before it, answers instead of what was asked for."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from typing_extensions import override

from webhook.api import status as reasons

# Enough of a foreign answer to recognise it by, not enough to flood a log.
_EXCERPT: Final = 256

_ANONYMOUS: Final = 'User "system:anonymous"'
# How Kubernetes' servers word what no rule allows; admission never says it that way.
_NOT_ALLOWED: Final = re.compile(
    r'is forbidden: User "[^"]*" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"'
)

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises: for JSON that is not as it should be, broken text, endless nesting."""


class Right(NamedTuple):
    """What somebody may or may not do."""

    verb: str
    resource: str
    group: str

    @override
    def __str__(self) -> str:
        plural, _, subresource = self.resource.partition("/")
        name = f"{plural}.{self.group}" if self.group else plural
        return f"{self.verb} {name}/{subresource}" if subresource else f"{self.verb} {name}"


class ApiError(Exception):
    """A request that failed; `status` is the HTTP status, 0 if nobody answered."""

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
    """The request makes no sense to the server."""


class UnauthorizedError(ApiError):
    """The server does not know who asks."""


class ForbiddenError(ApiError):
    """The one who asks may not, or an admission rule says no."""

    @property
    def mistakes_us(self) -> bool:
        """Tell whether the server did not see who asks: that is no verdict about us.

        An aggregated server that has just started takes everybody for anonymous until it has read
        whom to believe.
        """
        return _ANONYMOUS in self.message

    @property
    def missing(self) -> Right | None:
        """The right that we lack; None if somebody judged what we asked for, and not us."""
        found = _NOT_ALLOWED.search(self.message)
        return None if found is None or self.mistakes_us else Right(*found.groups())


class NotFoundError(ApiError):
    """There is no such object, or no such kind."""

    @property
    def names_object(self) -> bool:
        """Tell whether the server knows the kind and misses the object.

        Only then the object is gone: a kind that is not served says nothing about its objects.
        """
        return bool(self.details.get("name"))


class ConflictError(ApiError):
    """The object is not in the state that the request presumes."""


class AlreadyExistsError(ApiError):
    """An object of that name is there already."""


class GoneError(ApiError):
    """The server no longer knows, or does not yet know, the version that was asked for."""


class InvalidError(ApiError):
    """The object breaks rules of its kind."""


class ThrottledError(ApiError):
    """Later, please."""


class UnavailableError(ApiError):
    """The server cannot answer now."""


class UnreachableError(UnavailableError):
    """Nobody answered in time, or the connection broke."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "Unreachable", message)


class QuietError(UnreachableError):
    """A watch said nothing for so long that it must be taken for dead."""


class UnreadableError(UnavailableError):
    """Something answered, but not in the words of an API server: a proxy, for instance."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, "Unreadable", message)


_BY_REASON: Final[Mapping[str, type[ApiError]]] = {
    reasons.BAD_REQUEST: BadRequestError,
    reasons.UNAUTHORIZED: UnauthorizedError,
    reasons.FORBIDDEN: ForbiddenError,
    reasons.NOT_FOUND: NotFoundError,
    reasons.CONFLICT: ConflictError,
    reasons.ALREADY_EXISTS: AlreadyExistsError,
    reasons.GONE: GoneError,
    reasons.EXPIRED: GoneError,
    reasons.INVALID: InvalidError,
    reasons.TOO_MANY_REQUESTS: ThrottledError,
    reasons.SERVER_TIMEOUT: UnavailableError,
    reasons.SERVICE_UNAVAILABLE: UnavailableError,
    reasons.TIMEOUT: UnavailableError,
    reasons.INTERNAL_ERROR: UnavailableError,
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


def of_status(
    document: bytes | msgspec.Raw, status: int = 0, retry_after: float | None = None
) -> ApiError:
    """Read a Status object; anything else that an error came with is unreadable."""
    try:
        answer = _DECODER.decode(document)
    except UNREADABLE:
        return UnreadableError(status, f"no Status but {excerpt(bytes(document))}")
    if answer.kind != "Status":
        return UnreadableError(status, f"no Status but {excerpt(bytes(document))}")
    code = answer.code or status
    details = answer.details or {}
    if retry_after is None:
        retry_after = details.get("retryAfterSeconds")
    kind = GoneError if _is_version_too_large(details) else _class_of(code, answer.reason)
    return kind(code, answer.reason, answer.message or answer.reason, details, retry_after)


def of_response(
    status: int, content_type: str, body: bytes, retry_after: float | None = None
) -> ApiError:
    """Make an error of a failed answer; its status still counts where its body is foreign."""
    if content_type == "application/json":
        error = of_status(body, status, retry_after)
        if not isinstance(error, UnreadableError):
            return error
    message = f"HTTP {status} with {content_type or 'no type'}: {excerpt(body)}"
    if status == 429:
        return ThrottledError(status, reasons.TOO_MANY_REQUESTS, message, None, retry_after)
    if status == 401:
        return UnauthorizedError(status, reasons.UNAUTHORIZED, message)
    if status == 404 and body.startswith(b"404 page not found"):
        # How Kubernetes servers say that they do not have a path at all.
        return NotFoundError(status, reasons.NOT_FOUND, message)
    return UnreadableError(status, message)


def excerpt(body: bytes) -> str:
    """Give the beginning of a foreign answer, on one line."""
    text = " ".join(body[:_EXCERPT].decode(errors="replace").split())
    return f"{text!r}…" if len(body) > _EXCERPT else f"{text!r}"


def _class_of(status: int, reason: str) -> type[ApiError]:
    by_reason = _BY_REASON.get(reason)
    if by_reason is not None:
        return by_reason
    return _BY_STATUS.get(status, UnavailableError if status >= 500 else ApiError)


def _is_version_too_large(details: Mapping[str, Any]) -> bool:
    # Seen after a backup was restored or a replica lags: our version is from a lost future.
    causes = details.get("causes") or ()
    return any(cause.get("reason") == reasons.RESOURCE_VERSION_TOO_LARGE for cause in causes)
