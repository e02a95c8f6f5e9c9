"""Every match condition of our webhook configurations has the same result on both servers."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.scripted_webhooks import allow
from webhook.admission.match_conditions import CHANGES_OR_FINALIZERS, CHANGES_STATUS

pytestmark = pytest.mark.timeout(300)

MANIFEST = Path(__file__).parents[2] / "manifests" / "webhooks.yaml"
MERGE = {"Content-Type": "application/merge-patch+json"}


def shipped() -> dict[str, str]:
    """The conditions of all webhooks, by name; a name stands for one expression."""
    found: dict[str, str] = {}
    for configuration in yaml.safe_load_all(MANIFEST.read_text()):
        for webhook in configuration["webhooks"]:
            for condition in webhook.get("matchConditions", ()):
                known = found.setdefault(condition["name"], condition["expression"])
                assert known == condition["expression"]
    return found


CONDITIONS = {**shipped(), **dict((CHANGES_OR_FINALIZERS, CHANGES_STATUS))}
"""Those that are shipped, and those of policies that are off by default."""
STATUS = "the status"
CHANGES: dict[str, dict[str, Any]] = {
    "the spec": {"spec": {"size": "large"}},
    "replicas": {"spec": {"replicas": 5}},
    "a label": {"metadata": {"labels": {"colour": "red"}}},
    "an annotation": {"metadata": {"annotations": {"note": "a"}}},
    "another annotation": {"metadata": {"annotations": {"note": "b"}}},
    "a finalizer": {"metadata": {"finalizers": ["example.com/hold"]}},
    "no finalizer": {"metadata": {"finalizers": None}},
    STATUS: {"status": {"replicas": 1}},
    "nothing": {},
}
# Which changes a webhook with the condition is called for, besides the creation.
REVIEWED = {
    "changes-spec-labels-or-annotations": {
        *("the spec", "replicas", "a label", "an annotation", "another annotation"),
    },
    "changes-replicas": {"replicas"},
    CHANGES_OR_FINALIZERS.name: {
        *("the spec", "replicas", "a label", "an annotation", "another annotation"),
        *("a finalizer", "no finalizer"),
    },
    CHANGES_STATUS.name: {STATUS},
}


def test_what_each_condition_is_for_is_known():
    assert REVIEWED.keys() == CONDITIONS.keys()


@pytest.mark.parametrize("name", CONDITIONS)
async def test_a_shipped_condition_decides(session, hooks, place, name):
    hooks.on("/see", allow)
    is_status = name == CHANGES_STATUS.name
    rule = hooks.rule(
        apiGroups=[place.group],
        resources=["widgets/status" if is_status else "widgets"],
        operations=["UPDATE" if is_status else "*"],
    )
    condition = {"name": name, "expression": CONDITIONS[name]}
    hook = hooks.hook("/see", rules=[rule], matchConditions=[condition])
    await hooks.configure("validating", hook)
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    widget = {
        "apiVersion": f"{place.group}/v1",
        "kind": "Widget",
        "metadata": {"name": hooks.label, "labels": {"hook": hooks.label}},
        "spec": {"size": "small", "replicas": 2},
    }
    async with session.post(path, json=widget) as response:
        assert response.status == 201, await response.text()
    created = [request["operation"] for request in hooks.requests("/see")]
    assert created == ([] if is_status else ["CREATE"])
    reviewed = set()
    for change, patch in CHANGES.items():
        before = len(hooks.requests("/see"))
        one = f"{path}/{hooks.label}" + ("/status" if change == STATUS else "")
        async with session.patch(one, json=patch, headers=MERGE) as response:
            assert response.status == 200, await response.text()
        if len(hooks.requests("/see")) > before:
            reviewed.add(change)
    assert reviewed == REVIEWED[name]
    async with session.delete(f"{path}/{hooks.label}") as response:
        assert response.status == 200
