"""Three-way merge of a changed template into an object that others write, too.

Entries of lists with unique names or keys are merged one by one, so that one worker pool can change
without the others; everything else is merged as a tree. Versions that maintenance has raised stay.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from webhook.domain.shoots.machine_images import parse_version

Path: TypeAlias = tuple[str, ...]

_GONE: Final = object()
_KUBERNETES: Final = ("kubernetes", "version")
_VERSIONED: Final = ("kubernetes", "image")
"""The fields below which maintenance raises the version."""
_IDENTITIES: Final = ("name", "key")
"""Fields that identify the entries of a list. Tolerations of others have keys and therefore survive
an update: Gardener adds its own on creation only and would not restore them."""


def merge(live: Any, old: Any, new: Any, path: Path = ()) -> Any:
    """Apply the difference between two templates to an object, and nothing else."""
    if _same(old, new):
        return live
    if isinstance(new, Mapping) and isinstance(live, Mapping):
        before = {} if old is _GONE else old
        return _merge_tree(live, before, new, path) if isinstance(before, Mapping) else new
    before = [] if old is _GONE else old
    if identity := _identity(live, before, new):
        return _merge_list(live, before, new, path, identity)
    return new


def differences(live: Any, template: Any, path: Path = ()) -> Iterator[str]:
    """Yield the fields in which an object differs from its template; further fields do not count.

    Empty values of a template match anything: Gardener writes empty strings for what its admission
    sets later. A raised version matches. An additional entry with a name, such as a worker pool,
    differs; one with a key does not, because Gardener adds tolerations.
    """
    if isinstance(template, Mapping):
        found = live if isinstance(live, Mapping) else {}
        for key, value in template.items():
            if key != "version" or not _is_raised(found, template, template, path):
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


def lowered_versions(present: Any, wanted: Any) -> list[str]:
    """Return the fields with Kubernetes versions that a new template would lower."""
    lowered: list[str] = []
    _keep_higher(present, wanted, (), "", lowered)
    return lowered


def keep_versions(present: Any, wanted: Any) -> Any:
    """Return the wanted template with the present Kubernetes versions where those are higher."""
    return _keep_higher(present, wanted, (), "", [])


def _keep_higher(present: Any, wanted: Any, path: Path, version: str, lowered: list[str]) -> Any:
    """Keep higher versions and record their fields; pools without a version inherit it."""
    if isinstance(wanted, Mapping):
        before = present if isinstance(present, Mapping) else {}
        inherited = _version_of(before) or version
        return {
            key: _keep_higher(before.get(key), value, (*path, key), inherited, lowered)
            for key, value in wanted.items()
        }
    if _identity(present, wanted) == "name":
        entries = {entry["name"]: entry for entry in present}
        held = []
        for entry in wanted:
            name = entry["name"]
            inherited = version if name in entries else ""
            held.append(
                _keep_higher(entries.get(name), entry, _within(path, name), inherited, lowered)
            )
        return held
    least = present if isinstance(present, str) else version
    if path[-2:] == _KUBERNETES and isinstance(wanted, str) and _is_above(least, wanted):
        lowered.append(".".join(path))
        return least
    return wanted


def _version_of(spec: Mapping[str, Any]) -> str:
    kubernetes = spec.get("kubernetes")
    version = kubernetes.get("version") if isinstance(kubernetes, Mapping) else None
    return version if isinstance(version, str) else ""


def _merge_tree(
    live: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    result = dict(live)
    for key in old.keys() - new.keys():
        remaining = _additional(live.get(key), old[key])
        if remaining:
            result[key] = remaining
        else:
            result.pop(key, None)
    for key, value in new.items():
        before = old.get(key, _GONE)
        if _same(before, value) or (key == "version" and _is_raised(live, old, new, path)):
            continue
        result[key] = merge(live[key], before, value, (*path, key)) if key in live else value
    return result


def _merge_list(
    live: Sequence[Any], old: Sequence[Any], new: Sequence[Any], path: Path, identity: str
) -> list[Any]:
    before = {entry[identity]: entry for entry in old}
    after = {entry[identity]: entry for entry in new}
    result = []
    for entry in live:
        name = entry[identity]
        if name in after:
            result.append(merge(entry, before.get(name, _GONE), after[name], path))
        elif name not in before:
            result.append(entry)
    present = {entry[identity] for entry in live}
    # An entry that both templates have and somebody removed stays removed.
    changed = (name for name in after if not _same(before.get(name, _GONE), after[name]))
    return result + [after[name] for name in changed if name not in present]


def _additional(live: Any, old: Any) -> list[Any]:
    """Return the entries of a list that the old template does not have."""
    identity = _identity(live, old)
    if not identity:
        return []
    own = {entry[identity] for entry in old}
    return [entry for entry in live if entry[identity] not in own]


def _is_raised(
    live: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], path: Path
) -> bool:
    """Return whether a version is higher than in the new template and in the old one.

    A version equal to that of the old template was not raised and may be lowered. Versions of
    different images cannot be compared.

    So an update to a bad image can be undone. A lowered Kubernetes version is written, too:
    Gardener rejects it, and the rollout reports that instead of skipping it silently.
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
    """Return the field that identifies the entries of all these lists; empty if there is none."""
    return next(
        (field for field in _IDENTITIES if all(_is_identified_by(each, field) for each in lists)),
        "",
    )


def _is_identified_by(value: Any, field: str) -> bool:
    if not isinstance(value, list):
        return False
    found = [entry.get(field) if isinstance(entry, Mapping) else None for entry in value]
    return all(isinstance(each, str) for each in found) and len({*found}) == len(found)
