"""matchConditions, compiled and evaluated as in Kubernetes v1.36."""

from typing import Any

import pytest

from webhook.dev.apiserver.cel import matchconditions
from webhook.dev.apiserver.cel.authorizers import AccessQuery
from webhook.dev.apiserver.cel.compiler import BadExpressionError
from webhook.dev.apiserver.cel.matchconditions import Inputs, MatchResult

OBJECT: dict[str, Any] = {
    "metadata": {"name": "x", "labels": {"a/b": "c"}, "annotations": {}},
    "spec": {
        "n": 1,
        "f": 1.0,
        "half": 1.5,
        "list": [1, 2, {"a": 1}],
        "map": {"a": {"b": [1]}},
        "text": "Hello",
        "nothing": None,
        "on": True,
    },
}
REQUEST = {
    "operation": "UPDATE",
    "dryRun": False,
    "userInfo": {"username": "ann", "groups": ["system:masters"], "extra": {"k": ["v"]}},
    "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
    "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    "subResource": "",
    "name": "x",
    "namespace": "n",
    "options": {"kind": "UpdateOptions"},
}


def _authorize(query: AccessQuery) -> tuple[bool, str]:
    return query.verb == "get" and query.resource in ("pods", "deployments"), "because"


def _evaluate(*expressions: str, old: Any = OBJECT, obj: Any = OBJECT) -> MatchResult:
    about = AccessQuery(group="apps", resource="deployments", namespace="n", name="x")
    inputs = Inputs(obj, old, REQUEST, {"metadata": {"name": "n"}}, _authorize, about)
    found = [{"name": str(index), "expression": text} for index, text in enumerate(expressions)]
    return matchconditions.evaluate(found, inputs)


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.name == 'x'",
        "has(object.metadata.labels)",
        "!has(object.metadata.finalizers)",
        "!has(object.status.phase)",
        "has(object.spec.nothing)",
        "object.spec == oldObject.spec",
        "!(object.spec != oldObject.spec)",
        "object.spec.map == {'a': {'b': [1]}}",
        "object.spec.map != {'a': {'b': [2]}}",
        "object.spec.list == [1, 2, {'a': 1}]",
        "object.spec.list != [1, 2]",
        "object.metadata.labels['a/b'] == 'c'",
        "'a/b' in object.metadata.labels",
        "!('q' in object.metadata.labels)",
        "2 in object.spec.list",
        "!(3 in object.spec.list)",
        "object.metadata.name in ['x', 'y']",
        "object.spec.n == 1.0",
        "object.spec.n == object.spec.f",
        "object.spec.n < object.spec.half",
        "object.spec.half >= 1.5",
        "object.spec.text != 1",
        "object.spec.nothing == null",
        "object != null",
        "object.spec.on == true",
        "!object.spec.on == false",
        "object.spec.on || object.spec.missing",
        "object.spec.missing || object.spec.on",
        "!(object.spec.missing && false)",
        "size(object.spec.list) == 3 && object.spec.text.size() == 5",
        "size(object.metadata.annotations) == 0",
        "object.spec.text.startsWith('He') && object.spec.text.endsWith('lo')",
        "object.spec.text.contains('ell') && object.spec.text.matches('^H.l+o$')",
        "object.spec.text.lowerAscii() == 'hello'",
        "'a.b.c'.split('.')[1] == 'b' && ['a', 'b'].join('-') == 'a-b'",
        "'abc'.substring(1) == 'bc' && 'abc'.replace('b', 'x') == 'axc' && 'abc'.indexOf('c') == 2",
        "object.spec.list.exists(v, v == 2)",
        "object.metadata.labels.all(k, k.startsWith('a'))",
        "object.spec.list.filter(v, v == 1).size() == 1",
        "object.spec.list.map(v, v == 1)[0]  == true",
        "object.spec.list.exists_one(v, v == 2)",
        "has(object.metadata.labels) ? object.metadata.labels['a/b'] == 'c' : false",
        "request.operation == 'UPDATE' && !request.dryRun",
        "request.userInfo.username == 'ann' && 'system:masters' in request.userInfo.groups",
        "request.userInfo.extra['k'][0] == 'v'",
        "request.kind.group == 'apps' && request.resource.resource == 'deployments'",
        "request.subResource == ''",
        "namespaceObject.metadata.name == 'n'",
        "authorizer.group('').resource('pods').namespace('n').check('get').allowed()",
        "!authorizer.group('').resource('pods').check('create').allowed()",
        "authorizer.requestResource.check('get').allowed()",
        "string(object.spec.n) == '1' && int('3') == 3",
        "duration('1h') > duration('1m')",
    ],
)
def test_expressions_that_are_true(expression):
    assert _evaluate(expression) == MatchResult(True)


