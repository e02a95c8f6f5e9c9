"""Validation of the affinities of Pods."""

from typing import Final

from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors, identifiers
from webhook.kube.meta import Raw

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")
_WITH_ONE_VALUE: Final = ("Gt", "Lt")


def validate_affinity(path: str, affinity: Raw) -> Errors:
    """Validate the affinity of a Pod to nodes and to other Pods."""
    if affinity.get("nodeAffinity") is not None:
        yield from _node_affinity(f"{path}.nodeAffinity", affinity["nodeAffinity"])
    for name in ("podAffinity", "podAntiAffinity"):
        if affinity.get(name) is not None:
            yield from _pod_affinity(f"{path}.{name}", affinity[name])


def _node_affinity(path: str, affinity: Raw) -> Errors:
    required = affinity.get(_REQUIRED)
    if required is not None:
        where = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        terms = required.get("nodeSelectorTerms") or ()
        yield from checks.required(where, terms, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _node_term(f"{where}[{index}]", term)
    for index, preferred in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(where, preferred)
        yield from _node_term(f"{where}.preference", preferred.get("preference") or {})


def _node_term(path: str, term: Raw) -> Errors:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        yield from _node_requirement(f"{path}.matchExpressions[{index}]", expression)


def _node_requirement(path: str, expression: Raw) -> Errors:
    operator, values = expression.get("operator", ""), expression.get("values") or ()
    if operator in ("In", "NotIn"):
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        yield from checks.required(f"{path}.values", values, detail)
    elif operator in _WITHOUT_VALUES:
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield fielderrors.forbidden(f"{path}.values", detail)
    elif operator in _WITH_ONE_VALUE:
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield fielderrors.required(f"{path}.values", detail)
    else:
        yield fielderrors.invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = expression.get("key", "")
    yield from checks.invalid_each(f"{path}.key", key, identifiers.label_key_errors(key))


def _pod_affinity(path: str, affinity: Raw) -> Errors:
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        yield from _pod_term(f"{path}.{_REQUIRED}[{index}]", term)
    for index, preferred in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(where, preferred)
        yield from _pod_term(f"{where}.podAffinityTerm", preferred.get("podAffinityTerm") or {})


def _weight(path: str, preferred: Raw) -> Errors:
    weight = preferred.get("weight", 0)
    if not 1 <= weight <= 100:
        yield fielderrors.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _pod_term(path: str, term: Raw) -> Errors:
    for name in ("labelSelector", "namespaceSelector"):
        yield from checks.label_selector(f"{path}.{name}", term.get(name))
    key = term.get("topologyKey", "")
    yield from checks.required(f"{path}.topologyKey", key, "can not be empty")
    yield from checks.invalid_each(f"{path}.topologyKey", key, identifiers.label_key_errors(key))
