"""What a request can meet instead of its answer, each with the status that says whose fault it is.

Faults of the caller are 4xx. Faults of ours are 5xx and never a refusal, so that the cluster's
failurePolicy decides; those that time may heal carry Retry-After, and API servers then try again.
"""


class RequestError(Exception):
    """A request that is not answered as asked; the message is one clear sentence."""

    status = 400
    reason = "bad-request"


class BadRequestError(RequestError):
    """The body or its type is not what the path takes."""


class StrangerError(RequestError):
    """The caller did not prove who it is."""

    status = 401
    reason = "unauthorized"


class NotAllowedError(RequestError):
    """The caller is known and may not do this."""

    status = 403
    reason = "forbidden"


class TooLargeError(RequestError):
    """The body is larger than any pair of Kubernetes objects."""

    status = 413
    reason = "too-large"


class LaterError(RequestError):
    """We cannot answer now: not filled yet, overloaded, or the API server did not answer us."""

    status = 503
    reason = "unavailable"
