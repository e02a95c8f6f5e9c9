"""x-kubernetes-validations: the values of rules, their errors, and rules that are skipped."""

from typing import Any

import pytest

from webhook.dev.apiserver.cel import validationrules, values
from webhook.dev.apiserver.registry.resources import Resource
from webhook.kube import fielderrors
from webhook.kube.schema import Schema

OBJECT: dict[str, Any] = {"type": "object"}


def _resource(spec: dict[str, Any]) -> Resource:
    raw = {"type": "object", "properties": {"spec": spec}}
    names = ("example.com", "v1", "Thing", "things", "thing")
    return Resource(*names, namespaced=True, verbs=(), raw_schema=raw)


def _with_rule(rule: str, schema: dict[str, Any] = OBJECT, **more: str) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def _errors(spec: dict[str, Any], value: Any, old: Any = None) -> list[str]:
    def make(inner: Any) -> dict[str, Any]:
        return {"metadata": {"name": "a"}, "spec": inner}

    before = None if old is None else make(old)
    found = validationrules.validate(
        _resource(spec), make(value), before, [], validationrules.ignore_warning
    )
    return [str(error) for error in found]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        pytest.param("plain", "plain", id="a plain name"),
        pytest.param("in", "__in__", id="a reserved word"),
        pytest.param(
            "a-b.c/d", "a__dash__b__dot__c__slash__d", id="characters that are not allowed in names"
        ),
        pytest.param("a__b", "a__underscores__b", id="the prefix of escapes"),
    ],
)
def test_names_of_fields_are_escaped(name: str, written: str) -> None:
    assert values.escape_name(name) == written
    schema = _with_rule(f"self.{written} == 1", {"type": "object", "properties": {name: {}}})
    assert _errors(schema, {name: 1}) == []


@pytest.mark.parametrize(
    ("kind", "value", "rule"),
    [
        pytest.param({"type": "number"}, 1, "type(self) == double", id="a number"),
        pytest.param({"type": "integer"}, 1, "type(self) == int", id="an integer"),
        pytest.param(
            {"type": "string", "format": "date"},
            "2026-01-02",
            "self.getDayOfMonth() == 1",
            id="a date",
        ),
        pytest.param(
            {"type": "string", "format": "duration"},
            "1h30m",
            "self > duration('1h')",
            id="a duration",
        ),
        pytest.param(
            {"type": "string", "format": "duration"},
            "1h 30m",
            "self > duration('1h')",
            id="a duration in parts",
        ),
        pytest.param({"type": "string", "format": "byte"}, "YQ==", "self == b'a'", id="bytes"),
    ],
)
def test_values_have_the_types_of_their_schema(kind: Any, value: Any, rule: str) -> None:
    assert _errors(_with_rule(rule, kind), value) == []


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        pytest.param(None, [], id="no old value"),
        pytest.param("a", ['spec: Invalid value: "b": stays'], id="changed"),
        pytest.param("b", [], id="unchanged"),
    ],
)
def test_a_transition_rule(old: str | None, expected: list[str]) -> None:
    schema = _with_rule("self == oldSelf", {"type": "string"}, message="stays")
    assert _errors(schema, "b", old) == expected


def test_the_error_of_an_unchanged_part_is_a_warning() -> None:
    resource = _resource(_with_rule("self > 1", {"type": "integer"}))
    obj = {"metadata": {}, "spec": 1}
    warnings: list[str] = []
    assert validationrules.validate(resource, obj, obj, [], warnings.append) == []
    assert warnings == ["spec: Invalid value: 1: failed rule: self > 1"]


def test_rules_are_not_evaluated_for_an_invalid_object() -> None:
    resource = _resource(_with_rule("self > 1", {"type": "integer"}))
    known = [fielderrors.required("spec.a")]
    (error,) = validationrules.validate(
        resource, {"spec": 1}, None, known, validationrules.ignore_warning
    )
    assert str(error).startswith("<nil>: Invalid value: null: some validation rules were not")


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("isURL(self.a)", id="an unsupported library"),
        pytest.param("self.?a.hasValue()", id="optional values"),
        pytest.param("self.a ==", id="a syntax error"),
        pytest.param("'text'", id="not a boolean"),
    ],
)
def test_a_rule_that_does_not_compile_is_a_warning_and_is_skipped(rule: str) -> None:
    schema = {"type": "object", "properties": {"spec": _with_rule(rule)}}
    version = {"schema": {"openAPIV3Schema": schema}}
    (warning,) = validationrules.unevaluated_rules({"spec": {"versions": [version]}})
    path = "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]"
    assert warning.startswith(f"{path}.rule: not evaluated by this API server: ")
    assert _errors(_with_rule(rule), {"a": 1}) == []


def test_a_rule_that_compiles_is_not_a_warning() -> None:
    schema = _with_rule("has(self.a)", messageExpression="'no ' + string(1)")
    definition = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    assert validationrules.unevaluated_rules(definition) == []
    assert Schema(schema).rules
