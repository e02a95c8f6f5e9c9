"""Decodes request bodies (JSON, YAML, protobuf) and finds duplicate fields."""

import json
from typing import Any, Final, NamedTuple

import orjson
import yaml
from typing_extensions import override

from webhook.dev.apiserver.endpoints import gojson
from webhook.dev.apiserver.protobuf import decoder
from webhook.kube import gotext, jsontext, status

BODY_LIMIT: Final = 3 * 1024 * 1024
"""The limit of kube-apiserver: three times that of etcd."""
JSON: Final = "application/json"
YAML: Final = "application/yaml"
_NESTING: Final = (b"[", b"{", b"-", b":", b"?")
"""Characters without which YAML cannot be nested."""
ACCEPTED: Final = (JSON, YAML, decoder.MEDIA_TYPE)


class Decoded(NamedTuple):
    """A decoded body, and the paths of its duplicate fields."""

    value: Any
    duplicates: tuple[str, ...] = ()


class MalformedError(ValueError):
    """A body that cannot be decoded; the message is that of Kubernetes' decoder."""


def media_type(content_type: str) -> str:
    """Return a content type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def check_media_type(content_type: str, *, is_custom: bool) -> str:
    """Return the media type of a body; raise a 415 for unsupported ones."""
    kind = media_type(content_type) or JSON
    if kind not in (JSON, YAML) and (is_custom or kind != decoder.MEDIA_TYPE):
        raise status.unsupported_media_type(ACCEPTED)
    return kind


def decode(body: bytes, kind: str = JSON, *, strict: bool = True) -> Decoded:
    """Decode a body; duplicate fields are searched for only if `strict`."""
    if kind == YAML:
        return decode_yaml(body)
    if kind == decoder.MEDIA_TYPE:
        return _decode_protobuf(body)
    value = _decode_json(body)
    return Decoded(
        value, tuple(_duplicates(body)) if strict and _may_have_duplicates(body, value) else ()
    )


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
        return Decoded(decoder.decode(body))
    except decoder.ProtobufError as error:
        raise MalformedError(str(error)) from error


def decode_yaml(body: bytes) -> Decoded:
    """Decode YAML, which includes JSON."""
    loader = _Loader(body)
    try:
        _check_depth(body)
        value = loader.get_single_data()
    except yaml.YAMLError as error:
        raise MalformedError(f"yaml: {_go_message(error)}") from error
    finally:
        loader.dispose()
    return Decoded(value, tuple(loader.duplicates))


def _check_depth(body: bytes) -> None:
    """Reject a body nested beyond Go's limit, which would exhaust the stack when composed."""
    if sum(map(body.count, _NESTING)) <= jsontext.MAX_DEPTH:
        return
    styles: list[bool] = []
    depths = {True: 0, False: 0}
    beyond = ""
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            styles.append(bool(event.flow_style))
            depths[styles[-1]] += 1
            # Go counts brackets and indentation separately until YAML has become JSON.
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


def _go_message(error: yaml.YAMLError) -> str:
    """Return the message of Go's YAML, whose scanner and parser count lines differently."""
    problem = getattr(error, "problem", None) or str(error)
    for name in ("context_mark", "problem_mark"):
        mark = getattr(error, name, None)
        if mark is not None and mark.line:
            line = mark.line + isinstance(error, yaml.scanner.ScannerError)
            return f"line {line}: {problem}"
    return problem


class _Loader(yaml.CSafeLoader):
    """Loads YAML without dates, which JSON does not have, and records duplicate keys."""

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


def _may_have_duplicates(body: bytes, value: Any) -> bool:
    """Return whether the body may have duplicate keys: it then has more colons than its value.

    An escape could hide a colon, so bodies with escapes may always have duplicates.
    """
    return b"\\u" in body or body.count(b":") != jsontext.dumps(value).count(b":")


def _duplicates(body: bytes) -> list[str]:
    """Return the paths of duplicate keys."""
    paths: list[str] = []
    _find_duplicates(json.loads(body, object_pairs_hook=_Pairs), "", paths)
    return paths


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, including duplicates."""


def _find_duplicates(value: Any, path: str, paths: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, child in value:
            child_path = f"{path}.{key}" if path else key
            if key in seen and child_path not in paths:
                paths.append(child_path)
            seen.add(key)
            _find_duplicates(child, child_path, paths)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            _find_duplicates(child, f"{path}[{index}]", paths)
