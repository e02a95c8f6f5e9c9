"""Who serves which kinds here: asked at start, and followed as APIServices and CRDs change."""

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

from webhook.admission.configuration import is_used
from webhook.admission.table import POLICIES
from webhook.api import conditions, names
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import definable
from webhook.api.kinds import KINDS, Kind
from webhook.api.meta import Object, ObjectKey
from webhook.cluster import landscape, remembrance
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, ForbiddenError
from webhook.cluster.landscape import GARDENER, Landscape
from webhook.runtime.clock import Clock

logger = logging.getLogger(__name__)

_TROUBLES: Final = (
    (
        logging.ERROR,
        "an aggregated API covers our definitions: what needs these kinds stops",
        "no aggregated API covers definitions of ours any more",
    ),
    (
        logging.ERROR,
        "an aggregated API claims a version of our definitions: apply the manifests again",
        "no aggregated API claims a version of our definitions any more",
    ),
    (
        logging.WARNING,
        "an aggregated API does not answer: what needs these kinds waits",
        "every aggregated API answers again",
    ),
)
"""What is told of kinds that are covered, claimed in part, or silent, and when that is over."""

T = TypeVar("T")
Models: TypeAlias = frozenset[type[Object]]

AGAIN_SECONDS: Final = 10.0

_AVAILABLE: Final = "Available"
_TAKEN: Final = ("scheduling of espalier's shoots", "rollouts of sets", "seed autoscaling")
_LEFT: Final = ("managed seeds", "replicas of sets", "capacity of seeds")


class CoveredError(Exception):
    """Definitions of ours that an aggregated API covers: what is stored in them is unreachable."""


