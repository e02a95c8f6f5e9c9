"""Judge an expression before it is used: names, types, and what is not supported."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import lark

from webhook.apiserver.cel import types
from webhook.apiserver.cel.types import BOOL, DYN

_LITERALS: Final = {
    "INT_LIT": types.INT,
    "UINT_LIT": types.UINT,
    "FLOAT_LIT": types.DOUBLE,
    "STRING_LIT": types.STRING,
    "MLSTRING_LIT": types.STRING,
    "BYTES_LIT": types.BYTES,
    "BOOL_LIT": BOOL,
    "NULL_LIT": types.NULL,
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
#: A node of the parse tree, or a token; the parser gives them no better type.
Tree = Any


class Issue(NamedTuple):
    """Something wrong at a place of the source."""

    line: int
    column: int
    text: str

    def shown(self, source: str) -> str:
        """Write it with the line and a mark below, as CEL's compiler does."""
        lines = source.split("\n")
        row = lines[self.line - 1] if self.line <= len(lines) else ""
        dots = "." * (self.column - 1)
        return f"ERROR: <input>:{self.line}:{self.column}: {self.text}\n | {row}\n | {dots}^"


class Checker:
    """Walks a parsed expression once; `issues` collects what is wrong."""

    def __init__(self, source: str, variables: Mapping[str, str] = types.VARIABLES) -> None:
        self._source = source
        self._variables = variables
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

    def _at(self, token: lark.Token, text: str, after: int = 0) -> None:
        self.issues.append(Issue(token.line or 1, (token.column or 1) + after, text))

    def _mismatch(self, operator: str, right: Tree, sides: tuple[str, ...], name: str) -> None:
        """Blame the operator, which stands somewhere before its right side."""
        token = _first_token(right)
        lines = self._source.split("\n")
        line, column = token.line or 1, token.column or 1
        before = lines[line - 1][: column - 1]
        place = before.rfind(operator) + 1 or column
        shown = ", ".join(sides)
        text = f"found no matching overload for '{name}' applied to '({shown})'"
        self.issues.append(Issue(line, place, text))

    def _expr(self, node: Tree, scope: dict[str, str]) -> str:
        kinds = [self._type(child, scope) for child in node.children]
        if len(kinds) == 1:
            return kinds[0]
        _, yes, no = kinds
        if DYN not in (yes, no) and yes != no:
            self._mismatch("?", node.children[1], tuple(kinds), "_?_:_")
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
                self._mismatch("in", right_node, (left, right), "@in")
        elif not _comparable(left, right):
            self._mismatch(operator, right_node, (left, right), f"_{operator}_")
        return BOOL

    def _addition(self, node: Tree, scope: dict[str, str]) -> str:
        if len(node.children) == 1:
            return self._type(node.children[0], scope)
        holder, right_node = node.children
        left, right = self._type(holder.children[0], scope), self._type(right_node, scope)
        if DYN not in (left, right) and left != right and not left.startswith("list"):
            operator = _ARITHMETIC[str(holder.data)]
            self._mismatch(operator, right_node, (left, right), f"_{operator}_")
        return right if left == DYN else left

    _multiplication = _addition

    def _unary(self, node: Tree, scope: dict[str, str]) -> str:
        if len(node.children) == 1:
            return self._type(node.children[0], scope)
        sign, operand = node.children
        kind = self._type(operand, scope)
        if sign.data == "unary_not":
            if kind not in (BOOL, DYN):
                self._mismatch("!", operand, (kind,), "!_")
            return BOOL
        return kind

    def _literal(self, node: Tree, scope: dict[str, str]) -> str:
        del scope
        return _LITERALS[node.children[0].type]

    def _ident(self, node: Tree, scope: dict[str, str]) -> str:
        token = node.children[0]
        kind = scope.get(token) or self._variables.get(token)
        if kind is None:
            self._at(token, _undeclared(token))
            return DYN
        return kind

    def _ident_arg(self, node: Tree, scope: dict[str, str]) -> str:
        name, arguments = node.children[0], _arguments(node)
        if name == "has":
            return self._has(name, arguments, scope)
        kinds = [self._type(argument, scope) for argument in arguments]
        if name not in types.FUNCTIONS:
            self._at(name, _undeclared(name), after=len(name))
            return DYN
        sized = ("string", "bytes", "list", "map", "dyn")
        if name == "size" and kinds and not kinds[0].startswith(sized):
            text = f"found no matching overload for 'size' applied to '({', '.join(kinds)})'"
            self._at(name, text, after=len(name))
        return types.FUNCTIONS[name]

    def _has(self, token: lark.Token, arguments: list[Tree], scope: dict[str, str]) -> str:
        selects = len(arguments) == 1 and _innermost(arguments[0]).data == "member_dot"
        if not selects:
            self._at(token, "invalid argument to has() macro", after=len(token) + 1)
        for argument in arguments:
            self._type(argument, scope)
        return BOOL

    def _member_dot(self, node: Tree, scope: dict[str, str]) -> str:
        of, token = node.children
        kind = self._type(of, scope)
        fields = types.FIELDS.get(kind)
        if fields is None:
            return DYN
        if token not in fields:
            self._at(token, f"undefined field '{token}'", after=-1)
            return DYN
        return fields[token]

    def _member_dot_arg(self, node: Tree, scope: dict[str, str]) -> str:
        of, token = node.children[:2]
        arguments = _arguments(node)
        kind = self._type(of, scope)
        if token in types.MACROS and len(arguments) >= 2:
            return self._macro(token, arguments, scope)
        kinds = tuple(self._type(argument, scope) for argument in arguments)
        if token not in types.METHODS:
            self._at(token, _undeclared(token), after=len(token))
            return DYN
        wanted = types.STRING_METHODS.get(token)
        if wanted and not (_fits(kind, types.STRING) and all(map(_fits, kinds, wanted))):
            text = (
                f"found no matching overload for '{token}' applied to '{kind}.({', '.join(kinds)})'"
            )
            self._at(token, text, after=len(token))
        return types.METHODS[token]

    def _macro(self, token: lark.Token, arguments: list[Tree], scope: dict[str, str]) -> str:
        name = _first_token(arguments[0])
        inner = {**scope, str(name): DYN}
        for argument in arguments[1:]:
            self._type(argument, inner)
        return types.MACROS[token]

    def _member_index(self, node: Tree, scope: dict[str, str]) -> str:
        kind, _ = (self._type(child, scope) for child in node.children)
        return types.STRING if kind == "list(string)" else DYN

    def _list_lit(self, node: Tree, scope: dict[str, str]) -> str:
        for argument in _arguments(node):
            self._type(argument, scope)
        return types.LIST

    def _map_lit(self, node: Tree, scope: dict[str, str]) -> str:
        for inits in node.children:
            for child in inits.children if inits is not None else ():
                self._type(child, scope)
        return types.MAP


def _undeclared(name: str) -> str:
    if name in types.UNSUPPORTED:
        return f"'{name}' is not supported by this API server"
    return f"undeclared reference to '{name}' (in container '')"


def _fits(kind: str, wanted: str) -> bool:
    return kind in (wanted, DYN)


def _comparable(left: str, right: str) -> bool:
    if DYN in (left, right) or left == right:
        return True
    if {left, right} <= types.NUMBERS or types.NULL in (left, right):
        # Numbers of different types are compared by value; null with anything that may be absent.
        return types.NULL not in (left, right) or not ({left, right} & {BOOL, *types.NUMBERS})
    return left.split("(")[0] == right.split("(")[0] and "(" in left


def _arguments(node: Tree) -> list[Tree]:
    last = node.children[-1] if node.children else None
    if isinstance(last, lark.Tree) and last.data == "exprlist":
        return list(last.children)
    return []


def _innermost(node: Tree) -> Tree:
    """Descend as long as there is only one way."""
    while len(node.children) == 1 and isinstance(node.children[0], lark.Tree):
        node = node.children[0]
    return node


def _first_token(node: Tree) -> lark.Token:
    tokens = node.scan_values(lambda value: isinstance(value, lark.Token))
    found: lark.Token = next(tokens)
    return found
