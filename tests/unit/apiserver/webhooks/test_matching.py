"""Which webhooks a request concerns."""

from dataclasses import replace
from typing import Any

import pytest

from webhook.api.status import StatusError
from webhook.apiserver.webhooks import matching
from webhook.apiserver.webhooks.hooks import Hook, from_object
from webhook.apiserver.webhooks.matching import Identity, Request

V1 = Identity("apps", "v1", "deployments", "apps", "v1", "Deployment")
V2 = replace(V1, version="v2", kind_version="v2")


def _hook(**changes: Any) -> Hook:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "resources": ["deployments"],
        "scope": "*",
        **changes.pop("rule", {}),
    }
    return from_object(
        {"name": "h", "clientConfig": {"url": "https://x"}, "rules": [rule], **changes}
    )


def _request(**changes: Any) -> Request:
    made = Request(
        identity=V1,
        equivalents=(V2,),
        subresource="",
        operation="CREATE",
        name="d",
        namespace="n",
        obj={"metadata": {"labels": {"a": "b"}}},
        old=None,
        options={},
        user={},
        dry_run=False,
        namespaced=True,
    )
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("rule", "request_", "expected"),
    [
        pytest.param({}, {}, V1, id="all as it is written"),
        pytest.param({"operations": ["UPDATE"]}, {}, None, id="another operation"),
        pytest.param({"operations": ["*"]}, {}, V1, id="any operation"),
        pytest.param({"apiGroups": [""]}, {}, None, id="another group"),
        pytest.param({"apiGroups": ["*"]}, {}, V1, id="any group"),
        pytest.param({"resources": ["*"]}, {}, V1, id="any resource"),
        pytest.param({"resources": ["deployments/*"]}, {}, V1, id="any part, none included"),
        pytest.param({"resources": ["deployments"]}, {"subresource": "status"}, None, id="no part"),
        pytest.param(
            {"resources": ["deployments/status"]}, {"subresource": "status"}, V1, id="a part"
        ),
        pytest.param({"resources": ["*/status"]}, {"subresource": "status"}, V1, id="its part"),
        pytest.param({"resources": ["*/*"]}, {"subresource": "scale"}, V1, id="everything"),
        pytest.param({"scope": "Cluster"}, {}, None, id="not cluster-wide"),
        pytest.param({"scope": "Namespaced"}, {}, V1, id="in a namespace"),
        pytest.param({"apiVersions": ["v2"]}, {}, V2, id="the same at another version"),
        pytest.param({"apiVersions": ["v3"]}, {}, None, id="a version that is not served"),
    ],
)
def test_rules(rule, request_, expected):
    assert matching.identity_for(_hook(rule=rule), _request(**request_)) == expected


def test_an_exact_policy_wants_the_very_version():
    hook = _hook(rule={"apiVersions": ["v2"]}, matchPolicy="Exact")
    assert matching.identity_for(hook, _request()) is None


@pytest.mark.parametrize(
    ("obj", "old", "expected"),
    [
        pytest.param({"metadata": {"labels": {"a": "b"}}}, None, True, id="the new object"),
        pytest.param(None, {"metadata": {"labels": {"a": "b"}}}, True, id="the old object"),
        pytest.param({"metadata": {}}, {"metadata": {}}, False, id="neither"),
    ],
)
def test_object_selectors_look_at_both_sides(obj, old, expected):
    hook = _hook(objectSelector={"matchLabels": {"a": "b"}})
    assert matching.selected_object(hook, _request(obj=obj, old=old)) is expected


def test_namespace_selectors():
    hook = _hook(namespaceSelector={"matchLabels": {"team": "x"}})
    assert matching.selected_namespace(hook, _request(), {"metadata": {"labels": {"team": "x"}}})
    assert not matching.selected_namespace(hook, _request(), {"metadata": {}})
    assert matching.selected_namespace(hook, _request(namespace="", namespaced=False), None)
    with pytest.raises(StatusError, match='namespaces "n" not found'):
        matching.selected_namespace(hook, _request(), None)


def test_a_new_namespace_is_judged_by_its_own_labels():
    hook = _hook(namespaceSelector={"matchLabels": {"a": "b"}})
    identity = Identity("", "v1", "namespaces", "", "v1", "Namespace")
    assert matching.selected_namespace(hook, _request(identity=identity), None)


def test_configurations_of_webhooks_are_exempt():
    group = "admissionregistration.k8s.io"
    kind = "ValidatingWebhookConfiguration"
    identity = Identity(group, "v1", f"{kind.lower()}s", group, "v1", kind)
    assert matching.is_exempt(_request(identity=identity))
    assert not matching.is_exempt(_request())
