"""Explanations of a placement, as text and as JSON: rejections and scores of every seed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.seeds import usage
from webhook.domain.shoots import unscheduled
from webhook.kube.meta import Draft
from webhook.scheduling import pipeline, profiles, region_strategy
from webhook.scheduling.framework import MAX_SCORE
from webhook.scheduling.pipeline import place
from webhook.scheduling.result import ScheduleResult
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo
from webhook.state.snapshot import Snapshot

CHOSEN: Final = "chosen"
FITS: Final = "fits"
REJECTED: Final = "refused"

_LONGEST_MESSAGE: Final = 1000
_MOST_NAMES: Final = 20


class SeedReport(NamedTuple):
    """The result for one seed."""

    name: str
    result: str
    step: str = ""
    reason: str = ""
    final: bool = False
    scores: Mapping[str, int] = {}
    total: int = 0


class Explanation(NamedTuple):
    """The result for every seed, and the seed that the shoot would get now."""

    shoot: str
    profile: str
    assigned: str
    seed: str | None
    weakened: bool
    notes: tuple[str, ...]
    seeds: tuple[SeedReport, ...]


def explain(shoot: Shoot, seeds: Iterable[Seed] | SeedTable, snapshot: Snapshot) -> Explanation:
    """Place a shoot, which need not exist in the cluster, and explain the result."""
    table = pipeline.refresh(seeds, snapshot)
    result = place(shoot, table, snapshot)
    faults = {found.name: found.faults for found in table.candidates if found.faults}
    faults |= {
        key.name: tuple(f"{fault.path}: {fault.message}" for fault in found)
        for key, found in snapshot.malformed(Seed).items()
    }
    return Explanation(
        shoot=str(shoot.key),
        profile=result.profile,
        assigned=shoot.spec.seed_name,
        seed=result.seed,
        weakened=result.weakened,
        notes=(*result.notes, *_notes(shoot, table, snapshot)),
        seeds=(*_feasible(result), *_rejected(result, faults)),
    )


def summarise(result: ScheduleResult) -> str:
    """Describe in one line, as for an Event, why no seed fits: each reason with its seeds."""
    groups = [
        f"{len(seeds)} {rejection.reason} ({_listed(seeds)})"
        for rejection, seeds in result.rejected_by_reason()
    ]
    summary = f"0/{len(result.rejected)} seeds fit"
    for index, group in enumerate(groups):
        rest = len(groups) - index
        more = f"; {rest} more reasons, see espalier explain"
        longer = f"{summary}{': ' if index == 0 else '; '}{group}"
        if len(longer) + len(more) > _LONGEST_MESSAGE and rest > 0:
            return summary + more
        summary = longer
    return summary


def encode(explanation: Explanation) -> Draft:
    """Return an explanation as JSON values."""
    return {
        "shoot": explanation.shoot,
        "profile": explanation.profile,
        "assigned": explanation.assigned or None,
        "seed": explanation.seed,
        "weakened": explanation.weakened,
        "notes": [*explanation.notes],
        "maxScore": MAX_SCORE,
        "seeds": [_encode_seed(report) for report in explanation.seeds],
    }


def to_text(explanation: Explanation) -> str:
    """Return an explanation as a text table."""
    rows = [["SEED", "RESULT", "STEP", "REASON OR SCORES"]]
    rows += [
        [report.name, report.result, report.step, _describe(report)] for report in explanation.seeds
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [_headline(explanation)]
    lines += [f"note: {note}" for note in explanation.notes]
    lines.append("")
    lines += [
        "  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[3]])
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _headline(explanation: Explanation) -> str:
    fitting = sum(report.result != REJECTED for report in explanation.seeds)
    headline = f"{explanation.shoot}: profile {explanation.profile}, {fitting} of"
    headline += f" {len(explanation.seeds)} seeds fit"
    if explanation.assigned:
        headline += f", assigned to {explanation.assigned}"
    if explanation.seed is None:
        return f"{headline}, none to choose"
    return f"{headline}, {explanation.seed} is chosen"


def _describe(report: SeedReport) -> str:
    if report.result == REJECTED:
        return report.reason
    scores = [f"{scorer} {score / 100:.2f}" for scorer, score in report.scores.items()]
    if len(scores) > 1:
        scores.append(f"sum {report.total / 100:.2f}")
    return ", ".join(scores)


def _encode_seed(report: SeedReport) -> dict[str, Any]:
    encoded: dict[str, Any] = {"name": report.name, "result": report.result}
    if report.result == REJECTED:
        return encoded | {"step": report.step, "reason": report.reason, "final": report.final}
    return encoded | {"scores": dict(report.scores), "total": report.total}


def _feasible(result: ScheduleResult) -> list[SeedReport]:
    reports = [
        SeedReport(
            name,
            CHOSEN if name == result.seed else FITS,
            scores=result.scores[name],
            total=result.totals[name],
        )
        for name in result.feasible
    ]
    return sorted(reports, key=lambda report: (-report.total, report.name))


def _rejected(result: ScheduleResult, faults: Mapping[str, Sequence[str]]) -> list[SeedReport]:
    reports = []
    for name, (step, rejection) in sorted(result.rejected.items()):
        reason = rejection.reason
        if name in faults:
            reason = f"{reason}: {'; '.join(faults[name])}"
        reports.append(SeedReport(name, REJECTED, step, reason, rejection.final))
    return reports


def _notes(shoot: Shoot, table: SeedTable, snapshot: Snapshot) -> list[str]:
    options = snapshot.options
    notes = []
    if unscheduled.is_self_hosted(shoot):
        notes.append("a worker pool of the shoot runs its control plane: it needs no seed")
    if profiles.find(shoot.spec.scheduler_name, options) is None:
        notes.append(
            f"spec.schedulerName is {shoot.spec.scheduler_name or 'not set'}:"
            " another scheduler places this shoot, this is what espalier would do"
        )
    if region_strategy.is_region_table_unreadable(ShootInfo(shoot, snapshot)):
        required = profiles.of_shoot(shoot, options).requires_region_table
        effect = (
            region_strategy.REGION_TABLE_REQUIRED
            if required
            else region_strategy.REGION_TABLE_FALLBACK
        )
        notes.append(f"the region ConfigMap cannot be read: {effect}")
    counted = usage.BUILT_IN | {resource for resource, _rule in options.usage.rules}
    offered = {name for found in table.candidates for name in found.allocatable}
    notes += [
        f"{resource} is offered by seeds but has no usage rule, so shoots use none of it"
        f" (setting usage.{resource})"
        for resource in sorted(offered - counted)
    ]
    return notes


def _listed(seeds: Sequence[str]) -> str:
    names = sorted(seeds)
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"
