"""The kubectl plugin: what a rollout has come to, and what revisions changed."""

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tests.support.landscape_objects import read
from tests.support.replica_objects import ready_seed
from tests.support.set_objects import LABELS, make_set
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.cli import plugin
from webhook.cli.rollout import command, differences, progress
from webhook.domain.sets.replicas import Replica


def make_revision(number: int, version: str, **more: Any) -> ControllerRevision:
    spec = {"shootTemplate": {"spec": {"kubernetes": {"version": version}}}}
    metadata = {"name": f"leaf-{number}", **more}
    return read(
        ControllerRevision, {"metadata": metadata, "revision": number, "data": {"spec": spec}}
    )


def make_status(
    reason: str, status: str = "True", differing: str = "", **more: Any
) -> ManagedSeedSet:
    body = make_set()
    body["metadata"]["generation"] = 2
    annotated = {"type": "Progressing", "status": status, "reason": reason, "message": "so it is"}
    differ = {"type": names.DRIFTED, "status": "True", "reason": "x", "message": differing}
    body["status"] = {
        "observedGeneration": 2,
        "replicas": 3,
        "readyReplicas": 3,
        "updateRevision": "leaf-x",
        "conditions": ([annotated] if reason else []) + ([differ] if differing else []),
        **more,
    }
    return read(ManagedSeedSet, body)


def make_replica(ordinal: int, revision: str) -> Replica:
    labels = {**LABELS, names.CONTROLLER_REVISION_HASH: revision}
    metadata = {"name": f"leaf-{ordinal}", "namespace": "garden", "labels": labels}
    annotated = {"type": "ShootsReady", "status": "True", "message": f"{ordinal} of 9 are ready"}
    body = {"spec": {"shoot": {"name": metadata["name"]}}, "metadata": metadata}
    managed_seed = read(ManagedSeed, body | {"status": {"conditions": [annotated]}})
    return Replica(f"leaf-{ordinal}", ordinal, read(Shoot, {"metadata": metadata}), managed_seed)


def make_replicas(updated: int) -> list[Replica]:
    return [make_replica(n, "leaf-x" if n >= 3 - updated else "leaf-old") for n in range(3)]


@pytest.mark.parametrize(
    ("owner", "updated", "message", "done", "stuck"),
    [
        pytest.param(
            make_status("Complete"),
            3,
            "rollout complete: 3 of 3 replicas are updated, revision leaf-x",
            True,
            False,
            id="complete",
        ),
        pytest.param(
            make_status("Complete", differing="left as they are: leaf-0: ShootTemplate purpose"),
            2,
            "rollout complete: 2 of 3 replicas are updated, revision leaf-x; "
            "left as they are: leaf-0: ShootTemplate purpose",
            True,
            False,
            id="complete, but for one that differs",
        ),
        pytest.param(
            make_status("Complete", readyReplicas=2),
            3,
            "3 of 3 replicas are updated; waiting for replicas to become ready: 2 of 3 are ready",
            False,
            False,
            id="not before all are ready",
        ),
        pytest.param(
            make_status("PartitionReached"),
            1,
            "partitioned rollout complete: 1 of 3 replicas are updated, so it is",
            True,
            False,
            id="as far as the partition allows",
        ),
        pytest.param(
            make_status("TemplateRefused", "False"),
            0,
            "0 of 3 replicas are updated; TemplateRefused: so it is",
            False,
            True,
            id="stuck",
        ),
        pytest.param(
            make_status("Complete", observedGeneration=1),
            3,
            "waiting for the present spec to be observed ...",
            False,
            False,
            id="not observed yet",
        ),
        pytest.param(
            make_status(""),
            3,
            "waiting for the controller to report ...",
            False,
            False,
            id="silent",
        ),
    ],
)
def test_the_progress_is_one_line(
    owner: ManagedSeedSet, updated: int, message: str, done: bool, stuck: bool
) -> None:
    assert progress.progress_of(owner, make_replicas(updated), recorded=True) == (
        message,
        done,
        stuck,
    )


def test_a_status_about_earlier_templates_is_not_complete() -> None:
    now = progress.progress_of(make_status("Complete"), make_replicas(3), recorded=False)
    assert now == ("waiting for the present templates to be recorded ...", False, False)


def test_a_revision_is_described_by_its_changes_or_its_cause() -> None:
    first, second = make_revision(1, "1.35.1"), make_revision(2, "1.35.2")
    assert differences.summary(None, first) == "<none>"
    assert differences.summary(first, second) == (
        "shootTemplate.spec.kubernetes.version: 1.35.1 → 1.35.2"
    )
    annotated = make_revision(3, "1.35.3", annotations={names.CHANGE_CAUSE: "because"})
    assert differences.summary(second, annotated) == "because"


def test_a_difference_is_a_unified_diff() -> None:
    text = differences.unified(make_revision(1, "1.35.1"), make_revision(2, "1.35.2"))
    assert text.startswith("--- revision 1\n+++ revision 2\n")
    assert "-      version: 1.35.1\n+      version: 1.35.2\n" in text


def test_a_target_of_another_kind_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert plugin.main(["rollout", "pause", "deployment/x"]) == 2
    assert "write mss/NAME" in capsys.readouterr().err


def test_the_table_has_a_row_for_each_replica_in_the_order_of_the_rollout() -> None:
    owner = make_status("Updating")
    members = [make_replica(0, "leaf-old"), replace(make_replica(1, "leaf-x"), seed=ready_seed())]
    console = Console(width=120, record=True, file=StringIO())
    now = progress.progress_of(owner, members, recorded=True)
    console.print(progress.table(owner, members, now))
    shown = console.export_text()
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert [*rows].index("REPLICA") < [*rows].index("leaf-1") < [*rows].index("leaf-0")
    assert ("not ready" in rows["leaf-1"], "not ready" in rows["leaf-0"]) == (False, True)
    for message in ("leaf-old", "leaf-x", "0 of 9 are ready", "1 of 3 replicas", "so it is"):
        assert message in shown


FIRST, SECOND, THIRD = (make_revision(n, f"1.35.{n}") for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("found", "present", "number", "chosen"),
    [
        pytest.param([FIRST, SECOND], SECOND, 0, FIRST, id="the one before"),
        pytest.param([FIRST, SECOND], None, 0, SECOND, id="a change that is not recorded yet"),
        pytest.param([FIRST], None, 0, FIRST, id="even the first change"),
        pytest.param([FIRST, SECOND], FIRST, 0, SECOND, id="an undo whose number has not followed"),
        pytest.param([FIRST, SECOND, THIRD], THIRD, 1, FIRST, id="the requested one"),
    ],
)
def test_which_revision_an_undo_restores(
    found: list[ControllerRevision],
    present: ControllerRevision | None,
    number: int,
    chosen: ControllerRevision,
) -> None:
    assert command.choose_revision(found, present, number) is chosen


@pytest.mark.parametrize(
    ("found", "number"),
    [
        pytest.param([FIRST], 0, id="there is nothing before the first"),
        pytest.param([], 0, id="nor before nothing"),
        pytest.param([FIRST, SECOND], 7, id="nor one that is not there"),
    ],
)
def test_an_undo_without_such_a_revision_is_an_error(
    found: list[ControllerRevision], number: int
) -> None:
    with pytest.raises(command.UsageError):
        command.choose_revision(found, found[-1] if found else None, number)
