import logging

import pytest

from webhook.cluster.errors import ForbiddenError, Permission, UnavailableError
from webhook.runtime import permissions
from webhook.runtime.controller import RefusedError
from webhook.runtime.metrics import Metrics


def forbidden(verb: str, resource: str = "shoots") -> ForbiddenError:
    message = (
        f'x is forbidden: User "espalier" cannot {verb} resource "{resource}" in API group "g"'
    )
    return ForbiddenError(403, "Forbidden", message)


def test_a_missing_permission_is_logged_once_and_counted_always(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = Metrics()
    for error in (forbidden("patch"), forbidden("patch"), forbidden("delete"), forbidden("patch")):
        assert permissions.report_missing(metrics, error)
    loud = [each for each in caplog.records if each.levelno >= logging.WARNING]
    named = [getattr(each, "permission", "") for each in loud]
    assert named == ["patch shoots.g", "delete shoots.g"]
    assert b'missing_rights_total{group="g",resource="shoots",verb="patch"} 3' in metrics.expose()


def test_a_missing_permission_is_found_in_the_causes_of_an_error() -> None:
    error = RefusedError("no")
    error.__cause__ = forbidden("create")
    assert permissions.find_missing(error) == Permission("create", "shoots", "g")


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            ForbiddenError(403, "Forbidden", "a plugin refuses"), id="a refusal by admission"
        ),
        pytest.param(
            UnavailableError(503, "ServiceUnavailable", "later"), id="an unavailable server"
        ),
        pytest.param(ValueError("a bug"), id="a bug"),
    ],
)
def test_other_errors_are_not_reported(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    assert not permissions.report_missing(Metrics(), error)
    assert caplog.records == []
