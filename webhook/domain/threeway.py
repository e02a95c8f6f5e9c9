"""What a changed template changes on an object that others have written, too.

Lists whose entries have names are compared by name, so that one pool can change without the
others; everything else is compared as a tree. Versions that maintenance has lifted stay.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from webhook.domain.images import parse_version

Path: TypeAlias = tuple[str, ...]

_GONE: Final = object()
_VERSIONS: Final = (("kubernetes", "version"), ("image", "version"))
"""How the paths of fields end that maintenance lifts by itself."""


def advance(live: Any, old: Any, new: Any, path: Path = ()) -> Any:
    """Carry the difference between two templates over to an object, and nothing else."""
    if _same(old, new):
        return live
    if isinstance(new, Mapping) and isinstance(old, Mapping) and isinstance(live, Mapping):
        return _advance_tree(live, old, new, path)
    if _is_named(old) and _is_named(new) and _is_named(live):
        return _advance_list(live, old, new, path)
    return live if is_lifted(live, new, path) else new


def differences(live: Any, template: Any, path: Path = ()) -> Iterator[str]:
    """Name the fields of a template that an object does not have so; what it has besides is not.

    An empty part of a template asks for nothing, and a version may have been lifted.
    """
    if isinstance(template, Mapping):
        found = live if isinstance(live, Mapping) else {}
        for key, value in template.items():
            yield from differences(found.get(key), value, (*path, key))
    elif _is_named(template) and _is_named(live) and template:
        entries = {entry["name"]: entry for entry in live}
        for entry in template:
            deeper = (*path[:-1], f"{path[-1] if path else ''}[{entry['name']}]")
            yield from differences(entries.get(entry["name"]), entry, deeper)
    elif live != template and (template or live) and not is_lifted(live, template, path):
        yield ".".join(path)


def lowered(present: Any, wanted: Any, path: Path = ()) -> Iterator[str]:
    """Name the Kubernetes versions that would go down from one template to another."""
    if isinstance(present, Mapping) and isinstance(wanted, Mapping):
        for key, value in wanted.items():
            yield from lowered(present.get(key), value, (*path, key))
    elif _is_named(present) and _is_named(wanted):
        entries = {entry["name"]: entry for entry in present}
        for entry in wanted:
            deeper = (*path[:-1], f"{path[-1] if path else ''}[{entry['name']}]")
            yield from lowered(entries.get(entry["name"]), entry, deeper)
    elif path[-2:] == _VERSIONS[0] and is_lifted(present, wanted, path):
        yield ".".join(path)


def keep_versions(present: Any, wanted: Any, path: Path = ()) -> Any:
    """Give a wanted template with the Kubernetes versions of the present one, where those lead."""
    if isinstance(present, Mapping) and isinstance(wanted, Mapping):
        return {
            key: keep_versions(present.get(key), value, (*path, key))
            for key, value in wanted.items()
        }
    if _is_named(present) and _is_named(wanted):
        entries = {entry["name"]: entry for entry in present}
        return [keep_versions(entries.get(entry["name"]), entry, path) for entry in wanted]
    kept = path[-2:] == _VERSIONS[0] and is_lifted(present, wanted, path)
    return present if kept else wanted


def is_lifted(live: Any, wanted: Any, path: Path) -> bool:
    """Tell whether a field is a version that is already above the one that is wanted."""
    if path[-2:] not in _VERSIONS or not (isinstance(live, str) and isinstance(wanted, str)):
        return False
    return parse_version(live) > parse_version(wanted)


def _advance_tree(
    live: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    result = dict(live)
    for key in old.keys() - new.keys():
        result.pop(key, None)
    for key, value in new.items():
        before = old.get(key, _GONE)
        if _same(before, value):
            continue
        if key in live and before is not _GONE:
            result[key] = advance(live[key], before, value, (*path, key))
        elif not is_lifted(live.get(key), value, (*path, key)):
            result[key] = _merged(live.get(key), value)
    return result


def _advance_list(
    live: Sequence[Any], old: Sequence[Any], new: Sequence[Any], path: Path
) -> list[Any]:
    before = {entry["name"]: entry for entry in old}
    after = {entry["name"]: entry for entry in new}
    result = []
    for entry in live:
        name = entry["name"]
        if name in after and name in before:
            result.append(advance(entry, before[name], after[name], path))
        elif name in after:
            result.append(_merged(entry, after[name]))
        elif name not in before:
            result.append(entry)
    present = {entry["name"] for entry in live}
    return result + [entry for name, entry in after.items() if name not in present]


def _merged(live: Any, new: Any) -> Any:
    """Put a field that is new in the template over what is there; defaults around it stay."""
    if isinstance(live, Mapping) and isinstance(new, Mapping):
        return {**live, **{key: _merged(live.get(key), value) for key, value in new.items()}}
    return new


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and type(one) is type(other)


def _is_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(entry, Mapping) and isinstance(entry.get("name"), str) for entry in value
    )
