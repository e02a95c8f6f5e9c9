"""Rules of schemas: what they see, what they say, and which of them are not heard."""

from typing import Any

import pytest

from webhook.api import fielderrors
from webhook.api.schema import Schema
from webhook.apiserver.cel import rules, values
from webhook.apiserver.resources import Resource

OBJECT: dict[str, Any] = {"type": "object"}


def _resource(spec: dict[str, Any]) -> Resource:
    raw = {"type": "object", "properties": {"spec": spec}}
    names = ("example.com", "v1", "Thing", "things", "thing")
    return Resource(*names, namespaced=True, verbs=(), raw_schema=raw)


def _ruled(rule: str, schema: dict[str, Any] = OBJECT, **more: str) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def _said(spec: dict[str, Any], value: Any, old: Any = None) -> list[str]:
    def make(inner: Any) -> dict[str, Any]:
        return {"metadata": {"name": "a"}, "spec": inner}

    before = None if old is None else make(old)
    found = rules.objections(_resource(spec), make(value), before, [], rules.ignore)
    return [str(error) for error in found]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        pytest.param("plain", "plain", id="a plain name"),
        pytest.param("in", "__in__", id="a word of the language"),
        pytest.param("a-b.c/d", "a__dash__b__dot__c__slash__d", id="what no name may hold"),
        pytest.param("a__b", "a__underscores__b", id="what escapes begin with"),
    ],
)
def test_names_of_fields(name: str, written: str) -> None:
    assert values.escaped(name) == written
    schema = _ruled(f"self.{written} == 1", {"type": "object", "properties": {name: {}}})
    assert _said(schema, {name: 1}) == []


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
            {"type": "string", "format": "duration"}, "1h30m", "self > duration('1h')", id="a time"
        ),
        pytest.param({"type": "string", "format": "byte"}, "YQ==", "self == b'a'", id="bytes"),
    ],
)
def test_values_have_the_types_of_their_schema(kind: Any, value: Any, rule: str) -> None:
    assert _said(_ruled(rule, kind), value) == []


@pytest.mark.parametrize(
    ("old", "said"),
    [
        pytest.param(None, [], id="nothing to compare with"),
        pytest.param("a", ['spec: Invalid value: "b": stays'], id="changed"),
        pytest.param("b", [], id="unchanged"),
    ],
)
def test_a_rule_about_a_change(old: str | None, said: list[str]) -> None:
    schema = _ruled("self == oldSelf", {"type": "string"}, message="stays")
    assert _said(schema, "b", old) == said


def test_an_unchanged_part_is_a_warning_only() -> None:
    resource = _resource(_ruled("self > 1", {"type": "integer"}))
    obj = {"metadata": {}, "spec": 1}
    warnings: list[str] = []
    assert rules.objections(resource, obj, obj, [], warnings.append) == []
    assert warnings == ["spec: Invalid value: 1: failed rule: self > 1"]


def test_rules_wait_for_a_valid_object() -> None:
    resource = _resource(_ruled("self > 1", {"type": "integer"}))
    known = [fielderrors.required("spec.a")]
    (error,) = rules.objections(resource, {"spec": 1}, None, known, rules.ignore)
    assert str(error).startswith("<nil>: Invalid value: null: some validation rules were not")


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("isURL(self.a)", id="a library that is not here"),
        pytest.param("self.?a.hasValue()", id="optional values"),
        pytest.param("self.a ==", id="what cannot be parsed"),
        pytest.param("'text'", id="what is neither true nor false"),
    ],
)
def test_a_rule_that_cannot_be_evaluated_is_named_and_does_not_count(rule: str) -> None:
    schema = {"type": "object", "properties": {"spec": _ruled(rule)}}
    version = {"schema": {"openAPIV3Schema": schema}}
    (warning,) = rules.unheard({"spec": {"versions": [version]}})
    path = "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]"
    assert warning.startswith(f"{path}.rule: not evaluated by this API server: ")
    assert _said(_ruled(rule), {"a": 1}) == []


def test_rules_that_are_evaluated_are_not_worth_a_warning() -> None:
    schema = _ruled("has(self.a)", messageExpression="'no ' + string(1)")
    assert rules.unheard({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}) == []
    assert Schema(schema).rules
