"""place(): run the filters and scorers of a profile and choose a seed for a shoot."""

from collections.abc import Iterable, Sequence
from typing import Final

from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.shoots import ha
from webhook.scheduling import ledger, profiles, region_strategy
from webhook.scheduling.columns import Mask
from webhook.scheduling.filters import usable
from webhook.scheduling.framework import Filter, Profile, Step
from webhook.scheduling.result import Rejections, ScheduleResult, StepRejections, WeightedScores
from webhook.scheduling.seed_table import SeedTable, UsageBySeed
from webhook.scheduling.shoot_info import ShootInfo
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

WEAKENED: Final = (
    "no seed offers a multi-zone control plane: placed as single-zone"
    " (failureDomain.whenUnsatisfied: ScheduleAnyway)"
)


def place(
    shoot: Shoot,
    seeds: Iterable[Seed] | SeedTable,
    snapshot: Snapshot,
    profile: Profile | None = None,
    among: Iterable[str] | None = None,
    held: UsageBySeed | None = None,
) -> ScheduleResult:
    """Choose the seed for a shoot; equal arguments give equal results.

    Seeds may be given as a `SeedTable`, which caches results and is brought up to date here.
    `among` restricts the choice to some names; `held` is counted as used as well.
    """
    table = refresh(seeds, snapshot, held)
    chosen = profile or profiles.of_shoot(shoot, snapshot.options)
    start = table.all if among is None else table.mask(among)
    info = ShootInfo(shoot, snapshot)
    result = _decide(info, table, chosen, start)
    if result.seed is None and chosen.honours_schedule_anyway and _allows_single_zone(info):
        weakened = _decide(info.as_single_zone(), table, chosen, start, weakened=True)
        if weakened.seed is not None:
            return weakened
    return result


def refresh(
    seeds: Iterable[Seed] | SeedTable, snapshot: Snapshot, held: UsageBySeed | None = None
) -> SeedTable:
    """Bring a table up to date with the snapshot, or make one of the given seeds."""
    used = snapshot.totals(SEED_USAGE)
    if held:
        used = {
            **used,
            **{seed: ledger.add_amounts(used.get(seed, {}), held[seed]) for seed in held},
        }
    if not isinstance(seeds, SeedTable):
        return SeedTable.of(seeds, used)
    seeds.refresh(snapshot.list(Seed), used)
    return seeds


def _allows_single_zone(info: ShootInfo) -> bool:
    return info.is_multi_zone and info.availability.when_unsatisfied == ha.SCHEDULE_ANYWAY


def _decide(
    info: ShootInfo, table: SeedTable, profile: Profile, start: Mask, weakened: bool = False
) -> ScheduleResult:
    rejections: list[StepRejections] = []
    passed = _filter(profile.steps, info, table, start, rejections)
    feasible = _search(info, table, profile, passed, rejections)
    scores = _score(info, table, profile, feasible)
    return ScheduleResult(
        profile=profile.name,
        seed=_best(table, feasible, scores),
        names=table.names,
        step_rejections=rejections,
        feasible_mask=feasible,
        weighted_scores=scores,
        weakened=weakened,
        notes=(WEAKENED,) if weakened else (),
        malformed=_malformed(info),
    )


def _filter(
    steps: Sequence[Step],
    info: ShootInfo,
    table: SeedTable,
    remaining: Mask,
    rejections: list[StepRejections],
) -> Mask:
    """Return the seeds that pass all steps; those rejected by each step go to `rejections`."""
    for step in steps:
        if isinstance(step, Filter):
            aspect = step.aspect(info)
            result = table.filter(
                (step, aspect), step.prepare, aspect, depends_on_usage=step.depends_on_usage
            )
            kept, rejected = remaining & result.passed, result.rejected
        else:
            kept, rejection = step.apply(info, table, remaining)
            rejected = {rejection: remaining & ~kept}
        if kept != remaining:
            rejections.append(StepRejections(step.name, remaining, rejected))
        remaining = kept
    return remaining


def _search(
    info: ShootInfo,
    table: SeedTable,
    profile: Profile,
    passed: Mask,
    rejections: list[StepRejections],
) -> Mask:
    """Look for seeds tier by tier; the filters of a tier see only the seeds of that tier."""
    search = region_strategy.search(info, table, profile)
    outside = passed
    feasible = 0
    for tier in search.tiers:
        inside = passed & tier
        if not inside:
            continue
        outside &= ~inside
        feasible = _filter(profile.tier_steps, info, table, inside, rejections)
        if feasible or not search.tries_next_tier:
            break
    if outside:
        rejections.append(StepRejections(search.step, outside, {search.rejection: outside}))
    return feasible


def _score(
    info: ShootInfo, table: SeedTable, profile: Profile, feasible: Mask
) -> tuple[WeightedScores, ...]:
    weights = info.options.scheduling.weights
    return tuple(
        WeightedScores(scorer.name, weight(weights), scorer.score(info, table, feasible))
        for scorer, weight in profile.scorers
    )


def _best(table: SeedTable, feasible: Mask, scores: Sequence[WeightedScores]) -> str | None:
    """Return the seed with the highest sum; of several, the first by name."""
    if not feasible:
        return None
    if len(scores) == 1:
        index = max(table.positions(feasible), key=scores[0].scores.__getitem__)
    else:
        index = max(
            table.positions(feasible),
            key=lambda index: sum(each.weight * each.scores[index] for each in scores),
        )
    return table.names[index]


def _malformed(info: ShootInfo) -> Rejections:
    """Reject the seeds that cannot be decoded."""
    return {
        key.name: (usable.USABLE.name, usable.MALFORMED) for key in info.snapshot.malformed(Seed)
    }
