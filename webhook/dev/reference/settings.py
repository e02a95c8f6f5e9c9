"""The page of settings: every flag, variable and key of the file."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from webhook.dev.reference import markdown
from webhook.settings import SECTIONS, Settings
from webhook.settingsfile import camel, flag_name, variable_name

_SET_ELSEWHERE: Final = frozenset({"owns_managed_seeds", "owns_managed_seed_sets"})
"""Fields of sections that a flag sets (`--own`), so the file has no key for them."""

_INTRODUCTION: Final = """# Settings

`espalier serve` reads flags first, then environment variables, then the YAML file that `--config`
names, then the defaults. Keys of the file are the names of flags in camelCase. If a name does not
exist or a value is invalid, the program prints a line for each and ends with exit code 2.

"""

_EXAMPLE: Final = """
## A file

```yaml
logFormat: text
admission:
  modes:
    shoot.quota: warn          # log and warn, but allow
    seed.zones: off
  exceptions:
    garden-legacy:
      shoot.workers: warn      # in this namespace only
  failures:
    shoot.ha: Ignore           # if Espalier does not answer
  workerRule: system-components
scheduler:
  strategy: MinimalDistance
  headroom: 5
usage:
  load-balancers: {none: 1, single-zone: 1, multi-zone: 3}
capacity:
  default: 250
  seeds:
    aws-eu1: {capacity: {shoots: 300}, reserved: {shoots: 20}}
seeds:
  prometheus: http://prometheus.monitoring:9090
  queries:
    persistent-volumes: sum by (seed) (kube_persistentvolume_info)
```
"""


def page() -> str:
    """Write the page."""
    plain = {k: v for k, v in Settings.model_fields.items() if k not in SECTIONS}
    sections = {k: v for k, v in Settings.model_fields.items() if k in SECTIONS}
    text = _INTRODUCTION + _flags(plain)
    text += "\n## Sections of the file\n"
    for name, info in sections.items():
        text += f"\n### `{camel(name)}`\n\n{_sentence(info.description or '')}\n\n"
        text += _section(name, info.annotation)
    return text + _EXAMPLE


def _flags(plain: Mapping[str, FieldInfo]) -> str:
    rows = [
        (
            markdown.code(flag_name(name)),
            markdown.code(variable_name(name)),
            markdown.code(camel(name)),
            _default(info),
            markdown.one_line(info.description or ""),
        )
        for name, info in plain.items()
    ]
    return markdown.table(("flag", "variable", "key", "default", "meaning"), rows)


def _section(name: str, section: Any) -> str:
    if name == "usage":
        return _USAGE
    rows = list(_rows(section, prefix=""))
    return markdown.table(("key", "values", "default", "meaning"), rows)


_USAGE: Final = """\
Keys are resources that seeds offer besides `shoots` and the other built-in ones. The value of each
defines how much of it a control plane uses, by its failure tolerance: `none`, `single-zone` and
`multi-zone`, each a quantity.
"""


def _rows(section: type, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    hints = get_type_hints(section)
    for each in fields(section):
        if each.name in _SET_ELSEWHERE:
            continue
        key, hint = f"{prefix}{camel(each.name)}", hints[each.name]
        if is_dataclass(hint):
            yield from _rows(hint, f"{key}.")  # type: ignore[arg-type]  # a class, not an instance
            continue
        text = markdown.one_line(_docstrings(section).get(each.name, ""))
        yield markdown.code(key), _values(hint), _field_default(each), text


def _values(hint: Any) -> str:
    """Return the values that a key takes, in words."""
    origin = get_origin(hint)
    if origin is Literal:
        return markdown.codes(str(each) for each in get_args(hint))
    if origin in (Union, UnionType):
        return " or ".join(_values(each) for each in get_args(hint) if each is not type(None))
    if origin is tuple:
        return f"list of {_values(get_args(hint)[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"map to {_values(get_args(hint)[1])}"
    return _NAMES.get(hint, "mapping")


_NAMES: Final[Mapping[Any, str]] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "`true` or `false`",
    Any: "any value",
}


def _default(info: FieldInfo) -> str:
    if info.default_factory is not None:
        return "see the meaning"
    return _value(info.default)


def _field_default(each: "Field[Any]") -> str:
    if each.default is not MISSING:
        return _value(each.default)
    return _value(each.default_factory()) if each.default_factory is not MISSING else "required"


def _value(value: Any) -> str:
    if value is None or value in ("", (), {}):
        return ""
    if isinstance(value, bool):
        return markdown.code(str(value).lower())
    if isinstance(value, tuple):
        return markdown.code(",".join(map(str, value)))
    if isinstance(value, Mapping):
        return markdown.code(", ".join(f"{key}: {each}" for key, each in value.items()))
    return markdown.code(str(value))


def _sentence(text: str) -> str:
    text = markdown.one_line(text).removesuffix("; a section of the file")
    return text[:1].upper() + text[1:] + "."


@cache
def _docstrings(section: type) -> Mapping[str, str]:
    """Read the docstrings under the fields of a class, which Python does not keep."""
    source = Path(inspect.getfile(section)).read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == section.__name__:
            for field_, after in zip(node.body, node.body[1:], strict=False):
                if (
                    isinstance(field_, ast.AnnAssign)
                    and isinstance(field_.target, ast.Name)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                ):
                    found[field_.target.id] = str(after.value.value)
    return found
