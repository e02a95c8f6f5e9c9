"""Admission webhooks: both servers call them in the same way and follow their responses."""

import asyncio
import json

import pytest
from aiohttp import web

from tests.support import scripted_webhooks
from tests.support.scripted_webhooks import API, allow, deny, patching, reviewed

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def maps(namespace):
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def concerned(hooks):
    """A ConfigMap that the test's webhooks match."""

    def make(name="m", **more):
        labels = {"hook": hooks.label}
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": labels},
            **more,
        }

    return make


async def send(session, method, path, obj=None, content_type="application/json", **query):
    """Send a request; return its code and body."""
    data = None if obj is None else json.dumps(obj)
    headers = {"Content-Type": content_type}
    async with session.request(method, path, data=data, params=query, headers=headers) as response:
        return response.status, await response.json()


MERGE = "application/merge-patch+json"


async def test_every_kind_of_write_is_reviewed(session, hooks, maps, concerned):
    hooks.on("/see", allow)
    await hooks.configure("validating", hooks.hook("/see"))
    await send(session, "POST", maps, concerned(), fieldManager="me")
    await send(session, "PUT", f"{maps}/m", concerned(data={"a": "1"}))
    await send(session, "PATCH", f"{maps}/m", {"data": {"a": "2"}}, MERGE, dryRun="All")
    await send(session, "DELETE", f"{maps}/m", {"propagationPolicy": "Background"})
    seen = hooks.requests("/see")
    assert [request["operation"] for request in seen] == ["CREATE", "UPDATE", "UPDATE", "DELETE"]
    create, update, patch, delete = seen
    assert create["oldObject"] is None
    assert create["options"] == {
        "kind": "CreateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "fieldManager": "me",
    }
    assert update["oldObject"].get("data") is None
    assert update["object"]["data"] == {"a": "1"}
    assert (patch["dryRun"], patch["object"]["data"]) == (True, {"a": "2"})
    assert delete["object"] is None
    assert delete["oldObject"]["data"] == {"a": "1"}
    assert delete["options"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
        "propagationPolicy": "Background",
    }


async def test_a_review_has_object_user_and_path(session, hooks, maps, namespace, concerned):
    hooks.on("/see", allow)
    await hooks.configure("mutating", hooks.hook("/see"))
    await send(session, "POST", maps, concerned())
    (request,) = hooks.requests("/see")
    user = request.pop("userInfo")
    assert set(user["groups"]) == {"system:masters", "system:authenticated"}
    made = request.pop("object")
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")
    for volatile in ("uid", "oldObject", "options"):
        request.pop(volatile)
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    assert request == {
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "m",
        "namespace": namespace,
        "operation": "CREATE",
        "dryRun": False,
    }


async def test_a_review_has_the_remaining_time(session, hooks, maps, concerned):
    hooks.on("/see", allow)
    await hooks.configure("validating", hooks.hook("/see", timeoutSeconds=27))
    await send(session, "POST", maps, concerned("a"))
    await send(session, "POST", maps, concerned("b"), timeout="13s")
    timeouts = [query["timeout"] for path, _, query in hooks.received if path == "/see"]
    # A server that was busy before the call has less time left.
    own, callers = (int(each.removesuffix("s")) for each in timeouts)
    assert 20 < own <= 27
    assert 5 < callers <= 13


