"""Apply the JSON patches of webhooks, with the errors of Kubernetes."""

from typing import Any

import orjson

from webhook.dev.apiserver.builtin.typeerrors import json_type_name
from webhook.dev.apiserver.endpoints import gojson
from webhook.dev.apiserver.webhooks.reviews import InvalidReviewError
from webhook.kube import gotext, jsontext, patches
from webhook.kube.meta import Draft


class PatchNotApplicableError(ValueError):
    """A patch that cannot be applied to the object, which is a bug of the webhook."""


def decode(data: bytes) -> list[Draft]:
    """Decode a patch."""
    try:
        found = jsontext.loads(data)
    except orjson.JSONDecodeError as error:
        problem = gojson.syntax_error(data)
        raise InvalidReviewError(
            f"received undecodable patch in webhook response: {problem}"
        ) from error
    if not isinstance(found, list):
        raise InvalidReviewError(
            "received undecodable patch in webhook response: json: cannot unmarshal "
            f"{json_type_name(found)} into Go value of type jsonpatch.Patch"
        )
    return found


def apply(obj: Draft, operations: list[Draft]) -> Draft:
    """Apply the operations one by one, so that the error names the one that fails."""
    result: Any = obj
    for operation in operations:
        try:
            result = patches.apply(result, [operation])
        except patches.PatchError as error:
            raise PatchNotApplicableError(_error_message(operation)) from error
    if not isinstance(result, dict):
        raise PatchNotApplicableError("json: cannot unmarshal into an object")
    return result


def _error_message(operation: Draft) -> str:
    name, path = operation.get("op", ""), operation.get("path")
    if path is None:
        return f"{name} operation failed to decode path: missing value"
    if name == "test":
        return f"testing value {path} failed: test failed"
    if name == "replace":
        return f"replace operation does not apply: doc is missing key: {path}: missing value"
    if name in ("add", "remove"):
        quoted = gotext.quote(path)
        return f"{name} operation does not apply: doc is missing path: {quoted}: missing value"
    if name in ("move", "copy"):
        source = operation.get("from", "")
        return f"{name} operation does not apply: doc is missing from path: {source}: missing value"
    return f"Unexpected kind: {name}"
