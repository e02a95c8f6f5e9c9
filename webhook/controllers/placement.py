"""Put a shoot on a seed: two writes, each of which fails if the world has changed since.

First the seed's ledger, where every replica counts; then the shoot, at the version that was
decided about. Whichever replica is killed, frozen or late: no seed gets more than it can take.
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
from webhook.api.meta import Draft, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.api.timestamps import format_time
from webhook.cluster import requests
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    ApiError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnavailableError,
)
from webhook.controllers.ledgers import BusyError, Clerk, Remembering
from webhook.domain import ha, usage
from webhook.domain.options import Options
from webhook.runtime.actions import MANAGER, Emit
from webhook.runtime.clock import Clock
from webhook.runtime.recorder import Recorder
from webhook.scheduling.ledger import Entry, Ledger

logger = logging.getLogger(__name__)

Result: TypeAlias = Literal["bound", "full", "changed", "gone", "refused", "barred", "unknown"]

RESET: Final = "LedgerReset"

_SHOOT: Final = kind_of_model(Shoot)
_SEED: Final = kind_of_model(Seed)
_QUERY: Final = {"fieldManager": MANAGER}
_LOOKS: Final = 5
_PAUSE: Final = 0.5


class Placed(NamedTuple):
    """How a placement ended.

    `full` and `changed` ask for another decision; `refused` is the API server's word on shoot and
    seed, `barred` one on our own rights; `unknown` means that nobody answered: the entry stays, so
    that nothing is lost either way.
    """

    result: Result
    message: str = ""
    error: ApiError | None = None


class Placement(NamedTuple):
    """A decision to be carried out."""

    shoot: Shoot
    seed: str
    weakened: bool = False


class Placer:
    """Carries placements out; one for a process, shared by the scheduler and by bind."""

    def __init__(
        self, client: Client, cache: Remembering, clock: Clock, recorder: Recorder
    ) -> None:
        self._client = client
        self._cache = cache
        self._clock = clock
        self._recorder = recorder
        self._clerks: dict[str, Clerk] = {}
        self._has_learned = False

    def place(self, placement: Placement) -> Coroutine[Any, Any, Placed]:
        """Assume a placement at once, so that the next decision counts it, and carry it out.

        Whoever calls this awaits what it returns.
        """
        options = self._cache.snapshot().options
        entry = _entry(placement, options, self._clock.now())
        self._cache.assume(assumed(placement))
        self.clerk(placement.seed).announce(entry)
        return self._carry_out(placement, entry)

    async def _carry_out(self, placement: Placement, entry: Entry) -> Placed:
        shoot = placement.shoot
        try:
            placed = await self._place(placement, entry)
        except BaseException:
            self._cache.forget(Shoot, shoot.key)
            raise
        finally:
            self.clerk(placement.seed).withdraw(entry)
        if placed.result not in ("bound", "unknown"):
            self._cache.forget(Shoot, shoot.key)
        fields = {"shoot": str(shoot.key), "seed": placement.seed, "result": placed.result}
        logger.info("placed", extra=fields)
        return placed

    def clerk(self, seed: str) -> Clerk:
        """Return who keeps a seed's ledger in this process."""
        clerk = self._clerks.get(seed)
        if clerk is None:
            known = Ledger(seed) if self._has_learned else None
            clerk = Clerk(seed, self._client, self._cache, self._clock, self._tell_reset, known)
            self._clerks[seed] = clerk
        return clerk

    def learn(self, ledgers: Iterable[Ledger]) -> None:
        """Take over all ledgers that there are, so that no placement has to look for its own.

        Seeds that are not among them have none. Whatever changes meanwhile makes the next write
        fail, and only then is one read again.
        """
        for found in ledgers:
            self.clerk(found.seed).learn(found)
        self._has_learned = True

    async def _place(self, placement: Placement, entry: Entry) -> Placed:
        clerk = self.clerk(placement.seed)
        scheduling = self._cache.snapshot().options.scheduling
        shoots_only = scheduling.is_gardeners(placement.shoot.spec.scheduler_name)
        try:
            answer = await clerk.enter(entry, shoots_only=shoots_only)
        except BusyError as error:
            return Placed("changed", str(error))
        match answer:
            case "full":
                return Placed("full", f"seed {placement.seed} has no room left")
            case "no seed":
                return Placed("changed", f"seed {placement.seed} is gone")
            case "taken":
                return Placed("changed", "another replica places this shoot")
            case _:
                return await self._bind(placement, clerk)

    async def _bind(self, placement: Placement, clerk: Clerk) -> Placed:
        shoot = placement.shoot
        try:
            written = await self._write(placement)
        except (ConflictError, UnavailableError) as error:
            return await self._find_out(placement, clerk, error)
        except NotFoundError:
            await self._release(placement, clerk)
            return Placed("gone", f"shoot {shoot.key} is gone")
        except ApiError as error:
            await self._release(placement, clerk)
            return Placed(_result_of(error), str(error), error)
        self._cache.confirm(Shoot, shoot.key, written)
        return Placed("bound")

    async def _write(self, placement: Placement) -> str:
        shoot = placement.shoot
        beside_gardener = self._cache.snapshot().options.beside_gardener
        answer = await self._client.patch(
            _SHOOT,
            shoot.key,
            change(placement),
            subresource="binding" if beside_gardener else "",
            query=_QUERY,
        )
        return str(answer["metadata"]["resourceVersion"])

    async def _find_out(self, placement: Placement, clerk: Clerk, error: ApiError) -> Placed:
        """Look what became of a write that was refused, or that nobody answered."""
        shoot = placement.shoot
        for _ in range(_LOOKS):
            live = await self._look(shoot.key)
            if isinstance(live, ApiError):
                return Placed("unknown", str(error))
            if live is not None and live.uid == shoot.uid:
                if live.spec.seed_name == placement.seed:
                    self._cache.confirm(Shoot, shoot.key, live.resource_version)
                    return Placed("bound")
                if live.resource_version == shoot.resource_version and not await self.touch(live):
                    continue
            await self._release(placement, clerk)
            return Placed("changed", str(error))
        return Placed("unknown", str(error))

    async def touch(self, shoot: Shoot) -> bool:
        """Give a shoot another version, so that a write that is still on its way must fail."""
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

    async def _look(self, key: ObjectKey) -> Shoot | ApiError | None:
        failure: ApiError | None = None
        for _ in range(_LOOKS):
            try:
                return decode(Shoot, await self._client.send(requests.get(_SHOOT, key)))
            except NotFoundError:
                return None
            except ApiError as error:
                failure = error
                await self._clock.sleep(_PAUSE)
        return failure

    async def _release(self, placement: Placement, clerk: Clerk) -> None:
        shoot = placement.shoot
        try:
            await clerk.release(shoot.uid, shoot.resource_version)
        except (BusyError, ApiError) as error:
            fields = {"shoot": str(shoot.key), "seed": placement.seed, "error": str(error)}
            logger.warning("ledger entry left behind", extra=fields)

    def _tell_reset(self, seed: str, message: str) -> None:
        found = self._cache.snapshot().get(Seed, ObjectKey("", seed))
        if found is not None:
            self._recorder.emit(Emit(_SEED, found, RESET, message, "Warning"))


def _result_of(error: ApiError) -> Result:
    if not isinstance(error, ForbiddenError):
        return "refused"
    if error.mistakes_us:
        return "changed"
    return "refused" if error.missing is None else "barred"


def change(placement: Placement) -> Draft:
    """Return the merge patch that places a shoot, good for the version decided about only."""
    shoot = placement.shoot
    metadata: dict[str, Any] = {"uid": shoot.uid, "resourceVersion": shoot.resource_version}
    if placement.weakened:
        metadata["annotations"] = {names.EFFECTIVE_FAILURE_DOMAIN: ha.SINGLE_ZONE}
    return {"metadata": metadata, "spec": {"seedName": placement.seed}}


def assumed(placement: Placement) -> Shoot:
    """Return the shoot as the placement will leave it, still with the version it had."""
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


def _entry(placement: Placement, options: Options, now: datetime) -> Entry:
    shoot = placement.shoot
    amounts: Mapping[str, Decimal] = usage.of(assumed(placement), options.usage)
    if placement.seed in usage.seeds(shoot):
        amounts = {}  # it counts there already
    return Entry(shoot.uid, shoot.key, shoot.resource_version, now, amounts)