@pytest.mark.parametrize("kind", ["mutating", "validating"])
@pytest.mark.parametrize(
    ("response", "code", "answer"),
    [
        pytest.param(
            {},
            400,
            {"message": "admission webhook {hook} denied the request without explanation"},
            id="without a word",
        ),
        pytest.param(
            {"status": {"message": "no way", "code": 403, "reason": "Forbidden"}},
            403,
            {
                "message": "admission webhook {hook} denied the request: no way",
                "reason": "Forbidden",
            },
            id="with code and message",
        ),
        pytest.param(
            {"status": {"reason": "Because"}},
            400,
            {
                "message": "admission webhook {hook} denied the request: Because",
                "reason": "Because",
            },
            id="with a reason only",
        ),
        pytest.param(
            {"status": {"code": 200, "status": "Success", "message": "x"}},
            400,
            {"message": "admission webhook {hook} denied the request: x"},
            id="with the code of a success",
        ),
        pytest.param(
            {
                "status": {
                    "code": 422,
                    "reason": "Invalid",
                    "message": "bad",
                    "details": {"causes": [{"field": "spec.x", "message": "m"}]},
                }
            },
            422,
            {
                "message": "admission webhook {hook} denied the request: bad",
                "reason": "Invalid",
                "details": {"causes": [{"field": "spec.x", "message": "m"}]},
            },
            id="with causes",
        ),
    ],
)
async def test_refusals(session, hooks, maps, concerned, kind, response, code, answer):  # noqa: PLR0917
    hooks.on("/no", lambda review: reviewed(review, allowed=False, **response))
    await hooks.configure(kind, hooks.hook("/no"))
    status, body = await send(session, "POST", maps, concerned())
    assert (status, body.pop("code")) == (code, code)
    for fixed in ("kind", "apiVersion", "metadata", "status"):
        body.pop(fixed)
    answer = {**answer, "message": answer["message"].format(hook='"no.hooks.example.com"')}
    assert body == answer


def raw(content, content_type="text/plain", **response):
    """Respond with arbitrary bytes."""
    return lambda review: web.Response(body=content, content_type=content_type, **response)


def other(**changes):
    """Respond with a review that breaks a rule."""

    def answer(review):
        made = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": review["request"]["uid"], "allowed": True},
        }
        return web.json_response({**made, **changes})

    return answer


_FAILED = 'Internal error occurred: failed calling webhook "bad.hooks.example.com": '


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            other(response={"uid": "x", "allowed": True}),
            "received invalid webhook response: expected response.uid=",
            id="another uid",
        ),
        pytest.param(
            other(response=None),
            "received invalid webhook response: webhook response was absent",
            id="no response",
        ),
        pytest.param(
            other(kind="Foo", apiVersion="v1"),
            'failed to call webhook: no kind "Foo" is registered for version "v1" in scheme ',
            id="another kind",
        ),
        pytest.param(
            other(kind="", apiVersion=""),
            "received invalid webhook response: expected webhook response of "
            "admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
            id="no kind",
        ),
        pytest.param(
            other(apiVersion="admission.k8s.io/v1beta1"),
            "failed to call webhook: converting (v1beta1.AdmissionReview) to "
            "(v1.AdmissionReview): unknown conversion",
            id="another version",
        ),
        pytest.param(
            raw(b""),
            "failed to call webhook: 0-length response with status code: 200 and content type: ",
            id="nothing",
        ),
        pytest.param(
            raw(b"hello"),
            "failed to call webhook: couldn't get version/kind; json parse error: ",
            id="a word",
        ),
        pytest.param(
            raw(b"bad thing", status=400),
            "failed to call webhook: the server rejected our request for an unknown reason",
            id="400",
        ),
        pytest.param(
            raw(b"nono", status=403), "failed to call webhook: nono", id="403 with a text"
        ),
        pytest.param(
            raw(b"", status=404),
            "failed to call webhook: the server could not find the requested resource",
            id="404",
        ),
        pytest.param(
            raw(b"boom", status=500),
            'failed to call webhook: an error on the server ("boom") has prevented the request '
            "from succeeding",
            id="500 with a text",
        ),
        pytest.param(
            raw(b"boom", "application/octet-stream", status=500),
            'failed to call webhook: an error on the server ("unknown") has prevented the request '
            "from succeeding",
            id="500 with bytes",
        ),
        pytest.param(
            raw(b"later", status=503),
            "failed to call webhook: the server is currently unable to handle the request",
            id="503",
        ),
        pytest.param(
            raw(
                b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"custom"}',
                "application/json",
                status=500,
            ),
            "failed to call webhook: custom",
            id="500 with a Status",
        ),
        pytest.param(
            patching({"op": "add", "path": "/data", "value": {}}),
            "received invalid webhook response: validating webhook may not return response.patch",
            id="a patch of a validating webhook",
        ),
    ],
)
async def test_invalid_responses(session, hooks, maps, concerned, answer, message):
    hooks.on("/bad", answer)
    strict = hooks.hook("/bad")
    lenient = hooks.hook("/bad", name="lenient.hooks.example.com", failurePolicy="Ignore")
    lenient["objectSelector"] = {"matchLabels": {"lenient": hooks.label}}
    await hooks.configure("validating", strict, lenient)
    status, body = await send(session, "POST", maps, concerned())
    assert (status, body["reason"]) == (500, "InternalError")
    assert body["message"].startswith(_FAILED + message)
    assert body["details"]["causes"] == [
        {"message": body["message"].removeprefix("Internal error occurred: ")}
    ]
    obj = concerned()
    obj["metadata"]["labels"] = {"lenient": hooks.label}
    assert (await send(session, "POST", maps, obj))[0] == 201


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        pytest.param(
            [{"op": "remove", "path": "/data/x"}],
            'remove operation does not apply: doc is missing path: "/data/x": missing value',
            id="removes what is not there",
        ),
        pytest.param(
            [{"op": "test", "path": "/metadata/name", "value": "zzz"}],
            "testing value /metadata/name failed: test failed",
            id="expects something else",
        ),
        pytest.param(
            [{"op": "add", "path": "/data", "value": "text"}],
            "json: cannot unmarshal string into Go struct field ConfigMap.data of type "
            "map[string]string",
            id="makes no object of the kind",
        ),
    ],
)
async def test_a_patch_that_does_not_fit_is_refused_even_under_ignore(
    session, hooks, maps, concerned, operations, message
):
    hooks.on("/patch", patching(*operations))
    await hooks.configure("mutating", hooks.hook("/patch", failurePolicy="Ignore"))
    status, body = await send(session, "POST", maps, concerned())
    assert (status, body["message"]) == (500, f"Internal error occurred: {message}")


