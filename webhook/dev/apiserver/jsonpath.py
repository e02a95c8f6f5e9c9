"""The subset of JSONPath that printer columns, selectable fields and scale paths use."""

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

_TOKEN: Final = re.compile(
    r"\.(?P<deep>\.)?(?P<name>(?:\\.|[^.\[\\])+)"
    r"|\[(?P<index>-?[0-9]+)\]"
    r"|\[(?P<from>-?[0-9]*):(?P<to>-?[0-9]*)\]"
    r"|\['(?P<quoted>[^']*)'\]|\[\"(?P<double>[^\"]*)\"\]"
    r"|\[(?P<union>'[^']*'(?:\s*,\s*'[^']*')+)\]"
    r"|(?P<star>\[\*\])"
    r"|\[\?\(\s*@(?P<path>(?:\.[^=!<>\s]+)+)\s*(?P<operator>==|!=|<=|>=|<|>)\s*"
    r"(?P<literal>\"[^\"]*\"|'[^']*'|[^)\s]+)\s*\)\]"
    r"|\[\?\(\s*@(?P<exists>(?:\.[^=!<>\s)]+)+)\s*\)\]"
)


class PathError(ValueError):
    """A JSONPath that cannot be parsed."""


class _Step(NamedTuple):
    kind: str
    value: Any = None


@lru_cache(maxsize=2048)
def _steps(path: str) -> tuple[_Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    if text and text[0] not in ".[":
        text = f".{text}"
    steps: list[_Step] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            if text[position:] == ".":
                break
            raise PathError(f"cannot parse JSONPath {path!r} at {text[position:]!r}")
        steps.append(_step(found))
        position = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> _Step:
    parts = {name: value for name, value in found.groupdict().items() if value is not None}
    if "name" in parts:
        name = re.sub(r"\\(.)", r"\1", parts["name"])
        if "deep" in parts:
            return _Step("deep", name)
        return _Step("each") if name == "*" else _Step("field", name)
    if "quoted" in parts or "double" in parts:
        return _Step("field", parts.get("quoted", parts.get("double")))
    if "union" in parts:
        paths = re.findall(r"'([^']*)'", parts["union"])
        return _Step("union", tuple(_steps(path) for path in paths))
    if "index" in parts:
        return _Step("index", int(parts["index"]))
    if "from" in parts:
        bounds = [int(parts[side]) if parts[side] else None for side in ("from", "to")]
        return _Step("slice", slice(*bounds))
    if "star" in parts:
        return _Step("each")
    return _condition(parts)


def _condition(parts: dict[str, str]) -> _Step:
    if "exists" in parts:
        return _Step("exists", _steps(parts["exists"]))
    return _Step("filter", (_steps(parts["path"]), parts["operator"], _literal(parts["literal"])))


def _literal(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def find(obj: Any, path: str) -> list[Any]:
    """Return all values that a path selects; missing keys select nothing."""
    return _walk([obj], _steps(path))


def _walk(values: list[Any], steps: tuple[_Step, ...]) -> list[Any]:
    for step in steps:
        values = [found for value in values for found in _advance(value, step)]
    return values


def _advance(value: Any, step: _Step) -> list[Any]:
    if step.kind == "field":
        return [value[step.value]] if isinstance(value, dict) and step.value in value else []
    if step.kind == "deep":
        return _deep(value, step.value)
    if step.kind == "union":
        return [found for path in step.value for found in _walk([value], path)]
    if step.kind == "each":
        return list(value.values()) if isinstance(value, dict) else _items(value)
    items = _items(value)
    if step.kind == "index":
        return [items[step.value]] if -len(items) <= step.value < len(items) else []
    if step.kind == "slice":
        return list(items[step.value])
    if step.kind == "exists":
        return [item for item in items if _walk([item], step.value)]
    path, operator, literal = step.value
    return [
        item
        for item in items
        if any(_holds(found, operator, literal) for found in _walk([item], path))
    ]


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _deep(value: Any, name: str) -> list[Any]:
    found = []
    if isinstance(value, dict):
        if name in value:
            found.append(value[name])
        children = list(value.values())
    else:
        children = _items(value)
    for child in children:
        found += _deep(child, name)
    return found


def _holds(value: Any, operator: str, literal: Any) -> bool:
    if operator == "==":
        return bool(value == literal)
    if operator == "!=":
        return bool(value != literal)
    try:
        less, equal = value < literal, value == literal
    except TypeError:
        return False
    return bool(
        {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[operator]
    )
