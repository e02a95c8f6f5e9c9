"""Failures as metav1.Status, with the reasons, causes and messages of Kubernetes."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from typing_extensions import override

from webhook.kube import fielderrors, gotext
from webhook.kube.fielderrors import FieldError

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
    """Data that does not decode; `path` is the field."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message


class Qualified(NamedTuple):
    """A resource or kind with its group, `name.group` in messages."""

    group: str
    name: str

    @override
    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


class StatusError(Exception):
    """A request whose response is a failure Status."""

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
    """Build a failure; an empty reason and absent details are left out, as in Kubernetes."""
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
    """Build the success Status of a deletion."""
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
    """Return a 400: the request is malformed."""
    return failure(HTTPStatus.BAD_REQUEST, BAD_REQUEST, message)


def unauthorized(message: str = "Unauthorized") -> StatusError:
    """Return a 401: the user is unknown."""
    return failure(HTTPStatus.UNAUTHORIZED, UNAUTHORIZED, message)


def forbidden(resource: Qualified, name: str, why: object) -> StatusError:
    """Return a 403: the user lacks the permission, or admission denied the request."""
    if not resource.name:
        message = f"forbidden: {why}"
    elif name:
        message = f"{resource} {gotext.quote(name)} is forbidden: {why}"
    else:
        message = f"{resource} is forbidden: {why}"
    return failure(HTTPStatus.FORBIDDEN, FORBIDDEN, message, _details(resource, name))


def not_found(resource: Qualified, name: str) -> StatusError:
    """Return a 404 for an object."""
    message = f"{resource} {gotext.quote(name)} not found"
    return failure(HTTPStatus.NOT_FOUND, NOT_FOUND, message, _details(resource, name))


def no_such_resource() -> StatusError:
    """Return a 404 for an unknown path."""
    message = "the server could not find the requested resource"
    return failure(HTTPStatus.NOT_FOUND, NOT_FOUND, message, {})


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """Return a 406: none of the requested media types is supported."""
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(accepted)}"
    return failure(HTTPStatus.NOT_ACCEPTABLE, NOT_ACCEPTABLE, message, {})


def already_exists(resource: Qualified, name: str) -> StatusError:
    """Return a 409: an object with the name exists."""
    message = f"{resource} {gotext.quote(name)} already exists"
    return failure(HTTPStatus.CONFLICT, ALREADY_EXISTS, message, _details(resource, name))


def conflict(resource: Qualified, name: str, why: object = MODIFIED) -> StatusError:
    """Return a 409: the object is not in the state that the request is conditional on."""
    message = f"Operation cannot be fulfilled on {resource} {gotext.quote(name)}: {why}"
    return failure(HTTPStatus.CONFLICT, CONFLICT, message, _details(resource, name))


def apply_conflict(message: str, causes: Sequence[Mapping[str, str]]) -> StatusError:
    """Return a 409: server-side apply conflicts with other field managers."""
    return failure(HTTPStatus.CONFLICT, CONFLICT, message, {"causes": list(causes)})


def gone(message: str) -> StatusError:
    """Return a 410 with reason Gone."""
    return failure(HTTPStatus.GONE, GONE, message)


def expired(message: str) -> StatusError:
    """Return a 410 with reason Expired: the resourceVersion or continue token is too old."""
    return failure(HTTPStatus.GONE, EXPIRED, message)


def too_large(message: str) -> StatusError:
    """Return a 413: the body exceeds the limit."""
    return failure(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LARGE, f"Request entity too large: {message}"
    )


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """Return a 415: the media type of the body is not supported."""
    listed = ", ".join(accepted)
    message = (
        f"the body of the request was in an unknown format - accepted media types include: {listed}"
    )
    return failure(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, UNSUPPORTED_MEDIA_TYPE, message)


def invalid(kind: Qualified, name: str, errors: Iterable[FieldError]) -> StatusError:
    """Return a 422: the object is invalid, with one cause for each field."""
    listed = list(errors)
    causes = [
        {"reason": error.type, "message": error.body, "field": error.field} for error in listed
    ]
    message = f"{kind} {gotext.quote(name)} is invalid"
    if listed:
        message = f"{message}: {fielderrors.aggregate(listed)}"
    details = _details(kind, name, causes=causes)
    return failure(HTTPStatus.UNPROCESSABLE_ENTITY, INVALID, message, details)


def too_many_requests(message: str, retry_after: int = 1) -> StatusError:
    """Return a 429: the client should retry later."""
    return failure(
        HTTPStatus.TOO_MANY_REQUESTS,
        TOO_MANY_REQUESTS,
        message,
        {"retryAfterSeconds": retry_after} if retry_after else {},
    )


def internal_error(why: object) -> StatusError:
    """Return a 500: the server or a webhook failed."""
    message = f"Internal error occurred: {why}"
    causes = {"causes": [{"message": str(why)}]}
    return failure(HTTPStatus.INTERNAL_SERVER_ERROR, INTERNAL_ERROR, message, causes)


def resource_version_too_large(requested: int, current: int) -> StatusError:
    """Return a 504: the requested resourceVersion is in the future."""
    cause = {"reason": RESOURCE_VERSION_TOO_LARGE, "message": "Too large resource version"}
    return failure(
        HTTPStatus.GATEWAY_TIMEOUT,
        TIMEOUT,
        f"Timeout: Too large resource version: {requested}, current: {current}",
        {"causes": [cause], "retryAfterSeconds": 1},
    )