async def test_a_patch_on_a_deletion_is_refused(session, hooks, maps, concerned):
    hooks.on("/patch", patching({"op": "add", "path": "/data", "value": {}}))
    await send(session, "POST", maps, concerned())
    rule = hooks.rule(operations=["DELETE"])
    await hooks.configure("mutating", hooks.hook("/patch", rules=[rule], failurePolicy="Ignore"))
    status, body = await send(session, "DELETE", f"{maps}/m")
    assert (status, body["message"]) == (
        500,
        'Internal error occurred: admission webhook "patch.hooks.example.com" attempted to modify '
        "the object, which is not supported for this operation",
    )


async def test_mutations_build_on_each_other_in_order(session, hooks, maps, concerned):
    hooks.on("/first", patching({"op": "add", "path": "/data", "value": {"one": "1"}}))
    hooks.on("/second", patching({"op": "add", "path": "/data/two", "value": "2"}))
    await hooks.configure("mutating", hooks.hook("/second"), name="b")
    await hooks.configure("mutating", hooks.hook("/first"), name="a")
    _, made = await send(session, "POST", maps, concerned())
    assert made["data"] == {"one": "1", "two": "2"}


async def test_fields_that_a_webhook_adds_have_no_owner(session, hooks, maps, concerned):
    hooks.on("/patch", patching({"op": "add", "path": "/data", "value": {"one": "1"}}))
    await hooks.configure("mutating", hooks.hook("/patch"))
    _, made = await send(session, "POST", maps, concerned(), fieldManager="me")
    (entry,) = made["metadata"]["managedFields"]
    assert "f:data" not in entry["fieldsV1"]


