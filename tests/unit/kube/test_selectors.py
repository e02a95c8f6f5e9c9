import msgspec
import pytest

from webhook.kube import selectors
from webhook.kube.meta import Selector
from webhook.kube.requirements import SelectorError

KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', "
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        pytest.param("", {}, True, id="an empty selector selects everything"),
        pytest.param("a=b", {"a": "b"}, True, id="equal"),
        pytest.param("a=b", {"a": "c"}, False, id="not equal"),
        pytest.param("a==b", {"a": "b"}, True, id="double equals is equals"),
        pytest.param("a=", {"a": ""}, True, id="an empty value"),
        pytest.param("a=", {}, False, id="absent is not empty"),
        pytest.param("a!=b", {}, True, id="inequality holds where the label is absent"),
        pytest.param("a!=b", {"a": "b"}, False, id="inequality"),
        pytest.param("a in (b,c)", {"a": "c"}, True, id="in"),
        pytest.param("a in (b, c)", {"a": "d"}, False, id="not in the set"),
        pytest.param("a notin (b,c)", {}, True, id="notin holds where the label is absent"),
        pytest.param("a notin (b,c)", {"a": "b"}, False, id="notin"),
        pytest.param("a in ()", {"a": ""}, True, id="an empty set is the empty value"),
        pytest.param("a in (,b)", {"a": ""}, True, id="a leading comma adds the empty value"),
        pytest.param("a", {"a": ""}, True, id="exists"),
        pytest.param("!a", {"a": ""}, False, id="does not exist"),
        pytest.param("!a", {}, True, id="absent"),
        pytest.param("a>3", {"a": "4"}, True, id="greater"),
        pytest.param("a>3", {"a": "3"}, False, id="greater is strict"),
        pytest.param("a<3", {"a": "2"}, True, id="less"),
        pytest.param("a<3", {"a": "x"}, False, id="text is not less"),
        pytest.param("in in (in,notin)", {"in": "notin"}, True, id="operators may be names"),
        pytest.param("x.io/a=b,c", {"x.io/a": "b", "c": "1"}, True, id="all conditions hold"),
        pytest.param("x.io/a=b,c", {"x.io/a": "b"}, False, id="one condition fails"),
    ],
)
def test_label_selector_matches(selector, labels, selected):
    assert selectors.parse_labels(selector).matches(labels) is selected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param(
            "a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            id="two words",
        ),
        pytest.param("a=b=c", "found '=', expected: ',' or 'end of string'", id="two equal signs"),
        pytest.param("a,", "found '', expected: identifier after ','", id="a trailing comma"),
        pytest.param(
            "a in b", "unable to parse requirement: found 'b' expected: '('", id="no parenthesis"
        ),
        pytest.param(
            "a in (b",
            "unable to parse requirement: found '', expected: ',' or ')'",
            id="an open parenthesis",
        ),
        pytest.param("=b", "found '=', expected: !, identifier, or 'end of string'", id="no key"),
        pytest.param(
            "-a=b",
            f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY_RULE}',
            id="a malformed key",
        ),
        pytest.param(
            "a=-b",
            f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE_RULE}',
            id="a malformed value",
        ),
        pytest.param(
            "a>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="greater than text",
        ),
    ],
)
def test_bad_label_selectors_are_refused_with_the_messages_of_kubernetes(selector, message):
    with pytest.raises(SelectorError) as caught:
        selectors.parse_labels(selector)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        pytest.param(None, {}, False, id="absent selects nothing"),
        pytest.param({}, {}, True, id="empty selects everything"),
        pytest.param({"matchLabels": {"a": "b"}}, {"a": "b"}, True, id="match labels"),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "b"]}]},
            {"a": "b"},
            True,
            id="match expressions",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
            {"a": "b"},
            False,
            id="must not exist",
        ),
    ],
)
def test_object_form(selector, labels, selected):
    assert selectors.from_object(selector).matches(labels) is selected


def test_object_form_refuses_an_unknown_operator():
    with pytest.raises(SelectorError, match='"Like" is not a valid label selector operator'):
        selectors.from_object({"matchExpressions": [{"key": "a", "operator": "Like"}]})


@pytest.mark.parametrize(
    ("selector", "fields", "selected"),
    [
        pytest.param("", {}, True, id="empty"),
        pytest.param("metadata.name=a", {"metadata.name": "a"}, True, id="equal"),
        pytest.param("metadata.name==a", {"metadata.name": "b"}, False, id="not equal"),
        pytest.param("spec.x!=a", {}, True, id="inequality of an absent field"),
        pytest.param("spec.x=", {}, True, id="an absent field is empty"),
        pytest.param(r"x=a\,b\=c", {"x": "a,b=c"}, True, id="escapes"),
        pytest.param("x=1,y=2", {"x": "1", "y": "3"}, False, id="all terms hold"),
    ],
)
def test_field_selector_matches(selector, fields, selected):
    assert selectors.parse_fields(selector).matches(fields) is selected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param("x", "invalid selector: 'x'; can't understand 'x'", id="no operator"),
        pytest.param(
            r"x=\a", r"invalid field selector: invalid escape sequence: \a", id="bad escape"
        ),
        pytest.param(
            "x=a=b",
            "invalid field selector: unescaped character in value: 61",
            id="unescaped equals",
        ),
    ],
)
def test_bad_field_selectors_are_refused_with_the_messages_of_kubernetes(selector, message):
    with pytest.raises(SelectorError) as caught:
        selectors.parse_fields(selector)
    assert str(caught.value) == message


def test_field_selector_returns_the_exact_value_of_a_field():
    selector = selectors.parse_fields("metadata.name=a,spec.x!=b")
    assert selector.exact("metadata.name") == "a"
    assert selector.exact("spec.x") is None


def test_a_decoded_selector_matches_like_its_object_form():
    raw = {
        "matchLabels": {"a": "1"},
        "matchExpressions": [{"key": "b", "operator": "In", "values": ["x", "y"]}],
    }
    assert selectors.from_struct(msgspec.convert(raw, Selector)) == selectors.from_object(raw)
    assert selectors.from_struct(None) == selectors.NOTHING
    assert selectors.from_struct(Selector()) == selectors.EVERYTHING
