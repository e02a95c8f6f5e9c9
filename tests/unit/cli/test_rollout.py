"""The kubectl plugin: what a rollout has come to, and what revisions changed."""

from typing import Any

import pytest

from tests.landscapes import read
from tests.sets import make_set
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeedSet
from webhook.cli import plugin
from webhook.cli.rollout import differences, progress


def make_revision(number: int, version: str, **more: Any) -> ControllerRevision:
    spec = {"shootTemplate": {"spec": {"kubernetes": {"version": version}}}}
    metadata = {"name": f"leaf-{number}", **more}
    return read(
        ControllerRevision, {"metadata": metadata, "revision": number, "data": {"spec": spec}}
    )


def make_status(reason: str, status: str = "True", **more: Any) -> ManagedSeedSet:
    body = make_set()
    body["metadata"]["generation"] = 2
    told = {"type": "Progressing", "status": status, "reason": reason, "message": "so it is"}
    body["status"] = {
        "observedGeneration": 2,
        "replicas": 3,
        "readyReplicas": 3,
        "updatedReplicas": 3,
        "updateRevision": "leaf-x",
        "conditions": [told],
        **more,
    }
    return read(ManagedSeedSet, body)


@pytest.mark.parametrize(
    ("owner", "said", "done", "stuck"),
    [
        pytest.param(
            make_status("Complete"),
            "rollout complete: 3 of 3 replicas are updated, revision leaf-x",
            True,
            False,
            id="complete",
        ),
        pytest.param(
            make_status("Complete", readyReplicas=2),
            "3 of 3 replicas are updated; Complete: so it is",
            False,
            False,
            id="not before all are ready",
        ),
        pytest.param(
            make_status("PartitionReached", updatedReplicas=1),
            "partitioned rollout complete: 1 of 3 replicas are updated, so it is",
            True,
            False,
            id="as far as the partition allows",
        ),
        pytest.param(
            make_status("TemplateRefused", "False", updatedReplicas=0),
            "0 of 3 replicas are updated; TemplateRefused: so it is",
            False,
            True,
            id="stuck",
        ),
        pytest.param(
            make_status("Complete", observedGeneration=1),
            "waiting for the present spec to be observed ...",
            False,
            False,
            id="not observed yet",
        ),
    ],
)
def test_progress_in_a_line(owner: ManagedSeedSet, said: str, done: bool, stuck: bool) -> None:
    assert progress.of_set(owner) == (said, done, stuck)


def test_a_revision_is_told_by_what_it_changed_or_by_its_cause() -> None:
    first, second = make_revision(1, "1.35.1"), make_revision(2, "1.35.2")
    assert differences.summary(None, first) == "<none>"
    assert differences.summary(first, second) == (
        "shootTemplate.spec.kubernetes.version: 1.35.1 → 1.35.2"
    )
    told = make_revision(3, "1.35.3", annotations={differences.CAUSE: "because"})
    assert differences.summary(second, told) == "because"


def test_a_difference_is_written_as_diff_does() -> None:
    text = differences.unified(make_revision(1, "1.35.1"), make_revision(2, "1.35.2"))
    assert text.startswith("--- revision 1\n+++ revision 2\n")
    assert "-      version: 1.35.1\n+      version: 1.35.2\n" in text


def test_a_target_that_is_no_set_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert plugin.main(["rollout", "pause", "deployment/x"]) == 2
    assert "write it like mss/NAME" in capsys.readouterr().err