async def test_an_object_is_filled_in_again_after_a_patch(session, hooks, namespace):
    container = {"name": "added", "image": "nginx"}
    hooks.on("/patch", patching({"op": "add", "path": "/spec/containers/-", "value": container}))
    rule = hooks.rule(resources=["pods"], operations=["CREATE"])
    await hooks.configure("mutating", hooks.hook("/patch", rules=[rule]))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"hook": hooks.label}},
        "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
    }
    _, made = await send(session, "POST", f"/api/v1/namespaces/{namespace}/pods", pod, dryRun="All")
    added = made["spec"]["containers"][1]
    assert added["imagePullPolicy"] == "Always"
    assert added["terminationMessagePath"] == "/dev/termination-log"


async def test_unknown_fields_that_a_webhook_adds_are_pruned(session, hooks, place):
    hooks.on("/patch", patching({"op": "add", "path": "/spec/unknown", "value": 1}))
    rule = hooks.rule(apiGroups=[place.group], resources=["widgets"])
    await hooks.configure("mutating", hooks.hook("/patch", rules=[rule]))
    widget = {
        "apiVersion": f"{place.group}/v1",
        "kind": "Widget",
        "metadata": {"name": "pruned", "labels": {"hook": hooks.label}},
        "spec": {"size": "small"},
    }
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    status, made = await send(session, "POST", path, widget, dryRun="All")
    assert (status, made["spec"]) == (201, {"size": "small", "replicas": 1})


@pytest.mark.parametrize(
    ("policy", "calls"),
    [pytest.param("Never", 1, id="once"), pytest.param("IfNeeded", 2, id="again after a change")],
)
async def test_reinvocation(session, hooks, maps, concerned, policy, calls):
    def count(review):
        seen = len(hooks.requests("/count"))
        value = {"op": "add", "path": "/metadata/labels/seen", "value": str(seen)}
        return patching(value)(review)

    hooks.on("/count", count)
    hooks.on("/later", patching({"op": "add", "path": "/data", "value": {"late": "1"}}))
    await hooks.configure(
        "mutating", hooks.hook("/count", reinvocationPolicy=policy), hooks.hook("/later")
    )
    _, made = await send(session, "POST", maps, concerned())
    assert made["metadata"]["labels"]["seen"] == str(calls)
    assert len(hooks.requests("/count")) == calls
    assert len(hooks.requests("/later")) == 1
    if calls == 2:
        assert hooks.requests("/count")[1]["object"]["data"] == {"late": "1"}


async def test_no_webhook_is_reinvoked_without_a_change(session, hooks, maps, concerned):
    hooks.on("/see", allow)
    await hooks.configure("mutating", hooks.hook("/see", reinvocationPolicy="IfNeeded"))
    await send(session, "POST", maps, concerned())
    assert len(hooks.requests("/see")) == 1


@pytest.mark.parametrize(
    ("policy", "code"),
    [pytest.param("Fail", 500, id="Fail"), pytest.param("Ignore", 201, id="Ignore")],
)
async def test_a_webhook_that_hangs(session, hooks, maps, concerned, policy, code):
    async def hang(review):
        await asyncio.sleep(60)
        return allow(review)

    hooks.on("/hang", hang)
    hook = hooks.hook("/hang", timeoutSeconds=1, failurePolicy=policy)
    await hooks.configure("validating", hook)
    status, body = await send(session, "POST", maps, concerned())
    assert status == code
    if code == 500:
        assert body["message"] == (
            'Internal error occurred: failed calling webhook "hang.hooks.example.com": failed to '
            f'call webhook: Post "{hooks.url}/hang?timeout=1s": context deadline exceeded'
        )


async def test_a_webhook_without_a_server(session, hooks, maps, concerned):
    client = {"url": "https://127.0.0.1:1/x", "caBundle": hooks.bundle}
    await hooks.configure("validating", hooks.hook("/gone", clientConfig=client))
    status, body = await send(session, "POST", maps, concerned())
    assert (status, body["message"]) == (
        500,
        'Internal error occurred: failed calling webhook "gone.hooks.example.com": failed to call '
        'webhook: Post "https://127.0.0.1:1/x?timeout=20s": dial tcp 127.0.0.1:1: connect: '
        "connection refused",
    )


