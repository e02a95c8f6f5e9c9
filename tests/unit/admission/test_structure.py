"""The quick looks at the shape of JSON say no only where a slow look would."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission import structure
from webhook.admission.structure import MAX_DEPTH

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
        pytest.param('[{"a":1},', ",[]]", id="lists with brothers"),
    ],
)
def test_depth_is_told_to_the_level(depth: int, is_deep: bool, opening: str, closing: str) -> None:
    data = nested(depth - closing.count("[]"), opening, closing)
    assert structure.is_deep(data) == is_deep


def test_many_brackets_that_are_not_deep_are_no_fault() -> None:
    assert not structure.is_deep(json.dumps([{"a": [1]}] * 1000).encode())
    assert not structure.is_deep(json.dumps({"text": "{[" * 1000}).encode())


def values() -> st.SearchStrategy[Any]:
    leaves = (
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text("ab{}[]0", max_size=9)
    )
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


@given(values())
def test_every_number_beyond_64_bits_is_suspect(value: Any) -> None:
    data = json.dumps(value).encode()
    if any(finding.message.startswith("integers") for finding in structure.faults(data)):
        assert structure.is_suspect(data)


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_long_numbers_are_found_wherever_they_stand(text: str) -> None:
    data = text.encode()
    assert structure.has_long_number(data) == bool(re.search(rb"[0-9]{19}", data))
