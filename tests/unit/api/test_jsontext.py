"""JSON of any depth: both codecs say the same, and errors are of one kind."""

import sys
from typing import Any

import orjson
import pytest

from webhook.api import jsontext

DEEP = 300
"""Deeper than the first codec writes, and within everybody's recursion limit."""


def _nested(depth: int) -> Any:
    value: Any = {"é": 1.5, "a": [None, True, "<"]}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("depth", [1, DEEP])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_what_is_written_is_read_again(depth: int, is_sorted: bool) -> None:
    value = _nested(depth)
    data = jsontext.dumps(value, is_sorted=is_sorted)
    assert jsontext.loads(data) == value
    assert (data.index(b'"a":[') < data.index("é".encode())) == is_sorted


def test_depth_alone_changes_no_byte() -> None:
    inner = jsontext.dumps(_nested(0))
    assert jsontext.dumps(_nested(DEEP)) == b'{"a":' * DEEP + inner + b"}" * DEEP


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"{", id="shallow"),
        pytest.param(b'{"a":' * 1_100 + b"!", id="deep"),
    ],
)
def test_malformed_json_is_one_kind_of_error(text: bytes) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        with pytest.raises(orjson.JSONDecodeError):
            jsontext.loads(text)
    finally:
        sys.setrecursionlimit(limit)
