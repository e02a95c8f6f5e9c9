"""Lines of a watch, and error responses."""

import msgspec
import pytest

from webhook.cluster.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    ThrottledError,
    UnauthorizedError,
    UnavailableError,
    UnreadableError,
    error_from_response,
    excerpt,
)
from webhook.cluster.watch_events import Bookmark, WatchEvent, decode


@pytest.mark.parametrize("change", ["ADDED", "MODIFIED", "DELETED"])
def test_events_carry_their_object_undecoded(change: str) -> None:
    found = decode(b'{"type":"%s","object":{"a":1}}' % change.encode())
    assert found == WatchEvent(change, msgspec.Raw(b'{"a":1}'))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param(b'{"resourceVersion":"7"}', Bookmark("7", False), id="plain"),
        pytest.param(
            b'{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}',
            Bookmark("7", True),
            id="the end of a streaming list",
        ),
        pytest.param(
            b'{"resourceVersion":"7","annotations":null}', Bookmark("7", False), id="with nulls"
        ),
    ],
)
def test_bookmarks(metadata: bytes, expected: Bookmark) -> None:
    assert decode(b'{"type":"BOOKMARK","object":{"metadata":%s}}' % metadata) == expected


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        pytest.param(400, "BadRequest", BadRequestError, id="bad request"),
        pytest.param(401, "Unauthorized", UnauthorizedError, id="unauthorized"),
        pytest.param(403, "Forbidden", ForbiddenError, id="forbidden"),
        pytest.param(404, "NotFound", NotFoundError, id="not found"),
        pytest.param(409, "Conflict", ConflictError, id="conflict"),
        pytest.param(409, "AlreadyExists", AlreadyExistsError, id="already exists"),
        pytest.param(410, "Expired", GoneError, id="expired"),
        pytest.param(410, "Gone", GoneError, id="gone"),
        pytest.param(422, "Invalid", InvalidError, id="invalid"),
        pytest.param(429, "TooManyRequests", ThrottledError, id="throttled"),
        pytest.param(500, "InternalError", UnavailableError, id="internal error"),
        pytest.param(503, "ServiceUnavailable", UnavailableError, id="unavailable"),
        pytest.param(504, "Timeout", UnavailableError, id="timeout"),
        pytest.param(404, "", NotFoundError, id="no reason, but a code"),
        pytest.param(599, "Unheard", UnavailableError, id="an unknown server error"),
        pytest.param(418, "Teapot", ApiError, id="an unknown client error"),
    ],
)
def test_statuses_become_the_error_of_their_reason(
    code: int, reason: str, expected: type[ApiError]
) -> None:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "no such luck"}
    error = error_from_response(code, "application/json", msgspec.json.encode(status), 3.0)
    assert type(error) is expected
    assert (error.status, error.message, error.retry_after) == (code, "no such luck", 3.0)


def test_causes_and_retry_after_are_read_from_the_details() -> None:
    details = {"retryAfterSeconds": 4, "causes": [{"field": "spec"}]}
    status = {"kind": "Status", "code": 422, "reason": "Invalid", "details": details}
    error = error_from_response(422, "application/json", msgspec.json.encode(status))
    assert (error.retry_after, error.causes) == (4, ({"field": "spec"},))


@pytest.mark.parametrize(
    ("status", "content_type", "body", "expected"),
    [
        pytest.param(502, "text/html", b"<html>", UnreadableError, id="a proxy's page"),
        pytest.param(404, "text/html", b"<html>", UnreadableError, id="a proxy's 404"),
        pytest.param(
            404, "text/plain", b"404 page not found\n", NotFoundError, id="a path that is not there"
        ),
        pytest.param(429, "text/plain", b"slow", ThrottledError, id="an overloaded server"),
        pytest.param(401, "text/plain", b"who", UnauthorizedError, id="an authenticating proxy"),
        pytest.param(500, "application/json", b"{", UnreadableError, id="broken JSON"),
        pytest.param(500, "application/json", b"{}", UnreadableError, id="JSON without a Status"),
        pytest.param(500, "", b"", UnreadableError, id="nothing at all"),
    ],
)
def test_responses_that_are_not_from_an_api_server(
    status: int, content_type: str, body: bytes, expected: type[ApiError]
) -> None:
    error = error_from_response(status, content_type, body)
    assert type(error) is expected
    assert error.status == status


def test_an_excerpt_is_one_short_line() -> None:
    assert excerpt(b"a\n  b\xff") == "'a b�'"
    assert len(excerpt(b"x" * 5000)) < 300
