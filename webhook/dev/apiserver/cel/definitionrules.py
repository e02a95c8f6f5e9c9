"""x-kubernetes-validations when a definition is written: types of rules, and their cost."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from webhook.dev.apiserver.cel import costs, declarations, schematypes
from webhook.dev.apiserver.cel.compiler import (
    BadExpressionError,
    UnsupportedExpressionError,
    check_expression,
)
from webhook.dev.apiserver.cel.schematypes import MAX_REQUEST, DeclaredType
from webhook.kube import fielderrors
from webhook.kube.fielderrors import FieldError
from webhook.kube.gotext import Struct
from webhook.kube.meta import Raw
from webhook.kube.schema import Schema

_KEY: Final = "x-kubernetes-validations"
_REMEDY: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)
_CONTRIBUTED: Final = (
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
)
_TOTAL: Final = f"{_KEY} estimated rule cost total for entire OpenAPIv3 schema"
_MOST_EXPENSIVE: Final = 4
_UNBOUNDED: Final = sys.maxsize
"""The cardinality of values below a list or map without a limit."""


def validate_rules(raw: Raw, path: str) -> list[FieldError]:
    """Return the errors of the rules of a structural schema whose other parts are valid."""
    if _KEY not in repr(raw):
        return []
    walk = _Walk()
    walk.visit(Schema(raw), path, cardinality=1, is_root=True)
    return [*walk.errors, *walk.total_errors(path)]


@dataclass(slots=True)
class _Walk:
    """A walk over a schema that compiles its rules and adds up their cost."""

    errors: list[FieldError] = field(default_factory=list)
    costs: list[tuple[int, str]] = field(default_factory=list)
    """The cost of each expression, with its field."""

    def visit(self, schema: Schema, path: str, cardinality: int, *, is_root: bool = False) -> None:
        if schema.rules:
            declared = schematypes.declared_type(schema, is_root=is_root)
            for index, rule in enumerate(schema.rules):
                self._check_rule(rule, declared, cardinality, f"{path}.{_KEY}[{index}]")
        for child_path, child in _children(schema):
            self.visit(child, f"{path}.{child_path}", _multiply(cardinality, _elements(schema)))

    def _check_rule(self, rule: Raw, declared: DeclaredType, cardinality: int, path: str) -> None:
        if cardinality == _UNBOUNDED:
            cardinality = MAX_REQUEST // (declared.min_size + 1)
        for name, wanted in (
            ("rule", declarations.BOOL),
            ("messageExpression", declarations.STRING),
        ):
            expression = rule.get(name) or ""
            if not expression.strip():
                continue
            try:
                cost = _estimate(expression, wanted, declared, name)
            except UnsupportedExpressionError:
                continue  # reported as a warning
            except BadExpressionError as error:
                shown = _go_struct(rule)
                self.errors.append(fielderrors.invalid(f"{path}.{name}", shown, str(error)))
                return
            if name == "rule":
                cost *= cardinality
            self._add_cost(cost, f"{path}.{name}", f"estimated {name} cost")

    def _add_cost(self, cost: int, path: str, subject: str) -> None:
        self.costs.append((cost, path))
        if cost > costs.RULE_LIMIT:
            detail = _over_budget(subject, cost, costs.RULE_LIMIT)
            self.errors.append(fielderrors.forbidden(path, detail))

    def total_errors(self, path: str) -> Iterator[FieldError]:
        """Yield the errors of all rules together."""
        total = sum(cost for cost, _ in self.costs)
        if total <= costs.SCHEMA_LIMIT:
            return
        counted = [each for each in self.costs if each[0] >= costs.SCHEMA_LIMIT // 100]
        for _, where in sorted(counted, reverse=True)[:_MOST_EXPENSIVE]:
            yield fielderrors.forbidden(where, _CONTRIBUTED)
        yield fielderrors.forbidden(path, _over_budget(_TOTAL, total, costs.SCHEMA_LIMIT))


def _estimate(expression: str, wanted: str, declared: DeclaredType, name: str) -> int:
    variables = {**declarations.TYPES, "self": declared.name, "oldSelf": declared.name}
    fields = {**declarations.FIELDS, **schematypes.object_fields(declared)}
    try:
        tree, result = check_expression(expression, variables, fields)
    except UnsupportedExpressionError:
        raise
    except BadExpressionError as error:
        prefix = "" if name == "rule" else f"{name} "
        raise BadExpressionError(f"{prefix}{error}") from error
    if result not in (wanted, declarations.DYN):
        subject = "cel expression" if name == "rule" else name
        raise BadExpressionError(f"{subject} must evaluate to a {wanted}")
    return costs.estimate_cost(tree, {"self": declared, "oldSelf": declared})


def _children(schema: Schema) -> Iterator[tuple[str, Schema]]:
    for name, child in schema.properties.items():
        yield f"properties[{name}]", child
    if schema.additional is not None:
        yield "additionalProperties", schema.additional
    if schema.items is not None:
        yield "items", schema.items


def _elements(schema: Schema) -> int:
    """Return how many values of each child a value of the schema can have."""
    if schema.items is not None:
        return _UNBOUNDED if schema.max_items is None else max(schema.max_items, 0)
    if schema.additional is not None:
        return _UNBOUNDED if schema.max_properties is None else max(schema.max_properties, 0)
    return 1


def _multiply(cardinality: int, elements: int) -> int:
    return min(cardinality * elements, _UNBOUNDED)


def _over_budget(subject: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    else:
        shown = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{subject} exceeds budget by factor of {shown} {_REMEDY}"


def _go_struct(rule: Raw) -> Any:
    """Return a rule in the internal Go form that kube-apiserver prints."""
    return Struct(
        {
            "Rule": rule.get("rule") or "",
            "Message": rule.get("message") or "",
            "MessageExpression": rule.get("messageExpression") or "",
            "Reason": rule.get("reason"),
            "FieldPath": rule.get("fieldPath") or "",
            "OptionalOldSelf": rule.get("optionalOldSelf"),
        }
    )
