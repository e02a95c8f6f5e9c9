"""place(): which seed a shoot gets."""

from collections.abc import Iterable, Sequence
from typing import Final

from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import ha
from webhook.scheduling import ledger, profiles, strategy
from webhook.scheduling.columns import Mask
from webhook.scheduling.filters import usable
from webhook.scheduling.framework import Filter, Profile, Step
from webhook.scheduling.landscape import Landscape, Used
from webhook.scheduling.subjects import Subject
from webhook.scheduling.verdict import Cut, Rated, Refusals, Verdict
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

WEAKENED: Final = (
    "no seed offers a multi-zone control plane: placed as single-zone"
    " (failureDomain.whenUnsatisfied: ScheduleAnyway)"
)


def place(
    shoot: Shoot,
    seeds: Iterable[Seed] | Landscape,
    snapshot: Snapshot,
    profile: Profile | None = None,
    among: Iterable[str] | None = None,
    held: Used | None = None,
) -> Verdict:
    """Choose the seed for a shoot; the same question gets the same answer.

    Seeds may be given as a `Landscape`, which remembers what it has found out and is brought up to
    date here; `among` restricts the choice to some names; `held` is counted as used as well.
    """
    landscape = observe(seeds, snapshot, held)
    chosen = profile or profiles.of_shoot(shoot, snapshot.options)
    start = landscape.all if among is None else landscape.mask(among)
    subject = Subject(shoot, snapshot)
    verdict = _decide(subject, landscape, chosen, start)
    if verdict.seed is None and chosen.weakens and _may_weaken(subject):
        weaker = _decide(subject.weaken(), landscape, chosen, start, weakened=True)
        if weaker.seed is not None:
            return weaker
    return verdict


def observe(
    seeds: Iterable[Seed] | Landscape, snapshot: Snapshot, held: Used | None = None
) -> Landscape:
    """Bring a landscape up to date with the snapshot, or make one of the given seeds."""
    used = snapshot.totals(SEED_USAGE)
    if held:
        used = {**used, **{seed: ledger.add(used.get(seed, {}), held[seed]) for seed in held}}
    if not isinstance(seeds, Landscape):
        return Landscape.of(seeds, used)
    seeds.refresh(snapshot.list(Seed), used)
    return seeds


def _may_weaken(subject: Subject) -> bool:
    return subject.is_multi_zone and subject.availability.when_unsatisfied == ha.SCHEDULE_ANYWAY


def _decide(
    subject: Subject, landscape: Landscape, profile: Profile, start: Mask, weakened: bool = False
) -> Verdict:
    cuts: list[Cut] = []
    fitting = _run(profile.steps, subject, landscape, start, cuts)
    left = _search(subject, landscape, profile, fitting, cuts)
    rated = _rate(subject, landscape, profile, left)
    best = _best(landscape, left, rated)
    return Verdict(
        profile=profile.name,
        seed=best,
        names=landscape.names,
        cuts=cuts,
        candidates_mask=left,
        rated=rated,
        weakened=weakened,
        notes=(WEAKENED,) if weakened else (),
        malformed=_malformed(subject),
    )


def _run(
    steps: Sequence[Step], subject: Subject, landscape: Landscape, left: Mask, cuts: list[Cut]
) -> Mask:
    for step in steps:
        if isinstance(step, Filter):
            aspect = step.aspect(subject)
            column = landscape.column((step, aspect), step.prepare, aspect, usage=step.usage)
            kept, refused = left & column.passed, column.refused
        else:
            kept, rejection = step.apply(subject, landscape, left)
            refused = {rejection: left & ~kept}
        if kept != left:
            cuts.append(Cut(step.name, left, refused))
        left = kept
    return left


def _search(
    subject: Subject, landscape: Landscape, profile: Profile, fitting: Mask, cuts: list[Cut]
) -> Mask:
    """Look for seeds tier by tier; the steps inside a tier see only its seeds."""
    search = strategy.search(subject, landscape, profile)
    outside = fitting
    left = 0
    for tier in search.tiers:
        inside = fitting & tier
        if not inside:
            continue
        outside &= ~inside
        left = _run(profile.tier_steps, subject, landscape, inside, cuts)
        if left or not search.goes_on:
            break
    if outside:
        cuts.append(Cut(search.step, outside, {search.rejection: outside}))
    return left


def _rate(
    subject: Subject, landscape: Landscape, profile: Profile, left: Mask
) -> tuple[Rated, ...]:
    weights = subject.options.scheduling.weights
    return tuple(
        Rated(scorer.name, weigh(weights), scorer.rate(subject, landscape, left))
        for scorer, weigh in profile.scorers
    )


def _best(landscape: Landscape, left: Mask, rated: Sequence[Rated]) -> str | None:
    """Return the seed with the highest sum; of several, the first by name."""
    if not left:
        return None
    if len(rated) == 1:
        index = max(landscape.positions(left), key=rated[0].ratings.__getitem__)
    else:
        index = max(
            landscape.positions(left),
            key=lambda index: sum(one.weight * one.ratings[index] for one in rated),
        )
    return landscape.names[index]


def _malformed(subject: Subject) -> Refusals:
    """Refuse the seeds that do not even decode."""
    return {
        key.name: (usable.USABLE.name, usable.MALFORMED) for key in subject.snapshot.malformed(Seed)
    }
