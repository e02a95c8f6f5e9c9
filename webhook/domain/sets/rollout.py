"""Rolling updates of ManagedSeedSets: revisions, partition, and the next step."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.domain.seeds.shoot_counts import HostedShoots
from webhook.domain.sets.replicas import Replica, revision_of
from webhook.domain.shoots import health
from webhook.kube import conditions
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Draft, Raw

DEFAULT_LIMIT: Final = "10%"
DEFAULT_HISTORY: Final = 10

COMPLETE: Final = "Complete"
IDLE_REASONS: Final = (COMPLETE, "PartitionReached", "Paused")
"""The reasons of the condition Progressing while no replica is or will be updated."""

TEMPLATES: Final = ("template", "shootTemplate")
"""The fields of a set's spec that a revision consists of."""

# Kubernetes' alphabet for generated names: no vowels, so no words.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_DIGITS: Final = 10
_LONGEST_BASE: Final = 63 - 1 - _DIGITS  # the name is also the value of a label


class RolloutSettings(NamedTuple):
    """The settings of a set for updates and scaling, with defaults."""

    partition: int = 0
    limit: int | str = DEFAULT_LIMIT
    paused: bool = False
    max_parallel: int = 1
    history: int = DEFAULT_HISTORY


class UpdateReplica(NamedTuple):
    """The replica to update next."""

    replica: Replica


class WaitForReplica(NamedTuple):
    """The replica that the rollout waits for, and why."""

    replica: Replica
    reason: str
    message: str


RolloutStep: TypeAlias = UpdateReplica | WaitForReplica


def settings_of(owner: ManagedSeedSet) -> RolloutSettings:
    """Return a set's settings; where Gardener serves the kind, annotations replace our fields."""
    spec, annotations = owner.spec, owner.metadata.annotations
    rolling = spec.update_strategy.rolling_update if spec.update_strategy is not None else None
    limit = rolling.max_unready_shoots if rolling is not None else None
    if limit is None:
        limit = _scalar(annotations.get(names.MAX_UNREADY_SHOOTS))
    parallel = spec.max_parallel or _scalar(annotations.get(names.MAX_PARALLEL)) or 1
    history = spec.revision_history_limit
    return RolloutSettings(
        partition=(rolling.partition if rolling is not None else None) or 0,
        limit=DEFAULT_LIMIT if limit is None else limit,  # 0 is a limit, too
        paused=spec.paused or annotations.get(names.PAUSED) == "true",
        max_parallel=max(1, parallel) if isinstance(parallel, int) else 1,
        history=DEFAULT_HISTORY if history is None else history,
    )


def revision_data(raw: Raw) -> Draft:
    """Return the content of a revision: both templates of a set."""
    spec = raw.get("spec") or {}
    return {"spec": {name: spec[name] for name in TEMPLATES if name in spec}}


def canonical(data: Any) -> bytes:
    """Encode data so that equal templates give equal bytes."""
    return msgspec.json.encode(data, order="deterministic")


def revision_name(base: str, data: Raw, collisions: int = 0) -> str:
    """Return the name of a revision, a hash of its content and the collision count."""
    salt = str(collisions).encode() if collisions else b""
    number = int.from_bytes(hashlib.sha256(canonical(data) + salt).digest()[:8], "big")
    digits = []
    for _ in range(_DIGITS):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return f"{base[:_LONGEST_BASE].rstrip('-.')}-{''.join(digits)}"


def is_within_limit(limit: int | str, hosted: HostedShoots) -> bool:
    """Return whether few enough of a seed's shoots are unready for the rollout to continue."""
    if isinstance(limit, int):
        return hosted.unready <= limit
    return hosted.unready * 100 <= percent(limit) * hosted.total


def percent(limit: str) -> int:
    """Parse a percentage such as 10%; 0 if it is malformed."""
    digits = limit.removesuffix("%")
    readable = digits != limit and digits.isdigit() and digits.isascii()
    return int(digits) if readable else 0


def wanted_revision(ordinal: int, settings: RolloutSettings, current: str, update: str) -> str:
    """Return the revision for a new replica.

    Below the partition, and while the set is paused, that is the current revision. Scaling must not
    continue a rollout that is paused.
    """
    held_back = settings.paused or ordinal < settings.partition
    return current if held_back else update


