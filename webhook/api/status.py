"""The metav1.Status answers: reasons, causes and messages as Kubernetes writes them."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from typing_extensions import override

from webhook.api import fielderrors, gotext
from webhook.api.fielderrors import FieldError

BAD_REQUEST: Final = "BadRequest"
UNAUTHORIZED: Final = "Unauthorized"
FORBIDDEN: Final = "Forbidden"
NOT_FOUND: Final = "NotFound"
METHOD_NOT_ALLOWED: Final = "MethodNotAllowed"
NOT_ACCEPTABLE: Final = "NotAcceptable"
ALREADY_EXISTS: Final = "AlreadyExists"
CONFLICT: Final = "Conflict"
GONE: Final = "Gone"
EXPIRED: Final = "Expired"
TOO_LARGE: Final = "RequestEntityTooLarge"
UNSUPPORTED_MEDIA_TYPE: Final = "UnsupportedMediaType"
INVALID: Final = "Invalid"
TOO_MANY_REQUESTS: Final = "TooManyRequests"
INTERNAL_ERROR: Final = "InternalError"
SERVER_TIMEOUT: Final = "ServerTimeout"
SERVICE_UNAVAILABLE: Final = "ServiceUnavailable"
TIMEOUT: Final = "Timeout"

RESOURCE_VERSION_TOO_LARGE: Final = "ResourceVersionTooLarge"
MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class DecodeError(ValueError):
    """Bytes or a value that cannot be read as what they should be; path names where."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class Qualified(NamedTuple):
    """A resource or a kind with its group, written `name.group` in messages."""

    group: str
    name: str

    @override
    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


class StatusError(Exception):
    """A request that ends in a failure Status instead of an object."""

    def __init__(self, status: dict[str, Any]) -> None:
        super().__init__(status["message"])
        self.status = status

    @property
    def code(self) -> int:
        return int(self.status["code"])

    @property
    def reason(self) -> str:
        return str(self.status.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.status["message"])


def failure(
    code: int, reason: str, message: str, details: Mapping[str, Any] | None = None
) -> StatusError:
    """Build any failure; empty details and an empty reason are left out, as on the wire."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": dict(details) if details is not None else None,
        "code": int(code),
    }
    return StatusError({key: value for key, value in status.items() if value not in (None, "")})


def success(details: Mapping[str, Any] | None = None, code: int = 0) -> dict[str, Any]:
    """Build the Status that answers a deletion."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
    }
    if details is not None:
        status["details"] = dict(details)
    if code:
        status["code"] = code
    return status


def _details(subject: Qualified, name: str = "", **more: Any) -> dict[str, Any]:
    named = {"name": name, "group": subject.group, "kind": subject.name, **more}
    return {key: value for key, value in named.items() if value}


def bad_request(message: str) -> StatusError:
    """400: the request itself makes no sense."""
    return failure(HTTPStatus.BAD_REQUEST, BAD_REQUEST, message)


def unauthorized(message: str = "Unauthorized") -> StatusError:
    """401: nobody knows who asks."""
    return failure(HTTPStatus.UNAUTHORIZED, UNAUTHORIZED, message)


def forbidden(resource: Qualified, name: str, why: object) -> StatusError:
    """403: the one who asks may not, or an admission rule says no."""
    if not resource.name:
        message = f"forbidden: {why}"
    elif name:
        message = f"{resource} {gotext.quote(name)} is forbidden: {why}"
    else:
        message = f"{resource} is forbidden: {why}"
    return failure(HTTPStatus.FORBIDDEN, FORBIDDEN, message, _details(resource, name))


def not_found(resource: Qualified, name: str) -> StatusError:
    """404 for an object."""
    message = f"{resource} {gotext.quote(name)} not found"
    return failure(HTTPStatus.NOT_FOUND, NOT_FOUND, message, _details(resource, name))


def no_such_resource() -> StatusError:
    """404 for a path that leads nowhere."""
    message = "the server could not find the requested resource"
    return failure(HTTPStatus.NOT_FOUND, NOT_FOUND, message, {})


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """406: we cannot answer in any of the types asked for."""
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(accepted)}"
    return failure(HTTPStatus.NOT_ACCEPTABLE, NOT_ACCEPTABLE, message, {})


def already_exists(resource: Qualified, name: str) -> StatusError:
    """409: create of a name that is taken."""
    message = f"{resource} {gotext.quote(name)} already exists"
    return failure(HTTPStatus.CONFLICT, ALREADY_EXISTS, message, _details(resource, name))


def conflict(resource: Qualified, name: str, why: object = MODIFIED) -> StatusError:
    """409: the object is not in the state that the request presumes."""
    message = f"Operation cannot be fulfilled on {resource} {gotext.quote(name)}: {why}"
    return failure(HTTPStatus.CONFLICT, CONFLICT, message, _details(resource, name))


def apply_conflict(message: str, causes: Sequence[Mapping[str, str]]) -> StatusError:
    """409: server-side apply met fields of other managers."""
    return failure(HTTPStatus.CONFLICT, CONFLICT, message, {"causes": list(causes)})


def gone(message: str) -> StatusError:
    """410 Gone."""
    return failure(HTTPStatus.GONE, GONE, message)


def expired(message: str) -> StatusError:
    """410 Expired: the resourceVersion or the continue token is too old."""
    return failure(HTTPStatus.GONE, EXPIRED, message)


def too_large(message: str) -> StatusError:
    """413: the body exceeds the limit."""
    return failure(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LARGE, f"Request entity too large: {message}"
    )


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """415: a body of a type that we do not read."""
    listed = ", ".join(accepted)
    message = (
        f"the body of the request was in an unknown format - accepted media types include: {listed}"
    )
    return failure(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, UNSUPPORTED_MEDIA_TYPE, message)


def invalid(kind: Qualified, name: str, errors: Iterable[FieldError]) -> StatusError:
    """422: the object breaks rules of its kind, one cause a field."""
    found = list(errors)
    causes = [
        {"reason": error.type, "message": error.body, "field": error.field} for error in found
    ]
    message = f"{kind} {gotext.quote(name)} is invalid"
    if found:
        message = f"{message}: {fielderrors.aggregate(found)}"
    details = _details(kind, name, causes=causes)
    return failure(HTTPStatus.UNPROCESSABLE_ENTITY, INVALID, message, details)


def too_many_requests(message: str, retry_after: int = 1) -> StatusError:
    """429: later, please."""
    return failure(
        HTTPStatus.TOO_MANY_REQUESTS,
        TOO_MANY_REQUESTS,
        message,
        {"retryAfterSeconds": retry_after} if retry_after else {},
    )


def internal_error(why: object) -> StatusError:
    """500: something of ours, or a webhook, failed."""
    message = f"Internal error occurred: {why}"
    causes = {"causes": [{"message": str(why)}]}
    return failure(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL_ERROR, message, causes)


def resource_version_too_large(asked: int, current: int) -> StatusError:
    """504: the client knows a version that we have not reached."""
    cause = {"reason": RESOURCE_VERSION_TOO_LARGE, "message": "Too large resource version"}
    return failure(
        HTTPStatus.GATEWAY_TIMEOUT,
        TIMEOUT,
        f"Timeout: Too large resource version: {asked}, current: {current}",
        {"causes": [cause], "retryAfterSeconds": 1},
    )
