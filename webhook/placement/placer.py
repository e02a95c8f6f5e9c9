"""Places a shoot on a seed with two writes, each of which fails after a concurrent change.

The first write enters the shoot in the seed's ledger, which all replicas of Espalier share. The
second one binds the shoot at the resourceVersion that was decided on. Whichever replica is killed,
frozen or late, no seed gets more shoots than it can take.
"""

import logging
from collections.abc import Coroutine, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from webhook.api import names
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnavailableError,
)
from webhook.domain.options import Options
from webhook.domain.seeds import usage
from webhook.domain.shoots import ha
from webhook.kube.clock import Clock
from webhook.kube.meta import Draft, ObjectKey
from webhook.kube.timestamps import format_time
from webhook.placement.ledger_writer import LedgerContendedError, LedgerWriter
from webhook.runtime.actions import FIELD_MANAGER, Emit
from webhook.runtime.event_recorder import EventRecorder
from webhook.scheduling.ledger import Ledger, LedgerEntry
from webhook.state.views import AssumingCache

logger = logging.getLogger(__name__)

PlacementResult: TypeAlias = Literal[
    "bound", "full", "changed", "gone", "refused", "forbidden", "unknown"
]

RESET: Final = "LedgerReset"

_SHOOT: Final = kind_of_model(Shoot)
_SEED: Final = kind_of_model(Seed)
_QUERY: Final = {"fieldManager": FIELD_MANAGER}
_ATTEMPTS: Final = 5
_RETRY_SECONDS: Final = 0.5


class Placed(NamedTuple):
    """How a placement ended.

    `full` and `changed` call for another decision. `refused`: the API server rejects this seed for
    the shoot; `forbidden`: we lack the permission. `unknown`: there was no response; the ledger
    entry stays, so that the seed is not overcommitted whether the write happened or not.
    """

    result: PlacementResult
    message: str = ""
    error: ApiError | None = None


class Placement(NamedTuple):
    """The decision to place a shoot on a seed."""

    shoot: Shoot
    seed: str
    weakened: bool = False


class Placer:
    """Carries placements out; a process has one, shared by the scheduler and the extender."""

    def __init__(
        self, client: Client, cache: AssumingCache, clock: Clock, recorder: EventRecorder
    ) -> None:
        self._client = client
        self._cache = cache
        self._clock = clock
        self._recorder = recorder
        self._ledger_writers: dict[str, LedgerWriter] = {}
        self._is_primed = False

    def place(self, placement: Placement) -> Coroutine[Any, Any, Placed]:
        """Assume a placement at once, so that the next decision counts it.

        The caller awaits the returned coroutine, which writes it.
        """
        options = self._cache.snapshot().options
        entry = _entry(placement, options, self._clock.now())
        self._cache.assume(assumed(placement))
        self.ledger_writer(placement.seed).assume(entry)
        return self._carry_out(placement, entry)

    async def _carry_out(self, placement: Placement, entry: LedgerEntry) -> Placed:
        shoot = placement.shoot
        try:
            placed = await self._place(placement, entry)
        except BaseException:
            self._cache.forget(Shoot, shoot.key)
            raise
        finally:
            self.ledger_writer(placement.seed).forget(entry)
        if placed.result not in ("bound", "unknown"):
            self._cache.forget(Shoot, shoot.key)
        _log(placement, placed)
        return placed

    def ledger_writer(self, seed: str) -> LedgerWriter:
        """Return the writer of a seed's ledger in this process."""
        ledger_writer = self._ledger_writers.get(seed)
        if ledger_writer is None:
            known = Ledger(seed) if self._is_primed else None
            ledger_writer = LedgerWriter(
                seed, self._client, self._cache, self._clock, self._report_reset, known
            )
            self._ledger_writers[seed] = ledger_writer
        return ledger_writer

    def prime(self, ledgers: Iterable[Ledger]) -> None:
        """Take all ledgers that exist, so that no placement has to read its own.

        Other seeds have none. If one changed since, the next write conflicts and it is read again.
        """
        for found in ledgers:
            self.ledger_writer(found.seed).prime(found)
        self._is_primed = True

    async def _place(self, placement: Placement, entry: LedgerEntry) -> Placed:
        ledger_writer = self.ledger_writer(placement.seed)
        scheduling = self._cache.snapshot().options.scheduling
        shoots_only = scheduling.is_gardener_profile(placement.shoot.spec.scheduler_name)
        try:
            entered = await ledger_writer.enter(entry, shoots_only=shoots_only)
        except LedgerContendedError as error:
            return Placed("changed", str(error))
        match entered:
            case "full":
                return Placed("full", f"seed {placement.seed} has no room left")
            case "no seed":
                return Placed("changed", f"seed {placement.seed} is gone")
            case "taken":
                return Placed("changed", "another replica places this shoot")
            case _:
                return await self._bind(placement, ledger_writer)

    async def _bind(self, placement: Placement, ledger_writer: LedgerWriter) -> Placed:
        shoot = placement.shoot
        try:
            written = await self._write(placement)
        except (ConflictError, UnavailableError) as error:
            return await self._resolve_unknown(placement, ledger_writer, error)
        except NotFoundError:
            await self._release(placement, ledger_writer)
            return Placed("gone", f"shoot {shoot.key} is gone")
        except ApiError as error:
            await self._release(placement, ledger_writer)
            return Placed(_result_of(error), str(error), error)
        self._cache.confirm(Shoot, shoot.key, written)
        return Placed("bound")

    async def _write(self, placement: Placement) -> str:
        shoot = placement.shoot
        beside_gardener = self._cache.snapshot().options.beside_gardener
        written = await self._client.patch(
            _SHOOT,
            shoot.key,
            binding_patch(placement),
            subresource="binding" if beside_gardener else "",
            query=_QUERY,
        )
        return str(written["metadata"]["resourceVersion"])

    async def _resolve_unknown(
        self, placement: Placement, ledger_writer: LedgerWriter, error: ApiError
    ) -> Placed:
        """Find out whether a write that conflicted or got no response was carried out."""
        shoot = placement.shoot
        for _ in range(_ATTEMPTS):
            live = await self._read_shoot(shoot.key)
            if isinstance(live, ApiError):
                return Placed("unknown", str(error))
            if live is not None and live.uid == shoot.uid:
                if live.spec.seed_name == placement.seed:
                    self._cache.confirm(Shoot, shoot.key, live.resource_version)
                    return Placed("bound")
                if live.resource_version == shoot.resource_version and not await self.touch(live):
                    continue
            await self._release(placement, ledger_writer)
            return Placed("changed", str(error))
        return Placed("unknown", str(error))

    async def touch(self, shoot: Shoot) -> bool:
        """Change a shoot's resourceVersion, so that a write still in flight must conflict."""
        stamp = format_time(self._clock.now())
        metadata = {
            "uid": shoot.uid,
            "resourceVersion": shoot.resource_version,
            "annotations": {names.TOUCHED: stamp},
        }
        try:
            await self._client.patch(_SHOOT, shoot.key, {"metadata": metadata}, query=_QUERY)
        except ApiError:
            return False
        return True

    async def _read_shoot(self, key: ObjectKey) -> Shoot | ApiError | None:
        failure: ApiError | None = None
        for _ in range(_ATTEMPTS):
            try:
                return decode(Shoot, await self._client.send(requests.get(_SHOOT, key)))
            except NotFoundError:
                return None
            except ApiError as error:
                failure = error
                await self._clock.sleep(_RETRY_SECONDS)
        return failure

    async def _release(self, placement: Placement, ledger_writer: LedgerWriter) -> None:
        shoot = placement.shoot
        try:
            await ledger_writer.release(shoot.uid, shoot.resource_version)
        except (LedgerContendedError, ApiError) as error:
            fields = {"shoot": str(shoot.key), "seed": placement.seed, "error": str(error)}
            logger.warning("ledger entry left behind", extra=fields)

    def _report_reset(self, seed: str, message: str) -> None:
        found = self._cache.snapshot().get(Seed, ObjectKey("", seed))
        if found is not None:
            self._recorder.emit(Emit(_SEED, found, RESET, message, "Warning"))