async def test_a_webhook_without_its_authority_fails_closed(session, hooks, maps, concerned):
    hooks.on("/see", allow)
    client = {"url": f"{hooks.url}/see"}
    await hooks.configure("validating", hooks.hook("/see", clientConfig=client))
    status, body = await send(session, "POST", maps, concerned())
    assert status == 500
    assert body["message"].endswith(
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )


async def test_a_webhook_behind_a_service_that_is_not_there(session, hooks, maps, concerned):
    service = {"name": "nope", "namespace": "default", "path": "/x"}
    client = {"service": service, "caBundle": hooks.bundle}
    await hooks.configure("validating", hooks.hook("/gone", clientConfig=client))
    status, body = await send(session, "POST", maps, concerned())
    assert (status, body["message"]) == (
        500,
        'Internal error occurred: failed calling webhook "gone.hooks.example.com": failed to call '
        'webhook: Post "https://nope.default.svc:443/x?timeout=20s": service "nope" not found',
    )


@pytest.mark.parametrize("code", [429, 503])
async def test_a_webhook_with_retry_after_is_called_again(session, hooks, maps, concerned, code):
    def busy(review):
        if len(hooks.requests("/busy")) < 2:
            return web.Response(status=code, headers={"Retry-After": "1"})
        return allow(review)

    hooks.on("/busy", busy)
    await hooks.configure("validating", hooks.hook("/busy"))
    assert (await send(session, "POST", maps, concerned()))[0] == 201
    assert len(hooks.requests("/busy")) == 2


async def test_a_webhook_without_retry_after_is_not_called_again(session, hooks, maps, concerned):
    hooks.on("/busy", lambda review: web.Response(status=503, headers={"Retry-After": "soon"}))
    await hooks.configure("validating", hooks.hook("/busy"))
    assert (await send(session, "POST", maps, concerned()))[0] == 500
    assert len(hooks.requests("/busy")) == 1


async def test_validating_webhooks_are_called_in_parallel(session, hooks, maps, concerned):
    arrived = asyncio.Barrier(2)

    async def meet(review):
        async with asyncio.timeout(15):
            await arrived.wait()
        return allow(review)

    for path in ("/one", "/two"):
        hooks.on(path, meet)
    await hooks.configure("validating", hooks.hook("/one"), hooks.hook("/two"))
    assert (await send(session, "POST", maps, concerned()))[0] == 201


async def test_warnings_reach_the_client(session, hooks, maps, concerned):
    warnings = ["first", 'with "quotes"', "first"]
    hooks.on("/warn", lambda review: reviewed(review, warnings=warnings))
    await hooks.configure("validating", hooks.hook("/warn"))
    async with session.post(maps, json=concerned()) as response:
        found = response.headers.getall("Warning")
    assert found == ['299 - "first"', r'299 - "with \"quotes\""']


async def test_webhooks_are_called_for_dry_runs_and_can_recognise_them(
    session, hooks, maps, concerned
):
    hooks.on("/see", allow)
    await hooks.configure("validating", hooks.hook("/see", sideEffects="NoneOnDryRun"))
    assert (await send(session, "POST", maps, concerned(), dryRun="All"))[0] == 201
    assert hooks.requests("/see")[0]["dryRun"] is True
    assert (await send(session, "GET", f"{maps}/m"))[0] == 404


async def test_webhooks_cannot_touch_the_configuration_of_webhooks(session, hooks):
    hooks.on("/no", deny)
    hooks.on("/patch", patching({"op": "add", "path": "/metadata/labels/x", "value": "y"}))
    group = "admissionregistration.k8s.io"
    rule = hooks.rule(apiGroups=[group], resources=["*"])
    await hooks.configure("validating", hooks.hook("/no", rules=[rule]))
    await hooks.configure("mutating", hooks.hook("/patch", rules=[rule]))
    made = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"free-{hooks.label}", "labels": {"hook": hooks.label}},
    }
    path = f"{API}/validatingwebhookconfigurations"
    status, body = await send(session, "POST", path, made)
    assert (status, body["metadata"]["labels"]) == (201, {"hook": hooks.label})
    assert (await send(session, "DELETE", f"{path}/free-{hooks.label}"))[0] == 200
    assert hooks.requests("/no") == hooks.requests("/patch") == []


