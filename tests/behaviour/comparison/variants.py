"""Requests that differ in one field from an object that Gardener has accepted."""

import copy
import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tests.behaviour.comparison.base_objects import Base
from tests.behaviour.comparison.edge_cases import EDGE_CASES
from tests.behaviour.comparison.field_values import EDITS, REMOVED
from tests.behaviour.comparison.seed_changes import MOVES
from tests.behaviour.comparison.verdicts import Case
from webhook.kube.meta import Draft

Path: TypeAlias = tuple[str | int, ...]

SAMPLED: Final = None if os.environ.get("ESPALIER_SOAK") else 12
"""How many of the changes to every field of an object are compared; None is all."""
BY_CHANCE: Final = 5
"""How many fields of each object are changed to a random value."""

WRITTEN: Final = {**EDITS, **MOVES, **EDGE_CASES}
_CIDR: Final = re.compile(r"\d+\.\d+\.\d+\.\d+/\d+")
_AMOUNT: Final = re.compile(r"\d+(?:[KMGT]i?|m)?")
_RANGES: Final = ("10.10.0.0/33", "10.0.0.0/8", "240.1.0.0/16", "fd00:1::/64", "192.168.7.0/24")
_AMOUNTS: Final = ("-1", "many", "1Ti")
_TEXTS: Final = ("", "no Such_Thing", "other")
_IDENTITY: Final = ("metadata.name", "metadata.namespace")
_NUMBERS: Final = (-1, 0, 1, 2, 7, 2**31 - 1)


def cases(bases: Iterable[Base], chance: random.Random) -> Iterator[Case]:
    """Return every request to compare, each once."""
    for base in bases:
        if base.is_deletion:
            what = "deleted with all others" if base.is_collection else "deleted"
            yield Case(
                *(base.name, "", what, base.new, base.old),
                is_deletion=True,
                is_collection=base.is_collection,
            )
            continue
        seen = [base.new]
        for case in (*_written_down(base), *_systematic(base, chance), *_by_chance(base, chance)):
            if case.new not in seen:
                seen.append(case.new)
                yield case


def _written_down(base: Base) -> Iterator[Case]:
    """Change the field of a rule to a value on each side of its boundary."""
    for path, values in WRITTEN.get(base.name, {}).items():
        if base.old is not None and path in _IDENTITY:
            continue
        for value in values:
            yield _case(base, _parse(path), _shown(value), value)


def _systematic(base: Base, chance: random.Random) -> Iterator[Case]:
    """Change every field of an object: removed, of a wrong type, at a boundary, duplicated."""
    if base.is_whole:
        found = [(path, *each) for path, value in fields(base.new) for each in _changes(value)]
        for path, name, changed in found if SAMPLED is None else chance.sample(found, SAMPLED):
            yield _case(base, path, name, changed)


def _by_chance(base: Base, chance: random.Random) -> Iterator[Case]:
    """Change fields to the value of another field of the same type, or to an odd one."""
    found = [*fields(base.new)] if base.is_whole else []
    for path, value in chance.sample(found, min(len(found), BY_CHANCE)):
        others = [other for _, other in found if type(other) is type(value) and other != value]
        odd: Sequence[Any] = _NUMBERS if type(value) is int else _TEXTS
        changed = chance.choice(others) if others and chance.random() < 0.7 else chance.choice(odd)
        yield _case(base, path, _shown(changed), changed)


def fields(body: Draft) -> Iterator[tuple[Path, Any]]:
    """Yield every path of an object that its user writes, containers included."""
    metadata = body["metadata"]
    for key in ("labels", "annotations"):
        if key in metadata:
            yield from _below(("metadata", key), metadata[key])
    yield from _below(("spec",), body["spec"])


def _below(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if len(path) > 1:
        yield path, value
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _below((*path, key), each)
    elif isinstance(value, list):
        for index, each in enumerate(value[:2]):
            yield from _below((*path, index), each)


def _changes(value: Any) -> Iterator[tuple[str, Any]]:
    yield "removed", REMOVED
    if isinstance(value, bool):
        yield _shown(not value), not value
    elif isinstance(value, int):
        yield from ((_shown(number), number) for number in _NUMBERS if number != value)
    elif isinstance(value, str):
        yield from ((_shown(text), text) for text in _texts(value))
    elif isinstance(value, list):
        yield "emptied", []
        if value:
            yield "first twice", [value[0], *value]
        if len(value) > 1:
            yield "first only", value[:1]
            yield "turned round", value[::-1]


def _texts(value: str) -> Iterator[str]:
    some = _RANGES if _CIDR.fullmatch(value) else _AMOUNTS if _AMOUNT.fullmatch(value) else ()
    yield from (text for text in (*some, *_TEXTS) if text != value)


def _case(base: Base, path: Path, name: str, value: Any) -> Case:
    new = copy.deepcopy(base.new)
    holder: Any = new
    for step in path[:-1]:
        if isinstance(holder, dict) and step not in holder:
            holder[step] = {}
        holder = holder[step]
    last = path[-1]
    if value is not REMOVED:
        holder[last] = copy.deepcopy(value)
    elif isinstance(last, int) or last in holder:
        del holder[last]
    return Case(base.name, written(path), name, new, base.old, base.subresource)


def written(path: Path) -> str:
    """Return a path as API servers write it."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def _parse(path: str) -> Path:
    steps = re.findall(r"\[(\d+)\]|\[([^\]]+)\]|([^.\[\]]+)", path)
    return tuple(int(index) if index else key or name for index, key, name in steps)


def _shown(value: Any) -> str:
    return "removed" if value is REMOVED else f"= {value!r}"[:80]
