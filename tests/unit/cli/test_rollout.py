"""The kubectl plugin: what a rollout has come to, and what revisions changed."""

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from tests.landscapes import read
from tests.sets import LABELS, make_set
from tests.unit.domain.test_replicas import ready_seed
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.cli import plugin
from webhook.cli.rollout import command, differences, progress
from webhook.domain.replicas import Replica


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
    told = {"type": "Progressing", "status": status, "reason": reason, "message": "so it is"}
    differ = {"type": names.DRIFTED, "status": "True", "reason": "x", "message": differing}
    body["status"] = {
        "observedGeneration": 2,
        "replicas": 3,
        "readyReplicas": 3,
        "updateRevision": "leaf-x",
        "conditions": ([told] if reason else []) + ([differ] if differing else []),
        **more,
    }
    return read(ManagedSeedSet, body)


def make_replica(ordinal: int, revision: str) -> Replica:
    labels = {**LABELS, names.CONTROLLER_REVISION_HASH: revision}
    metadata = {"name": f"leaf-{ordinal}", "namespace": "garden", "labels": labels}
    told = {"type": "ShootsReady", "status": "True", "message": f"{ordinal} of 9 are ready"}
    body = {"spec": {"shoot": {"name": metadata["name"]}}, "metadata": metadata}
    managed_seed = read(ManagedSeed, body | {"status": {"conditions": [told]}})
    return Replica(f"leaf-{ordinal}", ordinal, read(Shoot, {"metadata": metadata}), managed_seed)


def make_replicas(updated: int) -> list[Replica]:
    return [make_replica(n, "leaf-x" if n >= 3 - updated else "leaf-old") for n in range(3)]


@pytest.mark.parametrize(
    ("owner", "updated", "said", "done", "stuck"),
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
            "3 of 3 replicas are updated; Complete: so it is",
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
def test_progress_in_a_line(
    owner: ManagedSeedSet, updated: int, said: str, done: bool, stuck: bool
) -> None:
    assert progress.of_set(owner, make_replicas(updated), recorded=True) == (said, done, stuck)


def test_what_the_status_says_of_earlier_templates_is_not_the_end() -> None:
    now = progress.of_set(make_status("Complete"), make_replicas(3), recorded=False)
    assert now == ("waiting for the present templates to be recorded ...", False, False)


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
    owner = make_status("Updating")
    members = [make_replica(0, "leaf-old"), replace(make_replica(1, "leaf-x"), seed=ready_seed())]
    console = Console(width=120, record=True, file=StringIO())
    now = progress.of_set(owner, members, recorded=True)
    console.print(progress.table(owner, members, now))
    shown = console.export_text()
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert [*rows].index("REPLICA") < [*rows].index("leaf-1") < [*rows].index("leaf-0")
    assert ("not ready" in rows["leaf-1"], "not ready" in rows["leaf-0"]) == (False, True)
    for said in ("leaf-old", "leaf-x", "0 of 9 are ready", "1 of 3 replicas", "so it is"):
        assert said in shown


FIRST, SECOND, THIRD = (make_revision(n, f"1.35.{n}") for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("found", "present", "number", "chosen"),
    [
        pytest.param([FIRST, SECOND], SECOND, 0, FIRST, id="the one before"),
        pytest.param([FIRST, SECOND], None, 0, SECOND, id="a change that is not recorded yet"),
        pytest.param([FIRST], None, 0, FIRST, id="even the first change"),
        pytest.param([FIRST, SECOND], FIRST, 0, SECOND, id="an undo whose number has not followed"),
        pytest.param([FIRST, SECOND, THIRD], THIRD, 1, FIRST, id="the one that was asked for"),
    ],
)
def test_which_revision_an_undo_goes_back_to(
    found: list[ControllerRevision],
    present: ControllerRevision | None,
    number: int,
    chosen: ControllerRevision,
) -> None:
    assert command.choose(found, present, number) is chosen


@pytest.mark.parametrize(
    ("found", "number"),
    [
        pytest.param([FIRST], 0, id="there is nothing before the first"),
        pytest.param([], 0, id="nor before nothing"),
        pytest.param([FIRST, SECOND], 7, id="nor one that is not there"),
    ],
)
def test_an_undo_that_leads_nowhere(found: list[ControllerRevision], number: int) -> None:
    with pytest.raises(command.UsageError):
        command.choose(found, found[-1] if found else None, number)