class Following:
    """Keeps the cache and the options at what the cluster says about its own APIs.

    A Gardener that was seen stays one, beyond the end of the process: an APIService that goes
    takes its kinds away, and whoever took that for a landscape without a Gardener would do its
    work. Only `standalone` makes us forget it.
    """

    def __init__(self, cache: Cache, namespace: str, *, standalone: bool = False) -> None:
        self._cache = cache
        self._namespace = namespace
        self._standalone = standalone
        self._seen = asyncio.Event()
        self._told: tuple[Models, Models, Models] = (frozenset(), frozenset(), frozenset())

    async def ask(self, client: Client) -> None:
        """Look before anything is done; raises CoveredError where nothing can be.

        Whoever may not look takes a Gardener for granted: that only ever does less.
        """
        doubt = "cannot tell whether a Gardener is there, so nothing of one's is done"
        aggregated = await _unless_forbidden(landscape.ask_services(client), doubt)
        doubt = "cannot tell whether an aggregated API covers our definitions"
        definitions = await _unless_forbidden(landscape.ask_definitions(client), doubt)
        found = Landscape(aggregated or frozenset(), definitions or {})
        if complaint := _complain(found):
            raise CoveredError(complaint)
        if found.has_gardener or aggregated is None:
            self._note_gardener(seen=found.has_gardener)
            if self._standalone:
                logger.warning("a Gardener may be there, so `standalone` is not heeded")
        elif self._standalone:
            await remembrance.drop(client, self._namespace)
        elif await remembrance.is_kept(client, self._namespace):
            self._note_gardener(seen=False)
            message = "a Gardener was here before and its APIService is gone"
            logger.warning(message, extra={"remedy": remembrance.REMEDY})

    async def remember(self, client: Client, clock: Clock) -> None:
        """Keep for the next start that a Gardener was seen, as soon as one is."""
        await self._seen.wait()
        told = ""
        while True:
            try:
                await remembrance.keep(client, self._namespace)
            except ApiError as error:
                if str(error) != told:
                    told = str(error)
                    logger.warning("cannot note that a Gardener is here", extra={"error": told})
                await clock.sleep(AGAIN_SECONDS)
            else:
                return

    def begin(self) -> None:
        """Look now and at every change."""
        for model in (APIService, CustomResourceDefinition):
            self._cache.add_listener(model, self._look)

    def tell(self) -> None:
        """Say in one line what is ours here and what is not."""
        options = self._cache.memory.options
        beside = options.beside_gardener
        ours = [row.name for row in POLICIES if is_used(row, options)]
        left = [row.name for row in POLICIES if not row.beside_gardener and beside]
        duties = {
            "managed seeds": options.keeps_managed_seeds,
            "replicas of sets": options.keeps_managed_seed_sets,
        }
        kept = [duty for duty in _LEFT if not duties.get(duty)] if beside else []
        taken = [*_TAKEN, *(duty for duty in _LEFT if duty not in kept)]
        logger.info(
            "beside a Gardener" if beside else "without a Gardener",
            extra={
                "takes_on": taken,
                "leaves_to_gardener": kept,
                "policies": list(dict.fromkeys(ours)),
                "policies_left": list(dict.fromkeys(left)),
            },
        )

    def _look(self, _old: Any, _new: Any) -> None:
        if self._is_aggregated(GARDENER):
            is_news = not self._cache.memory.options.beside_gardener
            self._note_gardener()
            if is_news and self._cache.synced:
                self.tell()
        lost = {kind: self._lost_versions(kind) for kind in definable(beside_gardener=False)}
        covered = frozenset(kind.model for kind, found in lost.items() if kind.version in found)
        claimed = frozenset(kind.model for kind, found in lost.items() if found) - covered
        # Watches on a frozen server stay open and silent: only kube-apiserver's own check tells.
        silent = frozenset(
            kind.model
            for kind in KINDS
            if kind.origin != "kubernetes" and self._is_silent(f"{kind.version}.{kind.group}")
        )
        told, self._told = self._told, (covered, claimed, silent)
        for before, now, words in zip(told, self._told, _TROUBLES, strict=True):
            if before != now:
                _name(now, *words)
        if self._told != told:
            self._cache.withhold(covered | silent)

    def _note_gardener(self, *, seen: bool = True) -> None:
        if seen:
            self._seen.set()
        memory = self._cache.memory
        if memory.options.beside_gardener:
            return
        memory.configure(replace(memory.options, beside_gardener=True))

    def _is_aggregated(self, name: str) -> bool:
        found = self._cache.peek(APIService, ObjectKey("", name))
        return found is not None and found.spec.service is not None

    def _is_silent(self, name: str) -> bool:
        """Tell whether an aggregated API is known not to answer; until then it is trusted."""
        found = self._cache.peek(APIService, ObjectKey("", name))
        if found is None or found.spec.service is None:
            return False
        told = conditions.get(found.status.conditions, _AVAILABLE)
        return told is not None and told.status == conditions.FALSE

    def _lost_versions(self, kind: Kind) -> list[str]:
        """List the versions of a definition of ours that somebody else's APIService claims."""
        found = self._cache.peek(CustomResourceDefinition, ObjectKey("", kind.resource))
        if found is None or found.metadata.labels.get(names.MANAGED_BY) != names.FIELD_MANAGER:
            return []
        served = (version.name for version in found.spec.versions if version.served)
        return [each for each in served if self._is_aggregated(f"{each}.{kind.group}")]


async def _unless_forbidden(asked: Awaitable[T], doubt: str) -> T | None:
    try:
        return await asked
    except ForbiddenError as error:
        logger.warning(doubt, extra={"error": str(error)})
        return None


def _complain(found: Landscape) -> str:
    """Say which definitions of ours an aggregated API covers, and what to do; empty if none."""
    displaced = [kind.resource for kind in found.displaced()]
    claimed = [kind.resource for kind in found.covered() if kind.resource not in displaced]
    parts = []
    if displaced:
        parts.append(
            f"an aggregated API covers our definitions of {', '.join(displaced)}: "
            "delete them, or the APIService, before Espalier can serve here"
        )
    if claimed:
        parts.append(
            f"an aggregated API claims a version of our definitions of {', '.join(claimed)}: "
            "apply what `espalier manifests` prints again"
        )
    return "; ".join(parts)


def _name(models: Models, level: int, trouble: str, over: str) -> None:
    """Tell which kinds are in trouble, or that it is over."""
    if models:
        kinds = sorted(model.__name__ for model in models)
        logger.log(level, trouble, extra={"kinds": kinds})
    else:
        logger.info(over)
