"""How far a rolling update has come, in a line and in a table."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from webhook.api import conditions, names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.domain import replicas
from webhook.domain.replicas import Replica

_DONE: Final = ("Complete", "PartitionReached")
_STUCK: Final = ("TemplateRefused", "ReplicaFailed")


class Progress(NamedTuple):
    """What can be said about a rollout now."""

    message: str
    done: bool = False
    stuck: bool = False
    """Whether it will not go on without somebody's help."""


def of_set(owner: ManagedSeedSet, members: Sequence[Replica], *, recorded: bool) -> Progress:
    """Say how far a rollout has come, as `kubectl rollout status` says it.

    Replicas are counted by their labels: beside a Gardener nobody counts them. `recorded` says
    whether the status is about the present templates, which no generation tells there.
    """
    status = owner.status
    if status.observed_generation < owner.metadata.generation:
        return Progress("waiting for the present spec to be observed ...")
    told = conditions.get(status.conditions, names.PROGRESSING)
    if told is None:
        return Progress("waiting for the controller to report ...")
    if not recorded:
        return Progress("waiting for the present templates to be recorded ...")
    wanted = owner.spec.replicas if owner.spec.replicas is not None else 1
    updated = sum(replica.is_at(status.update_revision) for replica in members)
    count = f"{updated} of {wanted} replicas are updated"
    if told.reason in _DONE and status.ready_replicas >= wanted:
        if told.reason == "PartitionReached":
            return Progress(f"partitioned rollout complete: {count}, {told.message}", done=True)
        differ = conditions.get(status.conditions, names.DRIFTED)
        drifted = differ is not None and differ.status == conditions.TRUE
        besides = f"; {differ.message}" if differ is not None and drifted else ""
        revision = f"revision {status.update_revision}"
        return Progress(f"rollout complete: {count}, {revision}{besides}", done=True)
    stuck = told.reason in _STUCK
    return Progress(f"{count}; {told.reason}: {told.message}", stuck=stuck)


def table(owner: ManagedSeedSet, members: Sequence[Replica], now: Progress) -> Group:
    """Draw a bar and a line for each replica."""
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
    revision = next((replicas.revision_of(half) for half in replica.halves), "")
    told = replica.managed_seed.status.conditions if replica.managed_seed is not None else ()
    ready = replica.is_seed_ready
    shoots = conditions.get(told, names.SHOOTS_READY)
    return (
        replica.name,
        Text(revision, style="green" if updated else "yellow"),
        replica.stage.name.replace("_", " ").lower(),
        Text("ready" if ready else "not ready", style="green" if ready else "red"),
        shoots.message if shoots is not None else "",
    )
