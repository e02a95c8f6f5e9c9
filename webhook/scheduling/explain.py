"""Why each seed was refused, or what it scored: for people and for programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.api.meta import Draft
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import hosting, usage
from webhook.scheduling import pipeline, profiles, strategy
from webhook.scheduling.framework import MAX_SCORE
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.pipeline import place
from webhook.scheduling.subjects import Subject
from webhook.scheduling.verdict import Verdict
from webhook.state.snapshot import Snapshot

CHOSEN: Final = "chosen"
FITS: Final = "fits"
REFUSED: Final = "refused"

_LONGEST_MESSAGE: Final = 1000
_MOST_NAMES: Final = 20


class SeedReport(NamedTuple):
    """What became of one seed."""

    name: str
    result: str
    step: str = ""
    reason: str = ""
    final: bool = False
    scores: Mapping[str, int] = {}
    total: int = 0


class Explanation(NamedTuple):
    """What became of every seed, and which one a shoot would get now."""

    shoot: str
    profile: str
    assigned: str
    seed: str | None
    weakened: bool
    notes: tuple[str, ...]
    seeds: tuple[SeedReport, ...]


def explain(shoot: Shoot, seeds: Iterable[Seed] | Landscape, snapshot: Snapshot) -> Explanation:
    """Decide about a shoot, also one that is not in the cluster, and tell why."""
    landscape = pipeline.observe(seeds, snapshot)
    verdict = place(shoot, landscape, snapshot)
    faults = {found.name: found.faults for found in landscape.candidates if found.faults}
    faults |= {
        key.name: tuple(f"{fault.path}: {fault.message}" for fault in found)
        for key, found in snapshot.malformed(Seed).items()
    }
    return Explanation(
        shoot=str(shoot.key),
        profile=verdict.profile,
        assigned=shoot.spec.seed_name,
        seed=verdict.seed,
        weakened=verdict.weakened,
        notes=(*verdict.notes, *_notes(shoot, landscape, snapshot)),
        seeds=(*_fitting(verdict), *_refused(verdict, faults)),
    )


def summarise(verdict: Verdict) -> str:
    """Say in one line, as for an Event, why no seed fits: each reason with its seeds."""
    groups = [
        f"{len(seeds)} {rejection.reason} ({_listed(seeds)})"
        for rejection, seeds in verdict.counted()
    ]
    told = f"0/{len(verdict.rejected)} seeds fit"
    for index, group in enumerate(groups):
        rest = len(groups) - index
        more = f"; {rest} more reasons, see espalier explain"
        longer = f"{told}{': ' if index == 0 else '; '}{group}"
        if len(longer) + len(more) > _LONGEST_MESSAGE and rest > 0:
            return told + more
        told = longer
    return told


def encode(explanation: Explanation) -> Draft:
    """Turn an explanation into JSON values."""
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
    """Lay an explanation out as a table."""
    rows = [["SEED", "RESULT", "STEP", "REASON OR SCORES"]]
    rows += [
        [report.name, report.result, report.step, _tell(report)] for report in explanation.seeds
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
    fitting = sum(report.result != REFUSED for report in explanation.seeds)
    told = f"{explanation.shoot}: profile {explanation.profile}, {fitting} of"
    told += f" {len(explanation.seeds)} seeds fit"
    if explanation.assigned:
        told += f", assigned to {explanation.assigned}"
    if explanation.seed is None:
        return f"{told}, none to choose"
    return f"{told}, {explanation.seed} is chosen"


def _tell(report: SeedReport) -> str:
    if report.result == REFUSED:
        return report.reason
    scores = [f"{rule} {score / 100:.2f}" for rule, score in report.scores.items()]
    if len(scores) > 1:
        scores.append(f"sum {report.total / 100:.2f}")
    return ", ".join(scores)


def _encode_seed(report: SeedReport) -> dict[str, Any]:
    told: dict[str, Any] = {"name": report.name, "result": report.result}
    if report.result == REFUSED:
        return told | {"step": report.step, "reason": report.reason, "final": report.final}
    return told | {"scores": dict(report.scores), "total": report.total}


def _fitting(verdict: Verdict) -> list[SeedReport]:
    reports = [
        SeedReport(
            name,
            CHOSEN if name == verdict.seed else FITS,
            scores=verdict.scores[name],
            total=verdict.totals[name],
        )
        for name in verdict.candidates
    ]
    return sorted(reports, key=lambda report: (-report.total, report.name))


def _refused(verdict: Verdict, faults: Mapping[str, Sequence[str]]) -> list[SeedReport]:
    reports = []
    for name, (step, rejection) in sorted(verdict.rejected.items()):
        reason = rejection.reason
        if name in faults:
            reason = f"{reason}: {'; '.join(faults[name])}"
        reports.append(SeedReport(name, REFUSED, step, reason, rejection.final))
    return reports


def _notes(shoot: Shoot, landscape: Landscape, snapshot: Snapshot) -> list[str]:
    options = snapshot.options
    notes = []
    if hosting.is_self_hosted(shoot):
        notes.append("a worker pool of the shoot runs its control plane: it needs no seed")
    if profiles.find(shoot.spec.scheduler_name, options) is None:
        notes.append(
            f"spec.schedulerName is {shoot.spec.scheduler_name or 'not set'}:"
            " another scheduler places this shoot, this is what espalier would do"
        )
    if strategy.is_table_broken(Subject(shoot, snapshot)):
        refuses = profiles.of_shoot(shoot, options).trusts_tables
        effect = strategy.TABLE_REFUSES if refuses else strategy.TABLE_IS_REPLACED
        notes.append(f"the region ConfigMap cannot be read: {effect}")
    counted = usage.BUILT_IN | {resource for resource, _rule in options.usage.rules}
    offered = {name for found in landscape.candidates for name in found.allocatable}
    notes += [
        f"{resource} is offered by seeds but has no usage rule, so shoots use none of it"
        f" (setting usage.{resource})"
        for resource in sorted(offered - counted)
    ]
    return notes


def _listed(seeds: Sequence[str]) -> str:
    names = sorted(seeds)
    told = ", ".join(names[:_MOST_NAMES])
    return told if len(names) <= _MOST_NAMES else f"{told} and {len(names) - _MOST_NAMES} more"