def _log(placement: Placement, placed: Placed) -> None:
    fields = {"shoot": str(placement.shoot.key), "seed": placement.seed}
    if placed.result == "bound":
        logger.info("placed", extra=fields)
        return
    fields |= {"result": placed.result, "reason": placed.message}
    message = "placement is not known" if placed.result == "unknown" else "not placed"
    # A missing permission is logged once, as a warning, and stops every attempt alike.
    level = logging.DEBUG if placed.result == "forbidden" else logging.INFO
    logger.log(level, message, extra=fields)


def _result_of(error: ApiError) -> PlacementResult:
    if not isinstance(error, ForbiddenError):
        return "refused"
    if error.is_anonymous:
        return "changed"
    return "refused" if error.missing_permission is None else "forbidden"


def binding_patch(placement: Placement) -> Draft:
    """Return the merge patch that places a shoot, valid for the resourceVersion decided on."""
    shoot = placement.shoot
    metadata: dict[str, Any] = {"uid": shoot.uid, "resourceVersion": shoot.resource_version}
    if placement.weakened:
        metadata["annotations"] = {names.EFFECTIVE_FAILURE_DOMAIN: ha.SINGLE_ZONE}
    return {"metadata": metadata, "spec": {"seedName": placement.seed}}


def assumed(placement: Placement) -> Shoot:
    """Return the shoot as it will be once placed, with its present resourceVersion."""
    shoot = placement.shoot
    spec = msgspec.structs.replace(shoot.spec, seed_name=placement.seed)
    metadata = shoot.metadata
    if placement.weakened:
        annotations: Mapping[str, str] = {
            **metadata.annotations,
            names.EFFECTIVE_FAILURE_DOMAIN: ha.SINGLE_ZONE,
        }
        metadata = msgspec.structs.replace(metadata, annotations=annotations)
    return msgspec.structs.replace(shoot, metadata=metadata, spec=spec)


def _entry(placement: Placement, options: Options, now: datetime) -> LedgerEntry:
    shoot = placement.shoot
    amounts: Mapping[str, Decimal] = usage.usage_of(assumed(placement), options.usage)
    if placement.seed in usage.seeds_of(shoot):
        amounts = {}  # the seed counts it already
    return LedgerEntry(shoot.uid, shoot.key, shoot.resource_version, now, amounts)
