"""The kubectl plugin: what a rollout has come to, and what revisions changed."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tests.landscapes import read
from tests.sets import LABELS, make_set
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
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


def test_progress_is_drawn_with_a_line_for_each_replica_the_next_one_last() -> None:
    owner = make_status("Updating", updatedReplicas=1)
    reference = {"kind": "ManagedSeedSet", "name": "leaf", "uid": owner.uid, "controller": True}
    shoots, managed_seeds = [], []
    for ordinal, revision in enumerate(("leaf-old", "leaf-x")):
        metadata = {
            "name": f"leaf-{ordinal}",
            "namespace": "garden",
            "labels": {**LABELS, names.CONTROLLER_REVISION_HASH: revision},
            "ownerReferences": [reference],
        }
        told = {"type": "ShootsReady", "status": "True", "message": f"{ordinal} of 9 are ready"}
        ready = {"type": "SeedReady", "status": "True" if ordinal else "False"}
        shoots.append(read(Shoot, {"metadata": metadata}))
        body = {"spec": {"shoot": {"name": metadata["name"]}}, "metadata": metadata}
        managed_seeds.append(read(ManagedSeed, body | {"status": {"conditions": [told, ready]}}))
    console = Console(width=120, record=True, file=StringIO())
    console.print(progress.table(owner, shoots, managed_seeds))
    lines = [line.split("  ")[0].strip() for line in console.export_text().splitlines()]
    assert lines.index("REPLICA") < lines.index("leaf-1") < lines.index("leaf-0")
    console.print(progress.table(owner, shoots, managed_seeds))
    shown = console.export_text()
    for said in ("leaf-old", "leaf-x", "not ready", "0 of 9 are ready", "so it is"):
        assert said in shown
