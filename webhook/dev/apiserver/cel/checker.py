"""The type checker of expressions: names, types, and features that are not supported."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import lark

from webhook.dev.apiserver.cel import declarations
from webhook.dev.apiserver.cel.declarations import BOOL, DYN

_LITERALS: Final = {
    "INT_LIT": declarations.INT,
    "UINT_LIT": declarations.UINT,
    "FLOAT_LIT": declarations.DOUBLE,
    "STRING_LIT": declarations.STRING,
    "MLSTRING_LIT": declarations.STRING,
    "BYTES_LIT": declarations.BYTES,
    "BOOL_LIT": BOOL,
    "NULL_LIT": declarations.NULL,
}
_RELATIONS: Final = {
    "relation_eq": "==",
    "relation_ne": "!=",
    "relation_lt": "<",
    "relation_le": "<=",
    "relation_gt": ">",
    "relation_ge": ">=",
    "relation_in": "in",
}
_ARITHMETIC: Final = {
    "addition_add": "+",
    "addition_sub": "-",
    "multiplication_mul": "*",
    "multiplication_div": "/",
    "multiplication_mod": "%",
}
UNSUPPORTED: Final = "is not supported by this API server"
"""The end of the issue of what Kubernetes supports and this API server does not."""
_WITHOUT_FIELDS: Final = frozenset(
    {*declarations.NUMBERS, BOOL, declarations.STRING, declarations.BYTES}
)
Tree: TypeAlias = Any
"""A node of the parse tree, or a token; celpy does not declare a type for them."""


class Issue(NamedTuple):
    """An error at a position of the source."""

    line: int
    column: int
    text: str

    def format(self, source: str) -> str:
        """Format the issue with its line and a mark below, as CEL's compiler does."""
        lines = source.split("\n")
        row = lines[self.line - 1] if self.line <= len(lines) else ""
        dots = "." * (self.column - 1)
        return f"ERROR: <input>:{self.line}:{self.column}: {self.text}\n | {row}\n | {dots}^"


