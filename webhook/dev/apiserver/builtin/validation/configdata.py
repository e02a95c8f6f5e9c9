"""Validation of ConfigMaps and Secrets."""

import base64
import json
from typing import Final

from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.dev.apiserver.endpoints import gojson
from webhook.kube import fielderrors, identifiers
from webhook.kube.meta import Raw

MAX_BYTES: Final = 1024 * 1024
_IMMUTABLE: Final = "field is immutable when `immutable` is set"
_REDACTED: Final = "<secret contents redacted>"
_JSON_KEYS: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"


def validate_config_map(obj: Raw) -> Errors:
    """Validate a ConfigMap."""
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in data:
        yield from checks.invalid_each(f"data[{key}]", key, identifiers.config_key_errors(key))
        if key in binary:
            yield fielderrors.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from checks.invalid_each(
            f"binaryData[{key}]", key, identifiers.config_key_errors(key)
        )
    size = sum(len(value.encode()) for value in data.values())
    size += sum(len(base64.b64decode(value)) for value in binary.values())
    if size > MAX_BYTES:
        yield fielderrors.too_long("", MAX_BYTES)


def validate_config_map_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a ConfigMap."""
    yield from _immutable(obj, old, ("data", "binaryData"))


def _immutable(obj: Raw, old: Raw, names: tuple[str, ...]) -> Errors:
    if not old.get("immutable"):
        return
    if not obj.get("immutable"):
        yield fielderrors.forbidden("immutable", _IMMUTABLE)
    for name in names:
        if (obj.get(name) or {}) != (old.get(name) or {}):
            yield fielderrors.forbidden(name, _IMMUTABLE)


def validate_secret(obj: Raw) -> Errors:
    """Validate a Secret, also by its type."""
    data = obj.get("data") or {}
    for key in data:
        yield from checks.invalid_each(f"data[{key}]", key, identifiers.config_key_errors(key))
    if sum(len(base64.b64decode(value)) for value in data.values()) > MAX_BYTES:
        yield fielderrors.too_long("data", MAX_BYTES)
    yield from _typed_secret(obj, data)


def _typed_secret(obj: Raw, data: Raw) -> Errors:
    kind = obj.get("type", "")
    if kind in _JSON_KEYS:
        yield from _json(data, _JSON_KEYS[kind])
    elif kind == "kubernetes.io/tls":
        for key in ("tls.crt", "tls.key"):
            if key not in data:
                yield fielderrors.required(f"data[{key}]")
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            yield fielderrors.required("data[username]")
            yield fielderrors.required("data[password]")
    elif kind == "kubernetes.io/ssh-auth":
        yield from checks.required("data[ssh-privatekey]", data.get("ssh-privatekey"))
    elif kind == "kubernetes.io/service-account-token":
        annotations = obj.get("metadata", {}).get("annotations") or {}
        path = f"metadata.annotations[{_ACCOUNT_NAME}]"
        yield from checks.required(path, annotations.get(_ACCOUNT_NAME))


def _json(data: Raw, key: str) -> Errors:
    if key not in data:
        yield fielderrors.required(f"data[{key}]")
        return
    content = base64.b64decode(data[key])
    try:
        json.loads(content)
    except ValueError:
        problem = gojson.syntax_error(content)
        yield fielderrors.invalid(f"data[{key}]", _REDACTED, problem)


def validate_secret_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a Secret."""
    if obj.get("type") != old.get("type"):
        yield fielderrors.invalid("type", obj.get("type"), checks.IMMUTABLE)
    yield from _immutable(obj, old, ("data",))
