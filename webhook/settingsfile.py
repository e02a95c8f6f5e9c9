"""The YAML file with settings, the spellings of their names, and messages for invalid ones."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
from typing_extensions import override

from webhook.domain.options import UsageOptions, UsageRule
from webhook.domain.seeds import usage
from webhook.kube import quantity

PREFIX: Final = "ESPALIER_"
_DOMAINS: Final = frozenset({"none", "single_zone", "multi_zone"})
_WORD: Final = re.compile(r"(?<=[a-z0-9])([A-Z])|-")


class SettingsError(Exception):
    """Invalid settings; the message names each and where to set it."""


class SettingsFile(PydanticBaseSettingsSource):
    """Reads the YAML file, if one is given."""

    def __init__(self, settings_cls: type[BaseSettings], path: str) -> None:
        super().__init__(settings_cls)
        self._path = path

    @override
    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return None, field_name, False

    @override
    def __call__(self) -> dict[str, Any]:
        if not self._path:
            return {}
        try:
            content = yaml.safe_load(Path(self._path).read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"cannot read {self._path}: {error.strerror}") from error
        except (yaml.YAMLError, UnicodeError) as error:
            why = " ".join(str(error).split())
            raise SettingsError(f"{self._path} is not YAML: {why}") from error
        if not isinstance(content, dict | None):
            raise SettingsError(f"{self._path} must be a mapping of settings")
        return {snake(key): _section(snake(key), part) for key, part in (content or {}).items()}


def _section(name: str, content: Any) -> Any:
    """Convert the keys of a section to field names; names of resources are kept."""
    if not isinstance(content, dict) or name == "usage":
        return content
    deeper = _section if name == "scheduler" else lambda _name, part: part
    return {snake(key): deeper(name, part) for key, part in content.items()}


def snake(name: Any) -> str:
    """Convert a name to snake_case."""
    return _WORD.sub(lambda found: f"_{(found.group(1) or '').lower()}", str(name))


def camel(name: str) -> str:
    """Convert a name to camelCase."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def flag_name(name: str) -> str:
    """Return the flag of a setting."""
    return f"--{name.replace('_', '-')}"


def variable_name(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"


def explain(details: Any, known: Collection[str], sections: Collection[str]) -> str:
    """Return the message for an invalid setting: its name, the reason, and where to set it."""
    path = [str(part) for part in details["loc"]]
    message = str(details["msg"]).removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    if not path:
        return f"settings: {message}"
    name, key = path[0], ".".join(camel(part) for part in path)
    if name not in known:
        return f"{'.'.join(path)}: no such setting, run espalier serve --help for the list"
    if details["type"] == "unexpected_keyword_argument":
        if path[-1] in known:
            return f"{key}: this is one setting for all sections now, {_where(path[-1])}"
        return f"{key}: no such key, remove it or correct it"
    if name in sections:  # which have no flag
        variable = variable_name("__".join(path[:2]))
        where = f"in the file that {flag_name('config')} names, or by {variable}"
        return f"{key}: {message}; set it {where}"
    return f"{key}: {message}; {_where(name)}"


def _where(name: str) -> str:
    return f"set it by {flag_name(name)}, {variable_name(name)} or {camel(name)} in the file"


def restore_off(value: Any, path: tuple[str, ...] = ()) -> Any:
    """Restore a bare `off` among the modes of policies, which YAML parses as a boolean."""
    if isinstance(value, Mapping):
        return {key: restore_off(each, (*path, str(key))) for key, each in value.items()}
    return "off" if value is False and path[:1] in (("modes",), ("exceptions",)) else value


def parse_usage(written: Mapping[str, Any]) -> UsageOptions:
    """Parse the usage of each resource; raises ValueError."""
    rules = []
    for resource, amounts in written.items():
        if resource in usage.BUILT_IN:
            raise ValueError(f"{resource} is counted automatically, remove it")
        if not isinstance(amounts, Mapping) or not {snake(key) for key in amounts} <= _DOMAINS:
            raise ValueError(f"{resource}: write amounts for none, single-zone and multi-zone")
        parsed = {snake(key): quantity.parse(amount) for key, amount in amounts.items()}
        rules.append((str(resource), UsageRule(**parsed)))
    return UsageOptions(tuple(rules))