class Checker:
    """Walks a parsed expression and collects its issues."""

    def __init__(
        self,
        source: str,
        variables: Mapping[str, str] = declarations.VARIABLES,
        fields: Mapping[str, Mapping[str, str]] = declarations.FIELDS,
    ) -> None:
        self._source = source
        self._variables = variables
        self._fields = fields
        self.issues: list[Issue] = []

    def check(self, tree: Tree) -> str:
        """Return the type of a whole expression."""
        return self._type(tree, {})

    def _type(self, node: Tree, scope: dict[str, str]) -> str:
        handler = getattr(self, f"_{node.data}", None)
        if handler is not None:
            found: str = handler(node, scope)
            return found
        return self._type(node.children[-1], scope) if node.children else DYN

    def _report(self, token: lark.Token, text: str, after: int = 0) -> None:
        self.issues.append(Issue(token.line or 1, (token.column or 1) + after, text))

    def _report_mismatch(
        self, operator: str, right: Tree, sides: tuple[str, ...], name: str
    ) -> None:
        """Report the operator, which precedes its right operand."""
        token = first_token(right)
        lines = self._source.split("\n")
        line, column = token.line or 1, token.column or 1
        before = lines[line - 1][: column - 1]
        position = before.rfind(operator) + 1 or column
        formatted = ", ".join(sides)
        text = f"found no matching overload for '{name}' applied to '({formatted})'"
        self.issues.append(Issue(line, position, text))

    def _expr(self, node: Tree, scope: dict[str, str]) -> str:
        kinds = [self._type(child, scope) for child in node.children]
        if len(kinds) == 1:
            return kinds[0]
        _, yes, no = kinds
        if DYN not in (yes, no) and yes != no:
            self._report_mismatch("?", node.children[1], tuple(kinds), "_?_:_")
        return yes if yes == no else DYN

    def _conditionalor(self, node: Tree, scope: dict[str, str]) -> str:
        kinds = [self._type(child, scope) for child in node.children]
        return kinds[0] if len(kinds) == 1 else BOOL

    _conditionaland = _conditionalor

    def _relation(self, node: Tree, scope: dict[str, str]) -> str:
        if len(node.children) == 1:
            return self._type(node.children[0], scope)
        holder, right_node = node.children
        left, right = self._type(holder.children[0], scope), self._type(right_node, scope)
        operator = _RELATIONS[str(holder.data)]
        if operator == "in":
            if not right.startswith(("list", "map", "dyn")):
                self._report_mismatch("in", right_node, (left, right), "@in")
        elif not _comparable(left, right):
            self._report_mismatch(operator, right_node, (left, right), f"_{operator}_")
        return BOOL

    def _addition(self, node: Tree, scope: dict[str, str]) -> str:
        if len(node.children) == 1:
            return self._type(node.children[0], scope)
        holder, right_node = node.children
        left, right = self._type(holder.children[0], scope), self._type(right_node, scope)
        if DYN not in (left, right) and left != right and not left.startswith("list"):
            operator = _ARITHMETIC[str(holder.data)]
            self._report_mismatch(operator, right_node, (left, right), f"_{operator}_")
            return DYN
        return right if left == DYN else left

    _multiplication = _addition

    def _unary(self, node: Tree, scope: dict[str, str]) -> str:
        if len(node.children) == 1:
            return self._type(node.children[0], scope)
        sign, operand = node.children
        kind = self._type(operand, scope)
        if sign.data == "unary_not":
            if kind not in (BOOL, DYN):
                self._report_mismatch("!", operand, (kind,), "!_")
            return BOOL
        return kind

    def _literal(self, node: Tree, scope: dict[str, str]) -> str:
        del scope
        return _LITERALS[node.children[0].type]

    def _ident(self, node: Tree, scope: dict[str, str]) -> str:
        token = node.children[0]
        kind = scope.get(token) or self._variables.get(token)
        if kind is None:
            self._report(token, _undeclared(token))
            return DYN
        return kind

    def _ident_arg(self, node: Tree, scope: dict[str, str]) -> str:
        name, arguments = node.children[0], arguments_of(node)
        if name == "has":
            return self._has(name, arguments, scope)
        kinds = [self._type(argument, scope) for argument in arguments]
        if name not in declarations.FUNCTIONS:
            self._report(name, _undeclared(name), after=len(name))
            return DYN
        sized = ("string", "bytes", "list", "map", "dyn")
        if name == "size" and kinds and not kinds[0].startswith(sized):
            text = f"found no matching overload for 'size' applied to '({', '.join(kinds)})'"
            self._report(name, text, after=len(name))
        return declarations.FUNCTIONS[name]

    def _has(self, token: lark.Token, arguments: list[Tree], scope: dict[str, str]) -> str:
        selects = len(arguments) == 1 and _innermost(arguments[0]).data == "member_dot"
        if not selects:
            self._report(token, "invalid argument to has() macro", after=len(token) + 1)
        for argument in arguments:
            self._type(argument, scope)
        return BOOL

    def _member_dot(self, node: Tree, scope: dict[str, str]) -> str:
        of, token = node.children
        kind = self._type(of, scope)
        fields = self._fields.get(kind)
        if fields is None:
            if kind in _WITHOUT_FIELDS or kind.startswith("list("):
                self._report(token, f"type '{kind}' does not support field selection", after=-1)
            return declarations.element_of(kind) if kind.startswith("map(") else DYN
        if token not in fields:
            self._report(token, f"undefined field '{token}'", after=-1)
            return DYN
        return fields[token]

    def _member_dot_arg(self, node: Tree, scope: dict[str, str]) -> str:
        of, token = node.children[:2]
        arguments = arguments_of(node)
        kind = self._type(of, scope)
        if token in declarations.MACROS and len(arguments) >= 2:
            return self._macro(token, kind, arguments, scope)
        kinds = tuple(self._type(argument, scope) for argument in arguments)
        if token not in declarations.METHODS:
            self._report(token, _undeclared(token), after=len(token))
            return DYN
        wanted = declarations.STRING_METHODS.get(token)
        if wanted and not (
            _is_assignable(kind, declarations.STRING) and all(map(_is_assignable, kinds, wanted))
        ):
            text = (
                f"found no matching overload for '{token}' applied to '{kind}.({', '.join(kinds)})'"
            )
            self._report(token, text, after=len(token))
        return declarations.METHODS[token]

    def _macro(
        self, token: lark.Token, kind: str, arguments: list[Tree], scope: dict[str, str]
    ) -> str:
        name = first_token(arguments[0])
        is_map = kind.startswith("map(")
        item = declarations.key_of(kind) if is_map else declarations.element_of(kind)
        inner = {**scope, str(name): item}
        results = [self._type(argument, inner) for argument in arguments[1:]]
        if token == "filter" and not is_map:  # noqa: S105
            return kind
        return f"list({results[-1]})" if token == "map" else declarations.MACROS[token]  # noqa: S105

    def _member_index(self, node: Tree, scope: dict[str, str]) -> str:
        kind, _ = (self._type(child, scope) for child in node.children)
        return declarations.element_of(kind)

    def _list_lit(self, node: Tree, scope: dict[str, str]) -> str:
        for argument in arguments_of(node):
            self._type(argument, scope)
        return declarations.LIST

    def _map_lit(self, node: Tree, scope: dict[str, str]) -> str:
        for inits in node.children:
            for child in inits.children if inits is not None else ():
                self._type(child, scope)
        return declarations.MAP


def _undeclared(name: str) -> str:
    if name in declarations.UNSUPPORTED:
        return f"'{name}' {UNSUPPORTED}"
    return f"undeclared reference to '{name}' (in container '')"


def _is_assignable(kind: str, wanted: str) -> bool:
    return kind in (wanted, DYN)


def _comparable(left: str, right: str) -> bool:
    if DYN in (left, right) or left == right:
        return True
    if {left, right} <= declarations.NUMBERS or declarations.NULL in (left, right):
        # Numbers of different types are comparable, and null with any type that may be null.
        return declarations.NULL not in (left, right) or not (
            {left, right} & {BOOL, *declarations.NUMBERS}
        )
    return left.split("(")[0] == right.split("(")[0] and "(" in left


def arguments_of(node: Tree) -> list[Tree]:
    """Return the arguments of a call or the items of a list."""
    last = node.children[-1] if node.children else None
    if isinstance(last, lark.Tree) and last.data == "exprlist":
        return list(last.children)
    return []


def _innermost(node: Tree) -> Tree:
    """Return the first descendant that does not have exactly one child."""
    while len(node.children) == 1 and isinstance(node.children[0], lark.Tree):
        node = node.children[0]
    return node


def first_token(node: Tree) -> lark.Token:
    """Return the first token of a parsed expression."""
    tokens = node.scan_values(lambda value: isinstance(value, lark.Token))
    found: lark.Token = next(tokens)
    return found