def test_a_deleted_object_is_null():
    assert _evaluate("object == null", obj=None) == MatchResult(True)
    assert _evaluate("oldObject != null", old=None) == MatchResult(False)


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        pytest.param(("true", "true"), MatchResult(True), id="all are true"),
        pytest.param(("true", "false"), MatchResult(False), id="one is false"),
        pytest.param(
            ("object.spec.missing", "1 == 2"),
            MatchResult(False),
            id="false takes precedence over an error",
        ),
    ],
)
def test_several_conditions(expressions, expected):
    texts = tuple(text if "missing" not in text else f"{text} == 1" for text in expressions)
    assert _evaluate(*texts) == expected


def test_an_expression_that_cannot_be_evaluated_is_an_error():
    result = _evaluate("object.spec.missing == 1")
    assert result == MatchResult(
        True, "expression 'object.spec.missing == 1' resulted in error: no such key: missing"
    )


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("1", "must evaluate to bool but got int", id="a number"),
        pytest.param("'a'", "must evaluate to bool but got string", id="a string"),
        pytest.param(
            "object.spec.on", "must evaluate to bool but got dyn", id="a value of unknown type"
        ),
        pytest.param(
            "foo",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' "
            "(in container '')\n | foo\n | ^",
            id="an unknown name",
        ),
        pytest.param(
            "true\n&& foo",
            "compilation failed: ERROR: <input>:2:4: undeclared reference to 'foo' "
            "(in container '')\n | && foo\n | ...^",
            id="an unknown name in the second line",
        ),
        pytest.param(
            "object.foo(1)",
            "compilation failed: ERROR: <input>:1:11: undeclared reference to 'foo' "
            "(in container '')\n | object.foo(1)\n | ..........^",
            id="an unknown function",
        ),
        pytest.param(
            "request.foo == 1",
            "compilation failed: ERROR: <input>:1:8: undefined field 'foo'\n"
            " | request.foo == 1\n | .......^",
            id="an unknown field of the request",
        ),
        pytest.param(
            "request.operation == 1",
            "compilation failed: ERROR: <input>:1:19: found no matching overload for '_==_' "
            "applied to '(string, int)'\n | request.operation == 1\n | ..................^",
            id="types that cannot be compared",
        ),
        pytest.param(
            "has(object)",
            "compilation failed: ERROR: <input>:1:5: invalid argument to has() macro\n"
            " | has(object)\n | ....^",
            id="has() without a field",
        ),
        pytest.param(
            "object.",
            "compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input "
            "'.'\n | object.\n | .......^",
            id="an unfinished expression",
        ),
        pytest.param(
            "object.?spec.hasValue()",
            "compilation failed: ERROR: <input>:1:8: optional syntax is not supported by this API "
            "server\n | object.?spec.hasValue()\n | .......^",
            id="optional syntax",
        ),
        pytest.param(
            "isURL('x')",
            "compilation failed: ERROR: <input>:1:6: 'isURL' is not supported by this API server\n"
            " | isURL('x')\n | .....^",
            id="an unsupported library",
        ),
    ],
)
def test_expressions_that_do_not_compile(expression, message):
    with pytest.raises(BadExpressionError) as raised:
        matchconditions.compile_condition(expression)
    assert str(raised.value) == message


def test_a_question_mark_in_a_string_is_not_optional_syntax():
    assert _evaluate("object.metadata.name != '.?'") == MatchResult(True)