async def test_a_webhook_can_refuse_definitions(session, hooks):
    hooks.on("/no", deny)
    rule = hooks.rule(apiGroups=["apiextensions.k8s.io"], resources=["customresourcedefinitions"])
    await hooks.configure("validating", hooks.hook("/no", rules=[rule]))
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    group = f"{hooks.label}.example.com"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}", "labels": {"hook": hooks.label}},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    status, body = await send(session, "POST", path, definition)
    assert (status, body["message"]) == (
        403,
        'admission webhook "no.hooks.example.com" denied the request: not today',
    )


async def test_a_namespace_can_be_left_out(session, hooks, maps, namespace, concerned):
    hooks.on("/no", deny)
    names = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace]}
    selector = {"matchExpressions": [names]}
    await hooks.configure("validating", hooks.hook("/no", namespaceSelector=selector))
    assert (await send(session, "POST", maps, concerned()))[0] == 201
    default = "/api/v1/namespaces/default/configmaps"
    assert (await send(session, "POST", default, concerned(), dryRun="All"))[0] == 403


async def test_deleting_a_collection_calls_webhooks_for_each_object(
    session, hooks, maps, concerned
):
    hooks.on("/no", deny)
    for name in ("a", "b"):
        await send(session, "POST", maps, concerned(name))
    rule = hooks.rule(operations=["DELETE"])
    await hooks.configure("validating", hooks.hook("/no", rules=[rule]))
    status, _ = await send(session, "DELETE", maps, labelSelector=f"hook={hooks.label}")
    assert status == 403
    assert all("name" not in request for request in hooks.requests("/no"))
    _, listed = await send(session, "GET", maps, labelSelector=f"hook={hooks.label}")
    assert len(listed["items"]) == 2


async def test_subresources_are_matched_by_name(session, hooks, namespace):
    hooks.on("/scale", allow)
    hooks.on("/status", allow)
    hooks.on("/whole", allow)

    def rule(*resources):
        return [hooks.rule(apiGroups=["apps"], resources=list(resources), operations=["UPDATE"])]

    await hooks.configure(
        "validating",
        hooks.hook("/scale", rules=rule("deployments/scale"), objectSelector={}),
        hooks.hook("/status", rules=rule("deployments/status")),
        hooks.hook("/whole", rules=rule("deployments")),
    )
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    labels = {"hook": hooks.label}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    await send(session, "POST", path, deployment)
    await send(session, "PATCH", f"{path}/d/scale", {"spec": {"replicas": 3}}, MERGE)
    await send(session, "PATCH", f"{path}/d/status", {"status": {"replicas": 1}}, MERGE)
    seen = [request for request in hooks.requests("/scale") if request["namespace"] == namespace]
    (scale,) = seen
    assert (scale["subResource"], scale["resource"]["resource"]) == ("scale", "deployments")
    assert scale["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (scale["oldObject"]["spec"], scale["object"]["spec"]) == (
        {"replicas": 1},
        {"replicas": 3},
    )
    (status,) = hooks.requests("/status")
    assert (status["subResource"], status["kind"]["kind"]) == ("status", "Deployment")
    assert hooks.requests("/whole") == []


