"""Match requests with rules and selectors of webhooks."""

from typing import Any

import pytest

from tests.unit.dev.apiserver.webhooks.admission_requests import V1, V2, make_request
from webhook.dev.apiserver.webhooks import matching
from webhook.dev.apiserver.webhooks.configurations import Webhook, from_object
from webhook.dev.apiserver.webhooks.matching import VersionedResource
from webhook.kube.status import StatusError


def make_webhook(**changes: Any) -> Webhook:
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


@pytest.mark.parametrize(
    ("rule", "request_", "expected"),
    [
        pytest.param({}, {}, V1, id="everything matches exactly"),
        pytest.param({"operations": ["UPDATE"]}, {}, None, id="another operation"),
        pytest.param({"operations": ["*"]}, {}, V1, id="any operation"),
        pytest.param({"apiGroups": [""]}, {}, None, id="another group"),
        pytest.param({"apiGroups": ["*"]}, {}, V1, id="any group"),
        pytest.param({"resources": ["*"]}, {}, V1, id="any resource"),
        pytest.param({"resources": ["deployments/*"]}, {}, V1, id="any subresource or none"),
        pytest.param(
            {"resources": ["deployments"]}, {"subresource": "status"}, None, id="no subresource"
        ),
        pytest.param(
            {"resources": ["deployments/status"]}, {"subresource": "status"}, V1, id="a subresource"
        ),
        pytest.param(
            {"resources": ["*/status"]},
            {"subresource": "status"},
            V1,
            id="a subresource of any resource",
        ),
        pytest.param({"resources": ["*/*"]}, {"subresource": "scale"}, V1, id="everything"),
        pytest.param({"scope": "Cluster"}, {}, None, id="not cluster-wide"),
        pytest.param({"scope": "Namespaced"}, {}, V1, id="namespaced"),
        pytest.param({"apiVersions": ["v2"]}, {}, V2, id="an equivalent version"),
        pytest.param({"apiVersions": ["v3"]}, {}, None, id="a version that is not served"),
    ],
)
def test_rules(rule, request_, expected):
    assert matching.match_rules(make_webhook(rule=rule), make_request(**request_)) == expected


def test_match_policy_exact_needs_the_version_of_the_request():
    webhook = make_webhook(rule={"apiVersions": ["v2"]}, matchPolicy="Exact")
    assert matching.match_rules(webhook, make_request()) is None


@pytest.mark.parametrize(
    ("obj", "old", "expected"),
    [
        pytest.param({"metadata": {"labels": {"a": "b"}}}, None, True, id="the new object"),
        pytest.param(None, {"metadata": {"labels": {"a": "b"}}}, True, id="the old object"),
        pytest.param({"metadata": {}}, {"metadata": {}}, False, id="neither"),
    ],
)
def test_object_selectors_match_the_old_or_the_new_object(obj, old, expected):
    webhook = make_webhook(objectSelector={"matchLabels": {"a": "b"}})
    assert matching.matches_object_selector(webhook, make_request(obj=obj, old=old)) is expected


def test_namespace_selectors():
    webhook = make_webhook(namespaceSelector={"matchLabels": {"team": "x"}})
    assert matching.matches_namespace_selector(
        webhook, make_request(), {"metadata": {"labels": {"team": "x"}}}
    )
    assert not matching.matches_namespace_selector(webhook, make_request(), {"metadata": {}})
    assert matching.matches_namespace_selector(
        webhook, make_request(namespace="", namespaced=False), None
    )
    with pytest.raises(StatusError, match='namespaces "n" not found'):
        matching.matches_namespace_selector(webhook, make_request(), None)


def test_a_namespace_selector_matches_the_labels_of_a_new_namespace():
    webhook = make_webhook(namespaceSelector={"matchLabels": {"a": "b"}})
    resource = VersionedResource("", "v1", "namespaces", "", "v1", "Namespace")
    assert matching.matches_namespace_selector(webhook, make_request(resource=resource), None)


def test_webhook_configurations_are_exempt():
    group = "admissionregistration.k8s.io"
    kind = "ValidatingWebhookConfiguration"
    resource = VersionedResource(group, "v1", f"{kind.lower()}s", group, "v1", kind)
    assert matching.is_exempt(make_request(resource=resource))
    assert not matching.is_exempt(make_request())
