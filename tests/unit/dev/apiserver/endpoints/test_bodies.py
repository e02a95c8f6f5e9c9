"""Request bodies are decoded, and duplicate fields found, as Kubernetes does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.dev.apiserver.endpoints import bodies
from webhook.kube.status import StatusError


@pytest.mark.parametrize(
    ("body", "duplicates"),
    [
        pytest.param(b'{"a":1,"b":{"a":2}}', (), id="none"),
        pytest.param(b'{"a":1,"a":2}', ("a",), id="at the top"),
        pytest.param(b'{"a":{"b":1,"b":2},"c":[{"d":1,"d":2}]}', ("a.b", "c[0].d"), id="deep"),
        pytest.param(b'{"a":1,"a":2,"a":3}', ("a",), id="three times is one error"),
        pytest.param(b'{"a": ":", "b" :"a:b"}', (), id="colons and spaces in values"),
        pytest.param(b'{"a":1,"a":"\\u003a"}', ("a",), id="escaped characters"),
        pytest.param(b"[1,2]", (), id="a body without fields"),
    ],
)
def test_duplicate_fields_are_found(body, duplicates):
    assert bodies.decode(body).duplicates == duplicates


_TEXTS = st.text(alphabet='a:"\\ é', max_size=3)
_PAIRS = st.recursive(
    _TEXTS | st.integers(0, 9) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(_TEXTS, inner), max_size=3).map(tuple)
    ),
    max_leaves=12,
)


def _encode(value):
    """Write tuples of pairs as objects, repetitions included."""
    if isinstance(value, tuple):
        inside = ", ".join(f"{_encode(key)} : {_encode(found)}" for key, found in value)
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_encode, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _has_duplicates(value):
    if isinstance(value, tuple):
        keys = [key for key, _ in value]
        return len(keys) != len(set(keys)) or any(_has_duplicates(found) for _, found in value)
    return isinstance(value, list) and any(map(_has_duplicates, value))


@given(_PAIRS)
def test_exactly_the_duplicate_fields_are_found(value):
    assert bool(bodies.decode(_encode(value).encode()).duplicates) == _has_duplicates(value)


def test_the_last_duplicate_counts():
    assert bodies.decode(b'{"a":1,"a":2}').value == {"a": 2}


def test_duplicates_are_not_searched_for_unless_strict():
    assert bodies.decode(b'{"a":1,"a":2}', strict=False).duplicates == ()


def test_malformed_json_has_the_message_of_go():
    with pytest.raises(bodies.MalformedError, match="looking for beginning of object key string"):
        bodies.decode(b"{a}")


def test_yaml_is_decoded_as_its_json():
    text = b"a: 2026-01-02\nb: 010\n1: yes\nc: {d: [1, 2]}\na: 3\n"
    decoded = bodies.decode(text, bodies.YAML)
    assert decoded.value == {"a": 3, "b": 8, "1": True, "c": {"d": [1, 2]}}
    assert decoded.duplicates == ('line 5: key "a" already set in map',)


def test_malformed_yaml_names_the_line():
    with pytest.raises(bodies.MalformedError, match="yaml: line 1"):
        bodies.decode(b"a: [\n", bodies.YAML)


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        pytest.param("", "application/json", id="JSON by default"),
        pytest.param("application/json; charset=utf-8", "application/json", id="parameters"),
        pytest.param("Application/YAML", "application/yaml", id="any case"),
    ],
)
def test_media_types(content_type, kind):
    assert bodies.check_media_type(content_type, is_custom=True) == kind


def test_other_media_types_are_rejected():
    with pytest.raises(StatusError) as caught:
        bodies.check_media_type("text/plain", is_custom=True)
    assert caught.value.code == 415


def test_yaml_with_many_fields_is_not_nested_deeply():
    text = b"".join(b"f%d: {a: [1]}\n" % number for number in range(11_000))
    assert len(bodies.decode(text, bodies.YAML).value) == 11_000


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(b"- " * 10_001, "yaml: exceeded max depth of 10000", id="items"),
        pytest.param(b"a:\n " + b"- " * 10_000, "yaml: line 2: exceeded", id="further down"),
    ],
)
def test_yaml_that_is_nested_too_deeply_is_malformed(text, problem):
    with pytest.raises(bodies.MalformedError, match=problem):
        bodies.decode(text, bodies.YAML)
