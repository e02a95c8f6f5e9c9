"""What a changed template changes on an object that others have written, too.

Lists whose entries have names or keys are compared by those, so that one pool can change without
the others; everything else is compared as a tree. Versions that maintenance has lifted stay.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from webhook.domain.images import parse_version

Path: TypeAlias = tuple[str, ...]

_GONE: Final = object()
_KUBERNETES: Final = ("kubernetes", "version")
_VERSIONED: Final = ("kubernetes", "image")
"""The fields below which maintenance lifts the version by itself."""
_IDENTITIES: Final = ("name", "key")


def advance(live: Any, old: Any, new: Any, path: Path = ()) -> Any:
    """Carry the difference between two templates over to an object, and nothing else."""
    if _same(old, new):
        return live
    if isinstance(new, Mapping) and isinstance(live, Mapping):
        before = {} if old is _GONE else old
        return _advance_tree(live, before, new, path) if isinstance(before, Mapping) else new
    before = [] if old is _GONE else old
    if identity := _identity(live, before, new):
        return _advance_list(live, before, new, path, identity)
    return new


def differences(live: Any, template: Any, path: Path = ()) -> Iterator[str]:
    """Name the fields of a template that an object does not have so; what it has besides is not.

    An empty part of a template asks for nothing, an empty text least of all: Gardener writes one
    for whatever its admission fills in later. A version may have been lifted. A named entry
    besides, a pool for instance, differs; a keyed one does not: Gardener adds tolerations.
    """
    if isinstance(template, Mapping):
        found = live if isinstance(live, Mapping) else {}
        for key, value in template.items():
            if key != "version" or not _is_lifted(found, template, template, path):
                yield from differences(found.get(key), value, (*path, key))
    elif template and (identity := _identity(live, template)):
        entries = {entry[identity]: entry for entry in live}
        for entry in template:
            name = entry[identity]
            yield from differences(entries.pop(name, None), entry, _within(path, name))
        if identity == "name":
            yield from (".".join(_within(path, name)) for name in entries)
    elif template not in ("", live) and (template or live):
        yield ".".join(path)


def lowered(present: Any, wanted: Any) -> list[str]:
    """Name the Kubernetes versions that would go down from one template to another."""
    told: list[str] = []
    _hold(present, wanted, (), "", told)
    return told


def keep_versions(present: Any, wanted: Any) -> Any:
    """Give a wanted template with the Kubernetes versions of the present one, where those lead."""
    return _hold(present, wanted, (), "", [])


def _hold(present: Any, wanted: Any, path: Path, version: str, told: list[str]) -> Any:
    """Keep versions up and tell which; a pool that names no version has its control plane's."""
    if isinstance(wanted, Mapping):
        before = present if isinstance(present, Mapping) else {}
        inherited = _version_of(before) or version
        return {
            key: _hold(before.get(key), value, (*path, key), inherited, told)
            for key, value in wanted.items()
        }
    if _identity(present, wanted) == "name":
        entries = {entry["name"]: entry for entry in present}
        held = []
        for entry in wanted:
            name = entry["name"]
            inherited = version if name in entries else ""
            held.append(_hold(entries.get(name), entry, _within(path, name), inherited, told))
        return held
    least = present if isinstance(present, str) else version
    if path[-2:] == _KUBERNETES and isinstance(wanted, str) and _is_above(least, wanted):
        told.append(".".join(path))
        return least
    return wanted


def _version_of(spec: Mapping[str, Any]) -> str:
    kubernetes = spec.get("kubernetes")
    version = kubernetes.get("version") if isinstance(kubernetes, Mapping) else None
    return version if isinstance(version, str) else ""


def _advance_tree(
    live: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    result = dict(live)
    for key in old.keys() - new.keys():
        left = _foreign(live.get(key), old[key])
        if left:
            result[key] = left
        else:
            result.pop(key, None)
    for key, value in new.items():
        before = old.get(key, _GONE)
        if _same(before, value) or (key == "version" and _is_lifted(live, old, new, path)):
            continue
        result[key] = advance(live[key], before, value, (*path, key)) if key in live else value
    return result


def _advance_list(
    live: Sequence[Any], old: Sequence[Any], new: Sequence[Any], path: Path, identity: str
) -> list[Any]:
    before = {entry[identity]: entry for entry in old}
    after = {entry[identity]: entry for entry in new}
    result = []
    for entry in live:
        name = entry[identity]
        if name in after:
            result.append(advance(entry, before.get(name, _GONE), after[name], path))
        elif name not in before:
            result.append(entry)
    present = {entry[identity] for entry in live}
    # One that the templates left alone and somebody took away stays away.
    changed = (name for name in after if not _same(before.get(name, _GONE), after[name]))
    return result + [after[name] for name in changed if name not in present]


def _foreign(live: Any, old: Any) -> list[Any]:
    """Give what a list has besides what a template put there: that goes with the template."""
    identity = _identity(live, old)
    if not identity:
        return []
    own = {entry[identity] for entry in old}
    return [entry for entry in live if entry[identity] not in own]


def _is_lifted(
    live: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], path: Path
) -> bool:
    """Tell whether a version is above the one that is wanted and the one that was given before.

    One that is as it was given was lifted by nobody: it goes down if that is wanted. Versions of
    different images cannot be compared.
    """
    if not path or path[-1] not in _VERSIONED or new.get("name") not in (None, live.get("name")):
        return False
    wanted = new.get("version")
    given = old.get("version") if old.get("name") == new.get("name") else None
    return isinstance(wanted, str) and all(
        _is_above(live.get("version"), version)
        for version in (wanted, given)
        if isinstance(version, str)
    )


def _is_above(live: Any, version: str) -> bool:
    return isinstance(live, str) and parse_version(live) > parse_version(version)


def _within(path: Path, name: str) -> Path:
    return (*path[:-1], f"{path[-1] if path else ''}[{name}]")


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and type(one) is type(other)


def _identity(*lists: Any) -> str:
    """Find the field by which entries are told apart in all of some lists; empty if none does."""
    return next((field for field in _IDENTITIES if all(_is_by(each, field) for each in lists)), "")


def _is_by(value: Any, field: str) -> bool:
    if not isinstance(value, list):
        return False
    found = [entry.get(field) if isinstance(entry, Mapping) else None for entry in value]
    return all(isinstance(each, str) for each in found) and len({*found}) == len(found)
