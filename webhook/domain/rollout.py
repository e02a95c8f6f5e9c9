"""How a set's replicas get a changed template: revisions, partition, and the next step."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from webhook.api import conditions, names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft, Raw
from webhook.domain import health
from webhook.domain.health import Hosted
from webhook.domain.replicas import Replica, revision_of

DEFAULT_LIMIT: Final = "10%"
DEFAULT_HISTORY: Final = 10

COMPLETE: Final = "Complete"
RESTING: Final = (COMPLETE, "PartitionReached", "Paused")
"""The reasons of Progressing while no replica changes and none is about to."""

TEMPLATES: Final = ("template", "shootTemplate")
"""The parts of a set's spec that make a revision."""

# Kubernetes' alphabet for generated names: no vowels, so no words.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_DIGITS: Final = 10
_LONGEST_BASE: Final = 63 - 1 - _DIGITS  # the name is also the value of a label


class Settings(NamedTuple):
    """How a set wants to be rolled out and scaled, with defaults filled in."""

    partition: int = 0
    limit: int | str = DEFAULT_LIMIT
    paused: bool = False
    max_parallel: int = 1
    history: int = DEFAULT_HISTORY


class Update(NamedTuple):
    """The replica to bring to the update revision next."""

    replica: Replica


class Wait(NamedTuple):
    """What has to get well before the rollout goes on."""

    replica: Replica
    reason: str
    message: str


Step: TypeAlias = Update | Wait


def settings_of(owner: ManagedSeedSet) -> Settings:
    """Read a set's wishes; where Gardener serves the kind, our fields are annotations."""
    spec, annotations = owner.spec, owner.metadata.annotations
    rolling = spec.update_strategy.rolling_update if spec.update_strategy is not None else None
    limit = rolling.max_unready_shoots if rolling is not None else None
    if limit is None:
        limit = _scalar(annotations.get(names.MAX_UNREADY_SHOOTS))
    parallel = spec.max_parallel or _scalar(annotations.get(names.MAX_PARALLEL)) or 1
    history = spec.revision_history_limit
    return Settings(
        partition=(rolling.partition if rolling is not None else None) or 0,
        limit=DEFAULT_LIMIT if limit is None else limit,  # none at all is a limit, too
        paused=spec.paused or annotations.get(names.PAUSED) == "true",
        max_parallel=max(1, parallel) if isinstance(parallel, int) else 1,
        history=DEFAULT_HISTORY if history is None else history,
    )


def data_of(raw: Raw) -> Draft:
    """Return what a revision keeps of a set: both templates, whole."""
    spec = raw.get("spec") or {}
    return {"spec": {name: spec[name] for name in TEMPLATES if name in spec}}


def canonical(data: Any) -> bytes:
    """Write data so that equal templates are equal bytes."""
    return msgspec.json.encode(data, order="deterministic")


def revision_name(base: str, data: Raw, collisions: int = 0) -> str:
    """Name a revision after its content; collisions make another name of the same content."""
    salt = str(collisions).encode() if collisions else b""
    number = int.from_bytes(hashlib.sha256(canonical(data) + salt).digest()[:8], "big")
    digits = []
    for _ in range(_DIGITS):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return f"{base[:_LONGEST_BASE].rstrip('-.')}-{''.join(digits)}"


def allows(limit: int | str, hosted: Hosted) -> bool:
    """Tell whether so few of a seed's shoots are unready that a rollout may go on."""
    if isinstance(limit, int):
        return hosted.unready <= limit
    return hosted.unready * 100 <= percent(limit) * hosted.total


def percent(limit: str) -> int:
    """Read a percentage such as 10%; what cannot be read allows nothing."""
    digits = limit.removesuffix("%")
    readable = digits != limit and digits.isdigit() and digits.isascii()
    return int(digits) if readable else 0


def wanted_revision(ordinal: int, settings: Settings, current: str, update: str) -> str:
    """Name the revision that a new replica is made from.

    Below the partition, and while the set is paused, that is what the others have.
    """
    held_back = settings.paused or ordinal < settings.partition
    return current if held_back else update


