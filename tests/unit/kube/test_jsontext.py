"""JSON of any depth: both codecs agree, and raise the same error."""

import sys
from typing import Any

import orjson
import pytest

from webhook.kube import jsontext

DEEP = 300
"""Deeper than orjson encodes, and below the recursion limit."""


def _nested(depth: int) -> Any:
    value: Any = {"é": 1.5, "a": [None, True, "<"]}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("depth", [1, DEEP])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_an_encoded_value_decodes_to_the_same_value(depth: int, is_sorted: bool) -> None:
    value = _nested(depth)
    data = jsontext.dumps(value, is_sorted=is_sorted)
    assert jsontext.loads(data) == value
    assert (data.index(b'"a":[') < data.index("é".encode())) == is_sorted


def test_both_codecs_write_the_same_bytes() -> None:
    inner = jsontext.dumps(_nested(0))
    assert jsontext.dumps(_nested(DEEP)) == b'{"a":' * DEEP + inner + b"}" * DEEP


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"{", id="shallow"),
        pytest.param(b'{"a":' * 1_100 + b"!", id="deep"),
    ],
)
def test_malformed_json_raises_the_same_error_at_any_depth(text: bytes) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        with pytest.raises(orjson.JSONDecodeError):
            jsontext.loads(text)
    finally:
        sys.setrecursionlimit(limit)
