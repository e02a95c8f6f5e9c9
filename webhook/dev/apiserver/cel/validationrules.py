"""x-kubernetes-validations: the validation rules of a schema, evaluated for each write.

When a definition is written, Kubernetes also estimates the cost of its rules and checks their
types. This server warns of rules that it cannot evaluate, and skips them.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from celpy.evaluation import CELEvalError

from webhook.dev.apiserver.cel import declarations, functions, values
from webhook.dev.apiserver.cel.compiler import BadExpressionError, compile_expression
from webhook.dev.apiserver.cel.errormessages import error_message
from webhook.dev.apiserver.registry.resources import Resource
from webhook.kube import fielderrors, schemachecks
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Draft
from webhook.kube.schema import Schema
from webhook.kube.schemachecks import ABSENT

Warn: TypeAlias = Callable[[str], None]
"""Sends a warning to the client."""

_KEY: Final = "x-kubernetes-validations"
_MESSAGE_LIMIT: Final = 5 * 1024
_OLD_SELF: Final = re.compile(r"\boldSelf\b")
_PATH_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")
_VARIABLES: Final = {**declarations.TYPES, "self": declarations.DYN, "oldSelf": declarations.DYN}
_BLOCKING: Final = frozenset(
    {
        *(fielderrors.NOT_SUPPORTED, fielderrors.REQUIRED, fielderrors.TOO_LONG),
        *(fielderrors.TOO_MANY, fielderrors.TYPE_INVALID),
    }
)
"""The types of errors that keep rules from being evaluated."""
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


def ignore_warning(_warning: str) -> None:
    """Drop a warning."""


@lru_cache(maxsize=1024)
def _compile(expression: str, kind: str) -> Any:
    return compile_expression(expression, _VARIABLES, (kind, declarations.DYN), functions.FUNCTIONS)


def unevaluated_rules(definition: Draft) -> list[str]:
    """Return a warning for each rule of a definition that this server does not evaluate."""
    warnings: list[str] = []
    for index, version in enumerate(definition["spec"].get("versions") or ()):
        raw = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        if _KEY in repr(raw):
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            warnings += _unevaluated(Schema(raw), path)
    return warnings


def _unevaluated(schema: Schema, path: str) -> Iterator[str]:
    for index, rule in enumerate(schema.rules):
        where = f"{path}.{_KEY}[{index}]"
        for field, kind in (
            ("rule", declarations.BOOL),
            ("messageExpression", declarations.STRING),
        ):
            if rule.get(field) and (problem := _compile_problem(rule[field], kind)):
                yield f"{where}.{field}: not evaluated by this API server: {problem}"
        if rule.get("optionalOldSelf"):
            yield f"{where}.optionalOldSelf: not evaluated by this API server"
    for name, child in schema.properties.items():
        yield from _unevaluated(child, f"{path}.properties[{name}]")
    if schema.additional is not None:
        yield from _unevaluated(schema.additional, f"{path}.additionalProperties")
    if schema.items is not None:
        yield from _unevaluated(schema.items, f"{path}.items")


def _compile_problem(expression: str, kind: str) -> str:
    try:
        _compile(expression, kind)
    except BadExpressionError as error:
        return str(error).partition("\n")[0]
    return ""


def validate(
    resource: Resource, obj: Draft, old: Draft | None, known: list[FieldError], warn: Warn
) -> list[FieldError]:
    """Return the errors of the rules; those of unchanged parts are warnings (ratcheting)."""
    if not resource.has_rules:
        return []
    if any(error.type in _BLOCKING for error in known):
        return [fielderrors.invalid(fielderrors.ROOT, None, _UNCHECKED)]
    walk = _Walk([], warn)
    before = ABSENT if old is None else old
    walk.visit(resource.schema, obj, before, "", is_root=True)
    return walk.errors


class _Walk(NamedTuple):
    """A walk over an object that evaluates the rules of its schema."""

    errors: list[FieldError]
    warn: Warn

    def visit(
        self, schema: Schema, value: Any, old: Any, path: str, *, is_root: bool = False
    ) -> None:
        if value is None:
            return
        if schema.rules:
            self._evaluate_rules(schema, value, old, path, is_root=is_root)
        for part in schema.all_of:
            self.visit(part, value, old, path)
        if isinstance(value, dict):
            self._visit_fields(schema, value, old, path)
        elif isinstance(value, list) and schema.items is not None:
            pairs = schemachecks.correlated(schema, value, old)
            for index, (item, before) in enumerate(pairs):
                self.visit(schema.items, item, before, f"{path}[{index}]")

    def _visit_fields(self, schema: Schema, value: Draft, old: Any, path: str) -> None:
        old_fields = old if isinstance(old, dict) else {}
        for name, inner in value.items():
            before = old_fields.get(name, ABSENT)
            child = schema.properties.get(name)
            if child is not None:
                self.visit(child, inner, before, fielderrors.child(path, name))
            elif schema.additional is not None:
                self.visit(schema.additional, inner, before, f"{path}[{name}]")

    def _evaluate_rules(
        self, schema: Schema, value: Any, old: Any, path: str, *, is_root: bool
    ) -> None:
        convert = values.object_to_cel if is_root else values.to_cel
        activation = {"self": convert(value, schema)}
        has_old = old is not ABSENT and old is not None
        if has_old:
            activation["oldSelf"] = convert(old, schema)
        for rule in schema.rules:
            is_transition = bool(_OLD_SELF.search(rule.get("rule") or ""))
            if rule.get("optionalOldSelf") or (is_transition and not has_old):
                continue
            error = _rule_error(rule, schema, value, activation, path or fielderrors.ROOT)
            if error is None:
                continue
            if not is_transition and has_old and schemachecks.is_equal_json(value, old):
                self.warn(str(error))
            else:
                self.errors.append(error)


def _rule_error(
    rule: Draft, schema: Schema, value: Any, activation: Draft, path: str
) -> FieldError | None:
    """Evaluate a rule; return None if it holds or does not compile."""
    kind = schema.raw.get("type") or ""
    rule_text = (rule.get("message") or rule["rule"]).strip()
    try:
        if _compile(rule["rule"], declarations.BOOL).evaluate(activation):
            return None
    except BadExpressionError:
        return None
    except CELEvalError as error:
        message = error_message(error)
        if message.startswith("no such overload"):
            detail = (
                f"'{message}': call arguments did not match a supported operator, function or "
                f"macro signature for rule: {rule_text}"
            )
            return fielderrors.invalid(path, kind, detail)
        return fielderrors.invalid(path, kind, f"{message} evaluating rule: {rule_text}")
    static = (rule.get("message") or "").strip()
    detail = _evaluate_message(rule, activation) or static or f"failed rule: {rule_text}"
    where = _append_path(path, rule.get("fieldPath") or "", schema)
    reported = fielderrors.OMITTED if kind in ("object", "array") else value
    return _field_error(rule.get("reason"), where, reported, detail)


def _field_error(reason: Any, path: str, value: Any, detail: str) -> FieldError:
    if reason == "FieldValueForbidden":
        return fielderrors.forbidden(path, detail)
    if reason == "FieldValueRequired":
        return fielderrors.required(path, detail)
    if reason == "FieldValueDuplicate":
        return fielderrors.duplicate(path, {} if value is fielderrors.OMITTED else value)
    return fielderrors.invalid(path, value, detail)


def _evaluate_message(rule: Draft, activation: Draft) -> str:
    """Evaluate the messageExpression of a rule; return nothing if its result is unusable."""
    expression = rule.get("messageExpression")
    if not expression:
        return ""
    try:
        result = _compile(expression, declarations.STRING).evaluate(activation)
    except (BadExpressionError, CELEvalError):
        return ""
    text = str(result).strip() if isinstance(result, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MESSAGE_LIMIT else text


def _append_path(path: str, field_path: str, schema: Schema) -> str:
    """Append the fieldPath of a rule; keys of maps are in brackets."""
    steps = ""
    node: Schema | None = schema
    for match in _PATH_STEP.finditer(field_path):
        name = match[1] or match[2]
        named = node is None or bool(node.properties)
        steps += f".{name}" if named else f"[{name}]"
        node = node.child(name) if node is not None else None
    steps = steps.removeprefix(".")
    return fielderrors.child(path, steps) if steps else path
