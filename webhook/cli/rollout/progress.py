"""The progress of a rolling update, as a line and as a table."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.domain.sets import replicas
from webhook.domain.sets.replicas import Replica
from webhook.kube import conditions

_DONE: Final = ("Complete", "PartitionReached")
_STUCK: Final = ("TemplateRefused", "ReplicaFailed")


class Progress(NamedTuple):
    """The present state of a rollout."""

    message: str
    done: bool = False
    stuck: bool = False
    """Whether it needs a change by a person to continue."""


def progress_of(owner: ManagedSeedSet, members: Sequence[Replica], *, recorded: bool) -> Progress:
    """Describe the progress in the words of `kubectl rollout status`.

    Replicas are counted by their revision labels: beside a Gardener the status does not count
    them. `recorded` is whether the status is about the present templates, because beside a
    Gardener `observedGeneration` does not show it.
    """
    status = owner.status
    if status.observed_generation < owner.metadata.generation:
        return Progress("waiting for the present spec to be observed ...")
    progressing = conditions.get(status.conditions, names.PROGRESSING)
    if progressing is None:
        return Progress("waiting for the controller to report ...")
    if not recorded:
        return Progress("waiting for the present templates to be recorded ...")
    wanted = owner.spec.replicas if owner.spec.replicas is not None else 1
    updated = sum(replica.is_at(status.update_revision) for replica in members)
    count = f"{updated} of {wanted} replicas are updated"
    if progressing.reason in _DONE and status.ready_replicas >= wanted:
        if progressing.reason == "PartitionReached":
            return Progress(
                f"partitioned rollout complete: {count}, {progressing.message}", done=True
            )
        drift = conditions.get(status.conditions, names.DRIFTED)
        drifted = drift is not None and drift.status == conditions.TRUE
        besides = f"; {drift.message}" if drift is not None and drifted else ""
        revision = f"revision {status.update_revision}"
        return Progress(f"rollout complete: {count}, {revision}{besides}", done=True)
    if progressing.reason in _DONE:
        ready = f"{status.ready_replicas} of {wanted} are ready"
        return Progress(f"{count}; waiting for replicas to become ready: {ready}")
    stuck = progressing.reason in _STUCK
    return Progress(f"{count}; {progressing.reason}: {progressing.message}", stuck=stuck)


def table(owner: ManagedSeedSet, members: Sequence[Replica], now: Progress) -> Group:
    """Make a progress bar, a row for each replica, and the message."""
    update = owner.status.update_revision
    grid = Table(box=None, pad_edge=False)
    for column in ("REPLICA", "REVISION", "STAGE", "SEED", "SHOOTS"):
        grid.add_column(column)
    for replica in reversed(members):
        grid.add_row(*_row(replica, update))
    updated = sum(replica.is_at(update) for replica in members)
    bar = Table.grid(padding=(0, 1))
    drawn = ProgressBar(total=max(1, len(members)), completed=updated, width=40)
    bar.add_row(drawn, f"{updated} of {len(members)}")
    return Group(bar, grid, Text(now.message))


def _row(replica: Replica, update: str) -> tuple[Text | str, ...]:
    updated = replica.is_at(update)
    revision = next((replicas.revision_of(obj) for obj in replica.objects), "")
    found = replica.managed_seed.status.conditions if replica.managed_seed is not None else ()
    ready = replica.is_seed_ready
    shoots = conditions.get(found, names.SHOOTS_READY)
    return (
        replica.name,
        Text(revision, style="green" if updated else "yellow"),
        replica.stage.name.replace("_", " ").lower(),
        Text("ready" if ready else "not ready", style="green" if ready else "red"),
        shoots.message if shoots is not None else "",
    )
