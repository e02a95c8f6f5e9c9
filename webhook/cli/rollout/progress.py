"""How far a rolling update has come, in a line and in a table."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from webhook.api import conditions, names
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
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


def of_set(owner: ManagedSeedSet) -> Progress:
    """Say how far a rollout has come, as `kubectl rollout status` says it."""
    status = owner.status
    if status.observed_generation < owner.metadata.generation:
        return Progress("waiting for the present spec to be observed ...")
    told = conditions.get(status.conditions, names.PROGRESSING)
    if told is None:
        return Progress("waiting for the controller to report ...")
    wanted = owner.spec.replicas if owner.spec.replicas is not None else 1
    count = f"{status.updated_replicas} of {wanted} replicas are updated"
    if told.reason in _DONE and status.ready_replicas >= wanted:
        if told.reason == "PartitionReached":
            return Progress(f"partitioned rollout complete: {count}, {told.message}", done=True)
        return Progress(f"rollout complete: {count}, revision {status.update_revision}", done=True)
    stuck = told.reason in _STUCK
    return Progress(f"{count}; {told.reason}: {told.message}", stuck=stuck)


def table(
    owner: ManagedSeedSet, shoots: Sequence[Shoot], managed_seeds: Sequence[ManagedSeed]
) -> Group:
    """Draw a bar and a line for each replica."""
    claimed = replicas.claim(owner, shoots, managed_seeds).replicas
    update = owner.status.update_revision
    grid = Table(box=None, pad_edge=False)
    for column in ("REPLICA", "REVISION", "STAGE", "SEED", "SHOOTS"):
        grid.add_column(column)
    for replica in reversed(claimed):
        grid.add_row(*_row(replica, update))
    updated = sum(replica.is_at(update) for replica in claimed)
    bar = Table.grid(padding=(0, 1))
    drawn = ProgressBar(total=max(1, len(claimed)), completed=updated, width=40)
    bar.add_row(drawn, f"{updated} of {len(claimed)}")
    return Group(bar, grid, Text(of_set(owner).message))


def _row(replica: Replica, update: str) -> tuple[Text | str, ...]:
    updated = replica.is_at(update)
    revision = next((replicas.revision_of(half) for half in replica.halves), "")
    told = replica.managed_seed.status.conditions if replica.managed_seed is not None else ()
    ready = conditions.is_true(told, names.SEED_READY)
    shoots = conditions.get(told, names.SHOOTS_READY)
    return (
        replica.name,
        Text(revision, style="green" if updated else "yellow"),
        replica.stage.name.replace("_", " ").lower(),
        Text("ready" if ready else "not ready", style="green" if ready else "red"),
        shoots.message if shoots is not None else "",
    )
