import logging

import pytest

from webhook.cluster.errors import ForbiddenError, Right, UnavailableError
from webhook.runtime import rights
from webhook.runtime.metrics import Metrics
from webhook.runtime.rows import RefusedError


def lacking(verb: str, resource: str = "shoots") -> ForbiddenError:
    told = f'x is forbidden: User "espalier" cannot {verb} resource "{resource}" in API group "g"'
    return ForbiddenError(403, "Forbidden", told)


def test_a_missing_right_is_named_once_and_counted_always(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = Metrics()
    for error in (lacking("patch"), lacking("patch"), lacking("delete"), lacking("patch")):
        assert rights.complain(metrics, error)
    loud = [each for each in caplog.records if each.levelno >= logging.WARNING]
    named = [getattr(each, "right", "") for each in loud]
    assert named == ["patch shoots.g", "delete shoots.g"]
    assert b'missing_rights_total{group="g",resource="shoots",verb="patch"} 3' in metrics.expose()


def test_a_missing_right_is_found_behind_what_was_made_of_it() -> None:
    error = RefusedError("no")
    error.__cause__ = lacking("create")
    assert rights.missing(error) == Right("create", "shoots", "g")


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ForbiddenError(403, "Forbidden", "a plugin says no"), id="a verdict"),
        pytest.param(UnavailableError(503, "ServiceUnavailable", "later"), id="silence"),
        pytest.param(ValueError("a bug"), id="a bug"),
    ],
)
def test_what_is_no_lack_of_rights_is_left_to_others(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    assert not rights.complain(Metrics(), error)
    assert caplog.records == []
