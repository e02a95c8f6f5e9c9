"""The YAML file with settings, and how names are spelled in it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
from typing_extensions import override

_WORD: Final = re.compile(r"(?<=[a-z0-9])([A-Z])|-")


class SettingsError(Exception):
    """Settings that do not work; the message names each and where it can be set."""


class SettingsFile(PydanticBaseSettingsSource):
    """The YAML file, if one is named."""

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
    """Spell the keys of a section as its fields are; names of things are left as they are."""
    if not isinstance(content, dict) or name == "usage":
        return content
    deeper = _section if name == "scheduler" else lambda _name, part: part
    return {snake(key): deeper(name, part) for key, part in content.items()}


def snake(name: Any) -> str:
    """Spell a name as Python does."""
    return _WORD.sub(lambda found: f"_{(found.group(1) or '').lower()}", str(name))


def camel(name: str) -> str:
    """Spell a name as Kubernetes does."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def with_off(value: Any, path: tuple[str, ...] = ()) -> Any:
    """Write a bare `off` among the modes of policies out again, which YAML takes for a boolean."""
    if isinstance(value, Mapping):
        return {key: with_off(each, (*path, str(key))) for key, each in value.items()}
    return "off" if value is False and path[:1] in (("modes",), ("exceptions",)) else value
