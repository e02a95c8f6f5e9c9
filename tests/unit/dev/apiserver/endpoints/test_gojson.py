"""Syntax errors of JSON have the messages of Go's encoding/json."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.dev.apiserver.endpoints import gojson

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "unexpected end of JSON input", id="nothing"),
        pytest.param('{"a"', "unexpected end of JSON input", id="cut off"),
        pytest.param(
            "{a}", "invalid character 'a' looking for beginning of object key string", id="key"
        ),
        pytest.param('{"a" 1}', "invalid character '1' after object key", id="no colon"),
        pytest.param(
            '{"a":1 "b"}', "invalid character '\"' after object key:value pair", id="no comma"
        ),
        pytest.param("[1 2]", "invalid character '2' after array element", id="array"),
        pytest.param("[1,]", "invalid character ']' looking for beginning of value", id="value"),
        pytest.param("nul", "unexpected end of JSON input", id="literal cut off"),
        pytest.param("nulL", "invalid character 'L' in literal null (expecting 'l')", id="literal"),
        pytest.param("{} x", "invalid character 'x' after top-level value", id="more than one"),
        pytest.param('"a\nb"', r"invalid character '\n' in string literal", id="newline"),
        pytest.param(r'"\x"', "invalid character 'x' in string escape code", id="escape"),
        pytest.param("-x", "invalid character 'x' in numeric literal", id="number"),
        pytest.param(
            "1.x", "invalid character 'x' after decimal point in numeric literal", id="fraction"
        ),
        pytest.param("'a'", r"invalid character '\'' looking for beginning of value", id="quote"),
        pytest.param("{}", "", id="nothing wrong"),
    ],
)
def test_messages_are_those_of_go(text, message):
    assert gojson.syntax_error(text.encode()) == message


@given(VALUES)
def test_valid_documents_have_no_error(value):
    assert gojson.syntax_error(json.dumps(value).encode()) == ""


@given(VALUES, st.data())
def test_every_truncation_is_an_error(value, data):
    text = json.dumps({"a": value}).encode()
    cut = data.draw(st.integers(0, len(text) - 1))
    assert gojson.syntax_error(text[:cut]) == "unexpected end of JSON input"