CONDITIONS = {
    "a field": "object.data.mode == 'on'",
    "a missing field": "has(object.data) && has(object.data.mode) && object.data.mode == 'on'",
    "a label": "'mode' in object.metadata.labels && object.metadata.labels['mode'] == 'on'",
    "the operation": "request.operation in ['CREATE', 'UPDATE'] && object.data.mode == 'on'",
    "a change": "oldObject == null && object.data.mode == 'on'",
    "the size": "size(object.data) == 2",
    "a text": "object.data.mode.startsWith('o') && object.data.mode.endsWith('n')",
    "a list": "object.data.exists(key, key == 'extra')",
    "a user": "request.userInfo.username != 'nobody' && object.data.mode == 'on'",
    "access": "authorizer.group('').resource('configmaps').check('get').allowed() && "
    "object.data.mode == 'on'",
    "whole objects": "object.data == {'mode': 'on', 'extra': '1'}",
}


@pytest.mark.parametrize("expression", list(CONDITIONS.values()), ids=list(CONDITIONS))
async def test_match_conditions_decide_which_webhook_is_called(
    session, hooks, maps, concerned, expression
):
    hooks.on("/see", allow)
    condition = {"name": "only-on", "expression": expression}
    await hooks.configure("validating", hooks.hook("/see", matchConditions=[condition]))
    matching = concerned("on", data={"mode": "on", "extra": "1"})
    matching["metadata"]["labels"]["mode"] = "on"
    await send(session, "POST", maps, concerned("off", data={"mode": "off"}))
    await send(session, "POST", maps, matching)
    assert [request["name"] for request in hooks.requests("/see")] == ["on"]


@pytest.mark.parametrize(
    ("policy", "code"),
    [pytest.param("Fail", 403, id="Fail"), pytest.param("Ignore", 201, id="Ignore")],
)
async def test_a_condition_that_cannot_be_evaluated(session, hooks, maps, concerned, policy, code):
    hooks.on("/see", allow)
    condition = {"name": "broken", "expression": "object.data.missing == 'x'"}
    hook = hooks.hook("/see", matchConditions=[condition], failurePolicy=policy)
    await hooks.configure("validating", hook)
    status, body = await send(session, "POST", maps, concerned(data={"a": "b"}))
    assert status == code
    assert hooks.requests("/see") == []
    if code == 403:
        assert body["message"] == (
            "configmaps \"m\" is forbidden: expression 'object.data.missing == 'x'' resulted in "
            "error: no such key: missing"
        )


async def test_one_condition_that_does_not_hold_beats_an_error(session, hooks, maps, concerned):
    hooks.on("/see", allow)
    found = [
        {"name": "broken", "expression": "object.data.missing == 'x'"},
        {"name": "false", "expression": "1 == 2"},
    ]
    await hooks.configure("validating", hooks.hook("/see", matchConditions=found))
    assert (await send(session, "POST", maps, concerned(data={"a": "b"})))[0] == 201


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param("foo", "undeclared reference to 'foo' (in container '')", id="unknown"),
        pytest.param("object.", "Syntax error: no viable alternative at input '.'", id="syntax"),
        pytest.param("1", "must evaluate to bool but got int", id="no condition"),
    ],
)
async def test_bad_conditions_are_refused_when_they_are_configured(
    session, hooks, expression, problem
):
    condition = {"name": "bad", "expression": expression}
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"bad-{hooks.label}"},
        "webhooks": [hooks.hook("/see", matchConditions=[condition])],
    }
    path = f"{API}/validatingwebhookconfigurations"
    status, body = await send(session, "POST", path, configuration)
    assert status == 422
    (cause,) = body["details"]["causes"]
    assert cause["field"] == "webhooks[0].matchConditions[0].expression"
    assert problem in cause["message"]


async def test_kubectl_shows_refusals_and_warnings(server, hooks, namespace, concerned):
    hooks.on("/no", scripted_webhooks.deny)
    hooks.on("/warn", lambda review: reviewed(review, warnings=["mind the gap"]))
    await hooks.configure("validating", hooks.hook("/no"), hooks.hook("/warn"))
    done = await server.kubectl(
        "create", "-n", namespace, "-f", "-", input=concerned(), check=False
    )
    assert done.code == 1
    assert "Warning: mind the gap" in done.stderr
    assert 'admission webhook "no.hooks.example.com" denied the request: not today' in done.stderr
