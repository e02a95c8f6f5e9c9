"""Apply the JSON patches of webhooks, and say in Kubernetes' words why one does not fit."""

from typing import Any

import orjson

from webhook.api import gotext, jsontext, patches
from webhook.apiserver import gojson
from webhook.apiserver.webhooks.reviews import BadAnswerError

Object = dict[str, Any]


class UnfitPatchError(ValueError):
    """A patch that cannot be applied to the object: the webhook does not know what it does."""


def decode(data: bytes) -> list[Object]:
    """Read a patch."""
    try:
        found = jsontext.loads(data)
    except orjson.JSONDecodeError as error:
        problem = gojson.syntax_error(data)
        raise BadAnswerError(
            f"received undecodable patch in webhook response: {problem}"
        ) from error
    if not isinstance(found, list):
        names = {str: "string", dict: "object", bool: "bool"}
        name = names.get(type(found), "number")
        raise BadAnswerError(
            "received undecodable patch in webhook response: json: cannot unmarshal "
            f"{name} into Go value of type jsonpatch.Patch"
        )
    return found


def applied(obj: Object, operations: list[Object]) -> Object:
    """Apply the operations one by one, so that the one that fails can be named."""
    result: Any = obj
    for operation in operations:
        try:
            result = patches.apply(result, [operation])
        except patches.PatchError as error:
            raise UnfitPatchError(_told(operation)) from error
    if not isinstance(result, dict):
        raise UnfitPatchError("json: cannot unmarshal into an object")
    return result


def _told(operation: Object) -> str:
    name, path = operation.get("op", ""), operation.get("path")
    if path is None:
        return f"{name} operation failed to decode path: missing value"
    if name == "test":
        return f"testing value {path} failed: test failed"
    if name == "replace":
        return f"replace operation does not apply: doc is missing key: {path}: missing value"
    if name in ("add", "remove"):
        shown = gotext.quote(path)
        return f"{name} operation does not apply: doc is missing path: {shown}: missing value"
    if name in ("move", "copy"):
        source = operation.get("from", "")
        return f"{name} operation does not apply: doc is missing from path: {source}: missing value"
    return f"Unexpected kind: {name}"
