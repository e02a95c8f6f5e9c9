"""Error responses with their HTTP status.

Errors of the client are 4xx. Our own errors are 5xx and never a denial, so that the failurePolicy
of the webhook decides. Transient ones have Retry-After, so that API servers retry.
"""


class RequestError(Exception):
    """A request that fails; the message is one sentence for the client."""

    status = 400
    reason = "bad-request"


class MalformedRequestError(RequestError):
    """The body or its content type is not what the path expects."""


class BrokenBodyError(MalformedRequestError):
    """The body is malformed HTTP, such as a chunk without its size."""

    reason = "malformed"


class UnauthenticatedError(RequestError):
    """The client is not authenticated."""

    status = 401
    reason = "unauthorized"


class AccessDeniedError(RequestError):
    """The client is authenticated and lacks the permission."""

    status = 403
    reason = "forbidden"


class TooLargeError(RequestError):
    """The body is larger than any pair of Kubernetes objects."""

    status = 413
    reason = "too-large"


class RetryLaterError(RequestError):
    """No response at the moment: not synced, overloaded, or the API server does not answer."""

    status = 503
    reason = "unavailable"


class NoRoomError(RetryLaterError):
    """The bytes of all bodies in memory exceed their budget."""

    reason = "no-room"


class LateBodyError(RetryLaterError):
    """The client did not send its body in time."""

    reason = "late-body"


class ClientDisconnectedError(Exception):
    """The client closed the connection before its request was complete; nobody reads a response."""

    status = 499
    reason = "hung-up"