def next_step(
    replicas: Sequence[Replica],
    revision: str,
    settings: RolloutSettings,
    current: str = "",
    find_blocker: Callable[[Replica, RolloutSettings], WaitForReplica | None] | None = None,
) -> RolloutStep | None:
    """Return the next step of a rolling update; None if there is none.

    Replicas are updated one at a time, from the largest ordinal to the smallest. The next one
    follows when every updated replica is stable and enough of its shoots are ready; enough of the
    next one's own shoots must be ready, too, unless `maxUnreadyShoots` is 100%: a change is not
    tried on a seed that already has problems. A replica that has not recovered from an earlier
    change is updated before all others, whatever the state of its shoots: the update may repair it.
    `current` is the revision that was rolled out last; `find_blocker` returns what an updated
    replica waits for, instead of `readiness_blocker`. While a set is paused, no update begins.
    """
    blocker_of = find_blocker or readiness_blocker
    concerned = [each for each in replicas if each.is_active and each.ordinal >= settings.partition]
    touched = [each for each in concerned if _is_touched(each, revision, current)]
    behind = [each for each in concerned if not each.is_at(revision)]
    for replica in touched:
        waits = settings.paused or replica.is_at(revision)
        if waits and (blocker := blocker_of(replica, settings)):
            return blocker
    if not behind or settings.paused:
        return None
    unfinished = [
        each
        for each in touched
        if not each.is_at(revision)
        and (_is_partly_at(each, revision) or blocker_of(each, settings))
    ]
    if unfinished:
        return UpdateReplica(max(unfinished, key=lambda replica: replica.ordinal))
    chosen = max(behind, key=lambda replica: replica.ordinal)
    return _hosted_shoots_blocker(chosen, settings) or UpdateReplica(chosen)


def _is_touched(replica: Replica, revision: str, current: str) -> bool:
    """Return whether this rollout, or one that it replaced, has updated any object of a replica."""
    revisions = {revision_of(obj) for obj in replica.objects}
    return _is_partly_at(replica, revision) or bool(revisions - {"", current})


def _is_partly_at(replica: Replica, revision: str) -> bool:
    return any(revision_of(obj) == revision for obj in replica.objects)


def has_ended(owner: ManagedSeedSet, current: str, update: str) -> bool:
    """Return whether the present templates are rolled out; the first ones count as rolled out.

    Revisions do not suffice: when a rollout is undone, they are equal from the start.
    """
    status = owner.status
    if current != update or status.update_revision not in ("", update):
        return False
    progressing = conditions.get(status.conditions, names.PROGRESSING)
    return progressing is None or progressing.reason == COMPLETE


def is_progressing(owner: ManagedSeedSet) -> bool:
    """Return whether a set's status reports that replicas are or will be updated."""
    progressing = conditions.get(owner.status.conditions, names.PROGRESSING)
    return progressing is not None and progressing.reason not in IDLE_REASONS


def readiness_blocker(replica: Replica, settings: RolloutSettings) -> WaitForReplica | None:
    """Return why an updated replica is not ready for the rollout to continue; None if it is."""
    name = replica.name
    if replica.has_failed:
        return WaitForReplica(
            replica, "ShootReconcileFailed", f"the Shoot of {name} failed to reconcile"
        )
    if replica.shoot is None or not health.is_reconciled(replica.shoot):
        return WaitForReplica(
            replica, "ShootReconciling", f"the Shoot of {name} is being reconciled"
        )
    if not replica.is_seed_ready:
        return WaitForReplica(replica, "SeedNotReady", f"the Seed of {name} is not ready")
    if not replica.is_ready:
        shoot = health.shoot_health(replica.shoot)
        if shoot != "healthy":
            return WaitForReplica(replica, "ShootNotHealthy", f"the Shoot of {name} is {shoot}")
        return WaitForReplica(replica, "ManagedSeedPreparing", f"{name} is being registered")
    return _hosted_shoots_blocker(replica, settings)


def _hosted_shoots_blocker(replica: Replica, settings: RolloutSettings) -> WaitForReplica | None:
    hosted = replica.hosted
    if is_within_limit(settings.limit, hosted):
        return None
    message = (
        f"{hosted.unready} of {hosted.total} shoots on {replica.name} are not ready, more than"
        f" {settings.limit} (spec.updateStrategy.rollingUpdate.maxUnreadyShoots)"
    )
    return WaitForReplica(replica, "HostedShootsUnready", message)


def render_template(template: Raw, name: str) -> Draft:
    """Return a template with a replica's name in place of the placeholder in its domains."""
    filled: Draft = deep_copy(template)
    for domain, field in _domains(filled):
        domain[field] = domain[field].replace(names.REPLICA_NAME, name)
    return filled


def _domains(template: Draft) -> Iterable[tuple[Draft, str]]:
    spec = template.get("spec") or {}
    config = (spec.get("gardenlet") or {}).get("config") or {}
    seeds = (spec.get("seedTemplate") or {}, config.get("seedConfig") or {})
    candidates: list[tuple[Any, str]] = [(spec.get("dns"), "domain")]
    for seed in seeds:
        inner = seed.get("spec") or {}
        candidates += [(inner.get("ingress"), "domain"), (inner.get("dns"), "ingressDomain")]
    for parent, field in candidates:
        if isinstance(parent, dict) and isinstance(parent.get(field), str):
            yield parent, field


def _scalar(text: str | None) -> int | str | None:
    if text is None:
        return None
    return int(text) if text.isdigit() and text.isascii() else text
