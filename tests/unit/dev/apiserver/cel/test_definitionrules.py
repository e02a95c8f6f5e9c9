"""Rules of a definition when it is written: what is refused, and what a rule may cost."""

import sys
from typing import Any

import pytest

from webhook.dev.apiserver.cel import definitionrules
from webhook.dev.apiserver.cel.compiler import new_environment

KEY = "x-kubernetes-validations"
TEXT = {"type": "string"}


def rules_of(schema: dict[str, Any]) -> list[str]:
    root = {"type": "object", "properties": {"spec": schema}}
    return [str(error) for error in definitionrules.validate_rules(root, "root")]


def texts(most: int | None = None, length: int | None = None) -> dict[str, Any]:
    limits = {"maxItems": most} if most is not None else {}
    item = {**TEXT, **({"maxLength": length} if length is not None else {})}
    return {"type": "array", "items": item, **limits}


def ruled(rule: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, KEY: [{"rule": rule}]}


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("self.tags.all(t, t != '')", id="items of a list"),
        pytest.param("self.table.all(k, self.table[k] > 0)", id="keys and values of a map"),
        pytest.param("self.table.size() < 3 && self.tags.size() < 3", id="sizes"),
        pytest.param("self.dashed__dash__name == 'a'", id="a name that has to be escaped"),
        pytest.param("self.when > timestamp('2026-01-01T00:00:00Z')", id="a date"),
        pytest.param("self.any == 5 || self.any == '5%'", id="a number or a text"),
        pytest.param("self.parts.filter(p, p.on).map(p, p.name).exists(n, n == 'a')", id="macros"),
        pytest.param("!has(oldSelf.name) || self.name == oldSelf.name", id="the old value"),
        pytest.param("quantity(self.name).isGreaterThan(quantity('1'))", id="what we lack"),
    ],
)
def test_a_rule_that_fits_its_schema_is_accepted(rule: str) -> None:
    part = {"type": "object", "properties": {"name": TEXT, "on": {"type": "boolean"}}}
    fields = {
        "name": TEXT,
        "tags": texts(10, 10),
        "table": {
            "type": "object",
            "maxProperties": 10,
            "additionalProperties": {"type": "integer"},
        },
        "dashed-name": TEXT,
        "when": {"type": "string", "format": "date-time"},
        "any": {"x-kubernetes-int-or-string": True},
        "parts": {"type": "array", "maxItems": 10, "items": part},
    }
    assert rules_of(ruled(rule, **fields)) == []


@pytest.mark.parametrize(
    ("tags", "is_refused"),
    [
        pytest.param(texts(100, 100), False, id="bounded lists"),
        pytest.param(texts(None, 100), True, id="lists without a bound"),
    ],
)
def test_nested_loops_need_bounds(tags: dict[str, Any], is_refused: bool) -> None:
    found = rules_of(ruled("self.tags.all(a, self.tags.all(b, a == b))", tags=tags))
    assert bool(found) == is_refused
    if is_refused:
        rule = f"root.properties[spec].{KEY}[0].rule"
        assert [each.partition(": ")[0] for each in found] == [rule, rule, "root"]


@pytest.mark.parametrize(
    ("most", "is_refused"),
    [pytest.param(10, False, id="ten items"), pytest.param(100_000, True, id="very many items")],
)
def test_a_rule_of_items_costs_as_often_as_there_are_items(most: int, is_refused: bool) -> None:
    item = ruled("self.names.all(n, n != 'a')", names=texts(200, 10))
    found = rules_of({"type": "array", "maxItems": most, "items": item})
    assert bool(found) == is_refused


def test_many_rules_share_the_budget_of_the_schema() -> None:
    """Each rule is within its own limit."""
    rule = {"rule": "self.tags.all(a, self.tags.all(b, a == b))"}
    schema = {"type": "object", "properties": {"tags": texts(1_000, 1)}, KEY: [rule] * 20}
    found = rules_of(schema)
    assert len(found) == 5
    assert "estimated rule cost total for entire OpenAPIv3 schema exceeds budget" in found[-1]


def test_compiling_does_not_lower_the_recursion_limit() -> None:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(5_000)
    try:
        new_environment()
        assert sys.getrecursionlimit() == 5_000
    finally:
        sys.setrecursionlimit(before)
