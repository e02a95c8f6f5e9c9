"""Request bodies as objects: JSON or YAML, with what strict reading would object to."""

import json
from typing import Any, Final, NamedTuple

import orjson
import yaml
from typing_extensions import override

from webhook.api import gotext, jsontext, status
from webhook.apiserver import gojson
from webhook.apiserver.protobuf import decoding as protobuf

#: As kube-apiserver: three times etcd's limit.
BODY_LIMIT: Final = 3 * 1024 * 1024
JSON: Final = "application/json"
YAML: Final = "application/yaml"
#: Without one of these nothing in YAML is nested in anything.
_NESTING: Final = (b"[", b"{", b"-", b":", b"?")
ACCEPTED: Final = (JSON, YAML, protobuf.MEDIA_TYPE)


class Decoded(NamedTuple):
    """A body, and the fields that it gives twice."""

    value: Any
    duplicates: tuple[str, ...] = ()


class MalformedError(ValueError):
    """A body that is neither JSON nor YAML, in the words of the decoder."""


def media_type(content_type: str) -> str:
    """Strip the parameters of a content type."""
    return content_type.partition(";")[0].strip().lower()


def check_media_type(content_type: str, *, is_custom: bool) -> str:
    """Return a type that we read, or refuse any other type of body."""
    kind = media_type(content_type) or JSON
    if kind not in (JSON, YAML) and (is_custom or kind != protobuf.MEDIA_TYPE):
        raise status.unsupported_media_type(ACCEPTED)
    return kind


def decode(body: bytes, kind: str = JSON, *, strict: bool = True) -> Decoded:
    """Read a body; duplicates are looked for only if someone wants to know."""
    if kind == YAML:
        return decode_yaml(body)
    if kind == protobuf.MEDIA_TYPE:
        return _decode_protobuf(body)
    value = _decode_json(body)
    return Decoded(value, tuple(_duplicates(body)) if strict and _may_repeat(body, value) else ())


def _decode_json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if problem := gojson.syntax_error(body):
            raise MalformedError(problem) from error
    try:
        return jsontext.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedError(str(error)) from error


def _decode_protobuf(body: bytes) -> Decoded:
    try:
        return Decoded(protobuf.decode(body))
    except protobuf.ProtobufError as error:
        raise MalformedError(str(error)) from error


def decode_yaml(body: bytes) -> Decoded:
    """Read YAML, of which JSON is a part."""
    loader = _Loader(body)
    try:
        _check_depth(body)
        value = loader.get_single_data()
    except yaml.YAMLError as error:
        raise MalformedError(f"yaml: {_told(error)}") from error
    finally:
        loader.dispose()
    return Decoded(value, tuple(loader.duplicates))


def _check_depth(body: bytes) -> None:
    """Refuse what is nested beyond Go's limit: to compose it would take the whole stack."""
    if sum(map(body.count, _NESTING)) <= jsontext.MAX_DEPTH:
        return
    styles: list[bool] = []
    depths = {True: 0, False: 0}
    beyond = ""
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            styles.append(bool(event.flow_style))
            depths[styles[-1]] += 1
            # Go counts brackets and indentation apart, until all of it is JSON.
            if depths[styles[-1]] > jsontext.MAX_DEPTH:
                line = event.start_mark.line if event.start_mark else 0
                where = f"line {line + 1}: " if line else ""
                raise MalformedError(f"yaml: {where}exceeded max depth of {jsontext.MAX_DEPTH}")
            if len(styles) > jsontext.MAX_DEPTH:
                beyond = beyond or ("{" if isinstance(event, yaml.MappingStartEvent) else "[")
        elif isinstance(event, yaml.CollectionEndEvent):
            depths[styles.pop()] -= 1
    if beyond:
        raise MalformedError(f"invalid character '{beyond}' exceeded max depth")


def _told(error: yaml.YAMLError) -> str:
    """Say it as Go's YAML does, whose scanner and parser count lines differently."""
    problem = getattr(error, "problem", None) or str(error)
    for name in ("context_mark", "problem_mark"):
        mark = getattr(error, name, None)
        if mark is not None and mark.line:
            line = mark.line + isinstance(error, yaml.scanner.ScannerError)
            return f"line {line}: {problem}"
    return problem


class _Loader(yaml.CSafeLoader):
    """YAML without dates, which JSON does not know, and with an eye on repeated keys."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.duplicates: list[str] = []

    @override
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                self.duplicates.append(
                    f"line {line}: key {gotext.quote(key.value)} already set in map"
                )
            seen.add(key.value)
        mapping = super().construct_mapping(node, deep=deep)
        return {_text(key): value for key, value in mapping.items()}


def _text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _may_repeat(body: bytes, value: Any) -> bool:
    """Tell whether a key may be given twice: then a colon was written that was not kept.

    Only an escape could hide another one, so whatever has escapes is looked at closely.
    """
    return b"\\u" in body or body.count(b":") != jsontext.dumps(value).count(b":")


def _duplicates(body: bytes) -> list[str]:
    """Return the paths of repeated keys."""
    paths: list[str] = []
    _find_duplicates(json.loads(body, object_pairs_hook=_Pairs), "", paths)
    return paths


class _Pairs(list[tuple[str, Any]]):
    """An object with its keys as often as they were written."""


def _find_duplicates(value: Any, path: str, paths: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, child in value:
            where = f"{path}.{key}" if path else key
            if key in seen and where not in paths:
                paths.append(where)
            seen.add(key)
            _find_duplicates(child, where, paths)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            _find_duplicates(child, f"{path}[{index}]", paths)
