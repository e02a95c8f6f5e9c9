import pytest

from webhook.kube import fielderrors, status
from webhook.kube.status import Qualified

SHOOTS = Qualified("core.gardener.cloud", "shoots")
SHOOT = Qualified("core.gardener.cloud", "Shoot")
PODS = Qualified("", "pods")


def test_not_found_names_the_resource_with_its_group():
    assert status.not_found(SHOOTS, "oak").status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'shoots.core.gardener.cloud "oak" not found',
        "reason": "NotFound",
        "details": {"name": "oak", "group": "core.gardener.cloud", "kind": "shoots"},
        "code": 404,
    }


@pytest.mark.parametrize(
    ("error", "code", "reason", "message"),
    [
        pytest.param(status.bad_request("no"), 400, "BadRequest", "no", id="bad request"),
        pytest.param(
            status.already_exists(PODS, "a"),
            409,
            "AlreadyExists",
            'pods "a" already exists',
            id="already exists",
        ),
        pytest.param(
            status.conflict(PODS, "a"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "a": the object has been modified; '
            "please apply your changes to the latest version and try again",
            id="conflict",
        ),
        pytest.param(
            status.forbidden(PODS, "", "no"), 403, "Forbidden", "pods is forbidden: no", id="list"
        ),
        pytest.param(status.expired("old"), 410, "Expired", "old", id="expired"),
        pytest.param(
            status.too_large("limit is 3145728"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
            id="too large",
        ),
        pytest.param(
            status.internal_error("boom"),
            500,
            "InternalError",
            "Internal error occurred: boom",
            id="internal",
        ),
    ],
)
def test_failures(error, code, reason, message):
    assert (error.code, error.reason, error.message) == (code, reason, message)


def test_one_invalid_field_is_written_without_brackets():
    error = status.invalid(SHOOT, "oak", [fielderrors.required("spec.region")])
    assert error.message == (
        'Shoot.core.gardener.cloud "oak" is invalid: spec.region: Required value'
    )
    assert error.status["details"]["causes"] == [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.region"}
    ]


def test_several_invalid_fields_are_bracketed_without_duplicates():
    twice = fielderrors.invalid("spec.a", 3, "must be even")
    error = status.invalid(SHOOT, "oak", [twice, twice, fielderrors.forbidden("spec.b", "no")])
    assert error.message == (
        'Shoot.core.gardener.cloud "oak" is invalid: '
        "[spec.a: Invalid value: 3: must be even, spec.b: Forbidden: no]"
    )


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param('a\n"b"', r'"a\n\"b\""', id="text is quoted as Go does"),
        pytest.param(True, "true", id="booleans"),
        pytest.param(2.0, "2", id="an integral float"),
        pytest.param(0.5, "0.5", id="a fraction"),
        pytest.param({"b": "<", "a": [1]}, r'{"a":[1],"b":"\u003c"}', id="objects as Go's JSON"),
        pytest.param(None, "null", id="null"),
    ],
)
def test_values_in_messages(value, written):
    assert fielderrors.invalid("x", value, "").body == f"Invalid value: {written}"


@pytest.mark.parametrize(
    ("error", "body"),
    [
        pytest.param(
            fielderrors.not_supported("x", "c", ["a", "b"]),
            'Unsupported value: "c": supported values: "a", "b"',
            id="an enumeration",
        ),
        pytest.param(
            fielderrors.too_long("x", 1), "Too long: may not be more than 1 byte", id="one byte"
        ),
        pytest.param(
            fielderrors.too_many("x", 3, 2), "Too many: 3: must have at most 2 items", id="items"
        ),
        pytest.param(fielderrors.duplicate("x", "a"), 'Duplicate value: "a"', id="duplicate"),
    ],
)
def test_bodies(error, body):
    assert error.body == body


def test_decode_errors_name_their_path():
    assert str(status.DecodeError("spec.x", "not a number")) == "spec.x: not a number"
