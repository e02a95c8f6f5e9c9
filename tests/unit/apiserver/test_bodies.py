import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.api.status import StatusError
from webhook.apiserver import bodies


@pytest.mark.parametrize(
    ("body", "duplicates"),
    [
        pytest.param(b'{"a":1,"b":{"a":2}}', (), id="none"),
        pytest.param(b'{"a":1,"a":2}', ("a",), id="at the top"),
        pytest.param(b'{"a":{"b":1,"b":2},"c":[{"d":1,"d":2}]}', ("a.b", "c[0].d"), id="deep"),
        pytest.param(b'{"a":1,"a":2,"a":3}', ("a",), id="three times is said once"),
        pytest.param(b'{"a": ":", "b" :"a:b"}', (), id="colons and spaces are no repetition"),
        pytest.param(b'{"a":1,"a":"\\u003a"}', ("a",), id="escapes hide nothing"),
        pytest.param(b"[1,2]", (), id="a body without fields"),
    ],
)
def test_repeated_fields_are_found(body, duplicates):
    assert bodies.decode(body).duplicates == duplicates


_TEXTS = st.text(alphabet='a:"\\ é', max_size=3)
_PAIRS = st.recursive(
    _TEXTS | st.integers(0, 9) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(_TEXTS, inner), max_size=3).map(tuple)
    ),
    max_leaves=12,
)


def _written(value):
    """Write tuples of pairs as objects, repetitions included."""
    if isinstance(value, tuple):
        inside = ", ".join(f"{_written(key)} : {_written(found)}" for key, found in value)
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _repeats(value):
    if isinstance(value, tuple):
        keys = [key for key, _ in value]
        return len(keys) != len(set(keys)) or any(_repeats(found) for _, found in value)
    return isinstance(value, list) and any(map(_repeats, value))


@given(_PAIRS)
def test_repetition_is_seen_exactly_where_there_is_some(value):
    assert bool(bodies.decode(_written(value).encode()).duplicates) == _repeats(value)


def test_the_last_of_repeated_fields_counts():
    assert bodies.decode(b'{"a":1,"a":2}').value == {"a": 2}


def test_nobody_looks_for_repetition_when_nobody_asks():
    assert bodies.decode(b'{"a":1,"a":2}', strict=False).duplicates == ()


def test_malformed_json_is_described_as_go_does():
    with pytest.raises(bodies.MalformedError, match="looking for beginning of object key string"):
        bodies.decode(b"{a}")


def test_yaml_is_read_as_the_json_it_stands_for():
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
        pytest.param("", "application/json", id="nothing said is JSON"),
        pytest.param("application/json; charset=utf-8", "application/json", id="parameters"),
        pytest.param("Application/YAML", "application/yaml", id="any case"),
    ],
)
def test_media_types(content_type, kind):
    assert bodies.check_media_type(content_type, is_custom=True) == kind


def test_other_media_types_are_refused():
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
