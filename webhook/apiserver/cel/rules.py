"""x-kubernetes-validations: the rules of a schema, evaluated for each object that is written.

Kubernetes also estimates what a rule may cost and checks types when a definition is written; here
a rule that cannot be evaluated is named in a warning then, and does not count.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from celpy.evaluation import CELEvalError

from webhook.api import fielderrors, schemachecks
from webhook.api.fielderrors import FieldError
from webhook.api.schema import Schema
from webhook.api.schemachecks import ABSENT
from webhook.apiserver.cel import functions, types, values
from webhook.apiserver.cel.conditions import BadExpressionError, program
from webhook.apiserver.cel.failures import told
from webhook.apiserver.resources import Resource

Object = dict[str, Any]
Warn = Callable[[str], None]

_KEY: Final = "x-kubernetes-validations"
_MESSAGE_LIMIT: Final = 5 * 1024
_OLD: Final = re.compile(r"\boldSelf\b")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")
_VARIABLES: Final = {**types.TYPES, "self": types.DYN, "oldSelf": types.DYN}
_BLOCKING: Final = frozenset(
    {
        *(fielderrors.NOT_SUPPORTED, fielderrors.REQUIRED, fielderrors.TOO_LONG),
        *(fielderrors.TOO_MANY, fielderrors.TYPE_INVALID),
    }
)
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


def ignore(_warning: str) -> None:
    """Hear no warning."""


@lru_cache(maxsize=1024)
def _compiled(expression: str, kind: str) -> Any:
    return program(expression, _VARIABLES, (kind, types.DYN), functions.FUNCTIONS)


def unheard(definition: Object) -> list[str]:
    """Name every rule of a definition that will not be evaluated, and why."""
    told: list[str] = []
    for index, version in enumerate(definition["spec"].get("versions") or ()):
        raw = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        if _KEY in repr(raw):
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            told += _unheard(Schema(raw), path)
    return told


def _unheard(schema: Schema, path: str) -> Iterator[str]:
    for index, rule in enumerate(schema.rules):
        where = f"{path}.{_KEY}[{index}]"
        for field, kind in (("rule", types.BOOL), ("messageExpression", types.STRING)):
            if rule.get(field) and (problem := _problem(rule[field], kind)):
                yield f"{where}.{field}: not evaluated by this API server: {problem}"
        if rule.get("optionalOldSelf"):
            yield f"{where}.optionalOldSelf: not evaluated by this API server"
    for name, child in schema.properties.items():
        yield from _unheard(child, f"{path}.properties[{name}]")
    if schema.additional is not None:
        yield from _unheard(schema.additional, f"{path}.additionalProperties")
    if schema.items is not None:
        yield from _unheard(schema.items, f"{path}.items")


def _problem(expression: str, kind: str) -> str:
    try:
        _compiled(expression, kind)
    except BadExpressionError as error:
        return str(error).partition("\n")[0]
    return ""


def objections(
    resource: Resource, obj: Object, old: Object | None, known: list[FieldError], warn: Warn
) -> list[FieldError]:
    """Return what rules object to; those of unchanged parts are warnings (ratcheting)."""
    if not resource.has_rules:
        return []
    if any(error.type in _BLOCKING for error in known):
        return [fielderrors.invalid(fielderrors.ROOT, None, _UNCHECKED)]
    walk = _Walk([], warn)
    before = ABSENT if old is None else old
    walk.visit(resource.schema, obj, before, "", is_root=True)
    return walk.errors


class _Walk(NamedTuple):
    """One pass over an object."""

    errors: list[FieldError]
    warn: Warn

    def visit(
        self, schema: Schema, value: Any, old: Any, path: str, *, is_root: bool = False
    ) -> None:
        if value is None:
            return
        if schema.rules:
            self._judge(schema, value, old, path, is_root=is_root)
        for part in schema.all_of:
            self.visit(part, value, old, path)
        if isinstance(value, dict):
            self._visit_fields(schema, value, old, path)
        elif isinstance(value, list) and schema.items is not None:
            pairs = schemachecks.correlated(schema, value, old)
            for index, (item, before) in enumerate(pairs):
                self.visit(schema.items, item, before, f"{path}[{index}]")

    def _visit_fields(self, schema: Schema, value: Object, old: Any, path: str) -> None:
        olds = old if isinstance(old, dict) else {}
        for name, inner in value.items():
            before = olds.get(name, ABSENT)
            child = schema.properties.get(name)
            if child is not None:
                self.visit(child, inner, before, fielderrors.child(path, name))
            elif schema.additional is not None:
                self.visit(schema.additional, inner, before, f"{path}[{name}]")

    def _judge(self, schema: Schema, value: Any, old: Any, path: str, *, is_root: bool) -> None:
        convert = values.of_root if is_root else values.of
        activation = {"self": convert(value, schema)}
        has_old = old is not ABSENT and old is not None
        if has_old:
            activation["oldSelf"] = convert(old, schema)
        for rule in schema.rules:
            moves = bool(_OLD.search(rule.get("rule") or ""))
            if rule.get("optionalOldSelf") or (moves and not has_old):
                continue
            error = _broken(rule, schema, value, activation, path or fielderrors.ROOT)
            if error is None:
                continue
            if not moves and has_old and schemachecks.same(value, old):
                self.warn(str(error))
            else:
                self.errors.append(error)


def _broken(
    rule: Object, schema: Schema, value: Any, activation: Object, path: str
) -> FieldError | None:
    kind = schema.raw.get("type") or ""
    shown = (rule.get("message") or rule["rule"]).strip()
    try:
        if _compiled(rule["rule"], types.BOOL).evaluate(activation):
            return None
    except BadExpressionError:
        return None
    except CELEvalError as error:
        why = told(error)
        if why.startswith("no such overload"):
            detail = (
                f"'{why}': call arguments did not match a supported operator, function or macro "
                f"signature for rule: {shown}"
            )
            return fielderrors.invalid(path, kind, detail)
        return fielderrors.invalid(path, kind, f"{why} evaluating rule: {shown}")
    message = (rule.get("message") or "").strip() or f"failed rule: {shown}"
    detail = _message(rule, activation) or message
    where = _below(path, rule.get("fieldPath") or "", schema)
    refused = fielderrors.OMITTED if kind in ("object", "array") else value
    return _worded(rule.get("reason"), where, refused, detail)


def _worded(reason: Any, path: str, value: Any, detail: str) -> FieldError:
    if reason == "FieldValueForbidden":
        return fielderrors.forbidden(path, detail)
    if reason == "FieldValueRequired":
        return fielderrors.required(path, detail)
    if reason == "FieldValueDuplicate":
        return fielderrors.duplicate(path, {} if value is fielderrors.OMITTED else value)
    return fielderrors.invalid(path, value, detail)


def _message(rule: Object, activation: Object) -> str:
    """Evaluate what a rule says about a value; one that says nothing sensible is ignored."""
    expression = rule.get("messageExpression")
    if not expression:
        return ""
    try:
        said = _compiled(expression, types.STRING).evaluate(activation)
    except (BadExpressionError, CELEvalError):
        return ""
    text = str(said).strip() if isinstance(said, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MESSAGE_LIMIT else text


def _below(path: str, field_path: str, schema: Schema) -> str:
    """Append a rule's own path, which has keys in brackets where there are no named fields."""
    steps = ""
    node: Schema | None = schema
    for match in _STEP.finditer(field_path):
        name = match[1] or match[2]
        named = node is None or bool(node.properties)
        steps += f".{name}" if named else f"[{name}]"
        node = node.child(name) if node is not None else None
    steps = steps.removeprefix(".")
    return fielderrors.child(path, steps) if steps else path
