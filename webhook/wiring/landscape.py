"""Who serves which kinds here: asked at start, and followed as APIServices and CRDs change."""

import logging
from dataclasses import replace
from typing import Any, Final

from webhook.admission.table import POLICIES
from webhook.api import conditions, names
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import definable
from webhook.api.kinds import KINDS, Kind
from webhook.api.meta import Object, ObjectKey
from webhook.cluster import landscape
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.errors import ForbiddenError
from webhook.cluster.landscape import GARDENER

logger = logging.getLogger(__name__)

_AVAILABLE: Final = "Available"
_TAKEN: Final = ("scheduling of espalier's shoots", "rollouts of sets", "seed autoscaling")
_LEFT: Final = ("managed seeds", "replicas of sets", "capacity of seeds")


class CoveredError(Exception):
    """Definitions of ours that an aggregated API covers: what is stored in them is unreachable."""


class Following:
    """Keeps the cache and the options at what the cluster says about its own APIs.

    A Gardener that was seen stays one until the process ends: an APIService that goes takes its
    kinds away, and whoever took that for a landscape without a Gardener would do its work.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._told: frozenset[type[Object]] = frozenset()
        self._silent: frozenset[type[Object]] = frozenset()

    async def ask(self, client: Client) -> None:
        """Look before anything is done; raises CoveredError where nothing can be.

        Whoever may not look takes a Gardener for granted: that only ever does less.
        """
        try:
            found = await landscape.ask(client)
        except ForbiddenError as error:
            self._note_gardener()
            message = "cannot tell whether a Gardener is there, so nothing of one's is done"
            logger.warning(message, extra={"error": str(error)})
            return
        if covered := [kind.resource for kind in found.covered()]:
            raise CoveredError(
                f"an aggregated API covers our definitions of {', '.join(covered)}: "
                "delete them, or the APIService, before Espalier can serve here"
            )
        if found.has_gardener:
            self._note_gardener()

    def begin(self) -> None:
        """Look now and at every change."""
        for model in (APIService, CustomResourceDefinition):
            self._cache.add_listener(model, self._look)

    def tell(self) -> None:
        """Say in one line what is ours here and what is not."""
        options = self._cache.memory.options
        beside = options.beside_gardener
        ours = [row.name for row in POLICIES if row.beside_gardener or not beside]
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
        if self._is_aggregated(GARDENER) and not self._cache.memory.options.beside_gardener:
            self._note_gardener()
            if self._cache.synced:
                self.tell()
        covered = frozenset(
            kind.model
            for kind in definable(beside_gardener=False)
            if self._is_aggregated(f"{kind.version}.{kind.group}") and self._is_ours(kind)
        )
        # Watches on a frozen server stay open and silent: only kube-apiserver's own check tells.
        silent = frozenset(
            kind.model
            for kind in KINDS
            if kind.origin != "kubernetes" and self._is_silent(f"{kind.version}.{kind.group}")
        )
        if covered != self._told:
            _name(covered)
        if silent != self._silent:
            _name_silent(silent)
        if (covered, silent) != (self._told, self._silent):
            self._told, self._silent = covered, silent
            self._cache.withhold(covered | silent)

    def _note_gardener(self) -> None:
        memory = self._cache.memory
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

    def _is_ours(self, kind: Kind) -> bool:
        found = self._cache.peek(CustomResourceDefinition, ObjectKey("", kind.resource))
        return found is not None and (
            found.metadata.labels.get(names.MANAGED_BY) == names.FIELD_MANAGER
        )


def _name_silent(silent: frozenset[type[Object]]) -> None:
    if not silent:
        logger.info("every aggregated API answers again")
        return
    kinds = sorted(model.__name__ for model in silent)
    message = "an aggregated API does not answer: what needs these kinds waits"
    logger.warning(message, extra={"kinds": kinds})


def _name(covered: frozenset[type[Object]]) -> None:
    if not covered:
        logger.info("no aggregated API covers definitions of ours any more")
        return
    kinds = sorted(model.__name__ for model in covered)
    message = "an aggregated API covers our definitions: what needs these kinds stops"
    logger.error(message, extra={"kinds": kinds})
