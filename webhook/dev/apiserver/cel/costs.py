"""Estimates the cost of a rule before it is ever evaluated.

Kubernetes refuses a rule whose estimated cost is over a limit. This estimate counts the same steps
for identifiers, selections, calls and loops, and ignores what is small beside a loop, so that it is
never above the estimate of Kubernetes.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import lark

from webhook.dev.apiserver.cel import declarations
from webhook.dev.apiserver.cel.checker import Tree, arguments_of, first_token
from webhook.dev.apiserver.cel.schematypes import DeclaredType

RULE_LIMIT: Final = 10_000_000
"""The largest estimated cost of one rule, over all values that it applies to."""
SCHEMA_LIMIT: Final = 100_000_000
"""The largest estimated cost of all rules of a schema."""
_TRAVERSAL: Final = 0.1
"""The cost of reading one byte or comparing one item."""
_LIST_COST: Final = 10
_MAP_COST: Final = 30
_STEP: Final = 1
_UNKNOWN: Final = DeclaredType(declarations.DYN)
_KEY: Final = DeclaredType(declarations.STRING)
"""The key of a map, of which Kubernetes does not estimate the length."""
_TEXTS: Final = (declarations.STRING, declarations.BYTES)


class Estimate(NamedTuple):
    """The cost of an expression and the type of its value."""

    cost: float
    type: DeclaredType = _UNKNOWN


def estimate_cost(tree: Tree, variables: Mapping[str, DeclaredType]) -> int:
    """Return the estimated cost of one evaluation of a parsed expression."""
    return int(_Estimator().estimate(tree, dict(variables)).cost)


class _Estimator:
    """Walks a parsed expression and adds up the cost of its parts."""

    def estimate(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        if isinstance(node, lark.Token):
            return Estimate(0)
        handler = getattr(self, f"_{node.data}", None)
        if handler is not None:
            found: Estimate = handler(node, scope)
            return found
        return self.estimate(node.children[-1], scope) if node.children else Estimate(0)

    def _sum(self, nodes: Any, scope: dict[str, DeclaredType]) -> float:
        return sum(self.estimate(node, scope).cost for node in nodes)

    def _expr(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        parts = [self.estimate(child, scope) for child in node.children]
        if len(parts) == 1:
            return parts[0]
        condition, yes, no = parts
        return Estimate(condition.cost + max(yes.cost, no.cost), yes.type)

    def _conditionalor(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        if len(node.children) == 1:
            return self.estimate(node.children[0], scope)
        return Estimate(self._sum(node.children, scope))

    _conditionaland = _conditionalor

    def _relation(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        if len(node.children) == 1:
            return self.estimate(node.children[0], scope)
        holder, right_node = node.children
        left = self.estimate(holder.children[0], scope)
        right = self.estimate(right_node, scope)
        if holder.data == "relation_in":
            reading = right.type.max_elements * _TRAVERSAL
        else:
            reading = min(left.type.max_elements, right.type.max_elements) * _TRAVERSAL
        return Estimate(left.cost + right.cost + max(_STEP, reading))

    def _addition(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        if len(node.children) == 1:
            return self.estimate(node.children[0], scope)
        holder, right_node = node.children
        left = self.estimate(holder.children[0], scope)
        right = self.estimate(right_node, scope)
        size = left.type.max_elements + right.type.max_elements
        declared = DeclaredType(left.type.name, left.type.min_size, size, element=left.type.element)
        return Estimate(left.cost + right.cost + max(_STEP, size * _TRAVERSAL), declared)

    _multiplication = _addition

    def _literal(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        del scope
        token = node.children[0]
        if token.type == "STRING_LIT":
            return Estimate(0, DeclaredType(declarations.STRING, 2, len(token) - 2))
        return Estimate(0)

    def _ident(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        return Estimate(_STEP, scope.get(str(node.children[0]), _UNKNOWN))

    def _ident_arg(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        return Estimate(_STEP + self._sum(arguments_of(node), scope))

    def _member_dot(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        of, token = node.children
        found = self.estimate(of, scope)
        selected = found.type.fields.get(str(token)) or found.type.element or _UNKNOWN
        return Estimate(found.cost + _STEP, selected)

    def _member_index(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        of, index = (self.estimate(child, scope) for child in node.children)
        return Estimate(of.cost + index.cost + _STEP, of.type.element or _UNKNOWN)

    def _member_dot_arg(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        of, token = node.children[:2]
        found = self.estimate(of, scope)
        arguments = arguments_of(node)
        if token in declarations.MACROS and len(arguments) >= 2:
            return self._loop(token, found, arguments, scope)
        given = [self.estimate(argument, scope) for argument in arguments]
        cost = found.cost + sum(each.cost for each in given) + _STEP
        return Estimate(cost + _reading(str(token), [found, *given]))

    def _loop(
        self, macro: str, over: Estimate, arguments: list[Tree], scope: dict[str, DeclaredType]
    ) -> Estimate:
        item = over.type.element or _UNKNOWN
        if over.type.name.startswith("map("):
            item = _KEY  # a macro iterates over the keys of a map
        inner = {**scope, str(first_token(arguments[0])): item}
        body = self._sum(arguments[1:], inner) + 2 * _STEP
        kept = over.type if macro == "filter" else DeclaredType("list(dyn)", 2, 0)
        if macro == "map":
            kept = DeclaredType("list(dyn)", 2, over.type.max_elements)
        if macro in ("map", "filter"):
            body += _LIST_COST
        return Estimate(over.cost + over.type.max_elements * body + _STEP, kept)

    def _list_lit(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        items = arguments_of(node)
        declared = DeclaredType(declarations.LIST, 2, len(items))
        return Estimate(_LIST_COST + self._sum(items, scope), declared)

    def _map_lit(self, node: Tree, scope: dict[str, DeclaredType]) -> Estimate:
        children = [
            child for inits in node.children if inits is not None for child in inits.children
        ]
        return Estimate(_MAP_COST + self._sum(children, scope))


def _reading(method: str, parts: list[Estimate]) -> float:
    """Return the cost of reading the texts that a method needs: receiver first, then arguments."""
    sizes = [each.type.max_elements * _TRAVERSAL for each in parts]
    if method == "size" or parts[0].type.name not in _TEXTS:
        return 0
    if method in ("startsWith", "endsWith"):
        return sizes[-1]
    if method == "contains":
        return sizes[0] * sizes[-1]
    return sizes[0]
