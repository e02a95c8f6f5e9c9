"""The settings file of the server as a part of an installation, and the flags that go with it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from webhook.cli.install.layout import Layout
from webhook.domain.features import closure
from webhook.settings import Settings, load_file
from webhook.settingsfile import SettingsError, camel, flag_name
from webhook.wiring.shutdown import longest_stop

_SET_BY_MANIFESTS: Final = frozenset(
    {
        "identity",
        "kubeconfig",
        "context",
        "port",
        "http_port",
        "nodegroups_port",
        "nodegroups_beside",
        "service_name",
    }
)
"""Settings that the objects of an installation with pods determine."""


def with_settings(layout: Layout, path: Path, given: Mapping[str, Any]) -> Layout:
    """Return the layout with a settings file; `given` holds flags that are settings as well.

    Raises SettingsError if the file is invalid, contradicts a flag, or has a setting that the
    manifests determine.
    """
    settings = load_file(str(path))
    in_file = settings.model_fields_set - {"config"}
    problems = [*_contradictions(settings, path, given)]
    if layout.has_pods:
        problems += [
            f"{camel(name)}: the manifests set it, remove it from {path}"
            for name in sorted(in_file & _SET_BY_MANIFESTS)
        ]
    if problems:
        raise SettingsError("\n".join(problems))
    return replace(
        layout,
        namespace=given.get("namespace") or settings.namespace,
        garden_namespace=given.get("garden_namespace") or settings.garden_namespace,
        settings_text=path.read_text(encoding="utf-8"),
        own=given.get("own") or settings.own,
        features=closure(given.get("features") or settings.features),
        options=settings.options(),
        stop_seconds=longest_stop(settings.drain_longest, settings.timing),
        webhook_url=settings.advertise_url,
    )


def _contradictions(settings: Settings, path: Path, given: Mapping[str, Any]) -> list[str]:
    """Return the flags that have another value in the file: the server reads only one of them."""
    return [
        f"{flag_name(name)}={_written(value)}: "
        f"{path} has {camel(name)} {_written(getattr(settings, name))}, choose one"
        for name, value in given.items()
        if value and name in settings.model_fields_set and getattr(settings, name) != value
    ]


def _written(value: Any) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)