def next_step(
    replicas: Sequence[Replica],
    revision: str,
    settings: Settings,
    current: str = "",
    lacking: Callable[[Replica, Settings], Wait | None] | None = None,
) -> Step | None:
    """Choose the next step of a rolling update; None if there is none left.

    From the largest ordinal to the smallest, one at a time: only when every updated replica is
    settled and its shoots are well enough does the next one follow. That one's own shoots must
    be well, too: a seed in trouble is no place for an experiment. One that has not got over an
    earlier change goes before all others, whatever its shoots say: this may be what mends it.
    `current` was rolled out last; `lacking` says what an updated replica still lacks, where more
    counts than usual. While a set is paused, nothing new begins.
    """
    lacks = lacking or trouble_of
    concerned = [each for each in replicas if each.is_living and each.ordinal >= settings.partition]
    touched = [each for each in concerned if _is_touched(each, revision, current)]
    behind = [each for each in concerned if not each.is_at(revision)]
    for replica in touched:
        waits = settings.paused or replica.is_at(revision)
        if waits and (trouble := lacks(replica, settings)):
            return trouble
    if not behind or settings.paused:
        return None
    unfinished = [
        each
        for each in touched
        if not each.is_at(revision) and (_is_partly_at(each, revision) or lacks(each, settings))
    ]
    if unfinished:
        return Update(max(unfinished, key=lambda replica: replica.ordinal))
    chosen = max(behind, key=lambda replica: replica.ordinal)
    return _crowd_trouble(chosen, settings) or Update(chosen)


def _is_touched(replica: Replica, revision: str, current: str) -> bool:
    """Tell whether this rollout, or one that was given up for it, has reached a replica."""
    told = {revision_of(half) for half in replica.halves}
    return _is_partly_at(replica, revision) or bool(told - {"", current})


def _is_partly_at(replica: Replica, revision: str) -> bool:
    return any(revision_of(half) == revision for half in replica.halves)


def is_under_way(owner: ManagedSeedSet) -> bool:
    """Tell by its status whether a set that is rolled has replicas which change, or will next."""
    told = conditions.get(owner.status.conditions, names.PROGRESSING)
    return told is not None and told.reason not in RESTING


def trouble_of(replica: Replica, settings: Settings) -> Wait | None:
    """Say what an updated replica still lacks."""
    name = replica.name
    if replica.has_failed:
        return Wait(replica, "ShootReconcileFailed", f"the Shoot of {name} failed to reconcile")
    if replica.shoot is None or not health.is_reconciled(replica.shoot):
        return Wait(replica, "ShootReconciling", f"the Shoot of {name} is being reconciled")
    if not replica.is_seed_ready:
        return Wait(replica, "SeedNotReady", f"the Seed of {name} is not ready")
    if not replica.is_ready:
        shoot = health.of_shoot(replica.shoot)
        if shoot != "healthy":
            return Wait(replica, "ShootNotHealthy", f"the Shoot of {name} is {shoot}")
        return Wait(replica, "ManagedSeedPreparing", f"{name} is being registered")
    return _crowd_trouble(replica, settings)


def _crowd_trouble(replica: Replica, settings: Settings) -> Wait | None:
    hosted = replica.hosted
    if allows(settings.limit, hosted):
        return None
    message = (
        f"{hosted.unready} of {hosted.total} shoots on {replica.name} are not ready, more than"
        f" {settings.limit} (spec.updateStrategy.rollingUpdate.maxUnreadyShoots)"
    )
    return Wait(replica, "HostedShootsUnready", message)


def fill_in(template: Raw, name: str) -> Draft:
    """Put a replica's name where its domains leave room for it."""
    filled: Draft = msgspec.json.decode(msgspec.json.encode(template))
    for domain, field in _domains(filled):
        domain[field] = domain[field].replace(names.REPLICA_NAME, name)
    return filled


def _domains(template: Draft) -> Iterable[tuple[Draft, str]]:
    spec = template.get("spec") or {}
    config = (spec.get("gardenlet") or {}).get("config") or {}
    seeds = (spec.get("seedTemplate") or {}, config.get("seedConfig") or {})
    places: list[tuple[Any, str]] = [(spec.get("dns"), "domain")]
    for seed in seeds:
        inner = seed.get("spec") or {}
        places += [(inner.get("ingress"), "domain"), (inner.get("dns"), "ingressDomain")]
    for place, field in places:
        if isinstance(place, dict) and isinstance(place.get(field), str):
            yield place, field


def _scalar(text: str | None) -> int | str | None:
    if text is None:
        return None
    return int(text) if text.isdigit() and text.isascii() else text
