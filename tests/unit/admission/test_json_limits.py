"""JSON limits: the quick tests agree with a slow one."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission import json_limits
from webhook.admission.json_limits import MAX_DEPTH

PIECES = ("{", "}", "[", "]", '"', ",", ":", "a", "0", "9" * 6)


def nested(depth: int, opening: str, closing: str) -> bytes:
    inner = "1"
    for _ in range(depth):
        inner = f"{opening}{inner}{closing}"
    return inner.encode()


@pytest.mark.parametrize(
    ("depth", "is_deep"),
    [
        pytest.param(MAX_DEPTH, False, id="as deep as may be"),
        pytest.param(MAX_DEPTH + 1, True, id="one level deeper"),
    ],
)
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        pytest.param('{"a":', "}", id="objects"),
        pytest.param("[", "]", id="lists"),
        pytest.param('[{"a":1},', ",[]]", id="lists with siblings"),
    ],
)
def test_depth_is_exact(depth: int, is_deep: bool, opening: str, closing: str) -> None:
    data = nested(depth - closing.count("[]"), opening, closing)
    assert json_limits.is_deep(data) == is_deep


def test_many_brackets_that_are_not_deep_are_allowed() -> None:
    assert not json_limits.is_deep(json.dumps([{"a": [1]}] * 1000).encode())
    assert not json_limits.is_deep(json.dumps({"text": "{[" * 1000}).encode())


def values() -> st.SearchStrategy[Any]:
    leaves = (
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text("ab{}[]0", max_size=9)
    )
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


@given(values())
def test_every_number_beyond_64_bits_is_suspect(value: Any) -> None:
    data = json.dumps(value).encode()
    if any(finding.message.startswith("integers") for finding in json_limits.faults(data)):
        assert json_limits.is_suspect(data)


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_long_numbers_are_found_anywhere(text: str) -> None:
    data = text.encode()
    assert json_limits.has_long_number(data) == bool(re.search(rb"[0-9]{19}", data))
