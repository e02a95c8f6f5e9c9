"""Watches which APIs the cluster serves: at start, and whenever APIServices and CRDs change."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

from webhook.admission.table import POLICIES
from webhook.admission.webhook_configurations import is_used
from webhook.api import names
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.crds import definable
from webhook.api.kinds import KINDS, Kind
from webhook.cluster import discovery, gardener_marker
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.discovery import GARDENER_API, InstalledApis
from webhook.cluster.errors import ApiError, ForbiddenError
from webhook.domain.features import FEATURE_NAMES, Feature
from webhook.kube import conditions
from webhook.kube.clock import Clock
from webhook.kube.meta import Object, ObjectKey

logger = logging.getLogger(__name__)

_MESSAGES: Final = (
    (
        logging.ERROR,
        "an aggregated API covers our definitions: what needs these kinds stops",
        "no aggregated API covers our definitions any more",
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
"""The log messages for kinds that are covered, claimed in part or silent, and for the end of it."""

T = TypeVar("T")
Models: TypeAlias = frozenset[type[Object]]

RETRY_SECONDS: Final = 10.0

_AVAILABLE: Final = "Available"
_OWN_WORK: Final[Mapping[str, Feature]] = {
    "scheduling of espalier's shoots": "placement",
    "rollouts of sets": "seeds",
    "seed autoscaling": "seeds",
}
_GARDENER_WORK: Final[Mapping[str, Feature]] = {
    "managed seeds": "seeds",
    "replicas of sets": "seeds",
    "capacity of seeds": "placement",
}


class ShadowedDefinitionsError(Exception):
    """An aggregated API covers our definitions, so that the objects in them are unreachable."""


class ApiWatcher:
    """Updates the cache and the options with the APIs that the cluster serves.

    A Gardener that was seen once counts as present, even after a restart: an APIService may be
    missing for a while, and Espalier must not take over the work of a Gardener then. Only the
    setting `standalone` deletes that marker.
    """

    def __init__(self, cache: Cache, namespace: str, *, standalone: bool = False) -> None:
        self._cache = cache
        self._namespace = namespace
        self._standalone = standalone
        self._seen = asyncio.Event()
        self._reported: tuple[Models, Models, Models] = (frozenset(), frozenset(), frozenset())

    async def check_at_start(self, client: Client) -> None:
        """Detect a Gardener; raises ShadowedDefinitionsError if our definitions are covered.

        Without the permission to list APIServices a Gardener is assumed, which only does less.
        """
        consequence = "cannot detect a Gardener, so one is assumed"
        aggregated = await _unless_forbidden(discovery.list_aggregated_apis(client), consequence)
        consequence = "cannot detect whether an aggregated API covers our definitions"
        definitions = await _unless_forbidden(discovery.list_definitions(client), consequence)
        found = InstalledApis(aggregated or frozenset(), definitions or {})
        if message := _describe_claims(found):
            raise ShadowedDefinitionsError(message)
        if found.has_gardener or aggregated is None:
            self._assume_gardener(seen=found.has_gardener)
            if self._standalone:
                logger.warning("there may be a Gardener, so `standalone` is ignored")
        elif self._standalone:
            await gardener_marker.delete_marker(client, self._namespace)
        elif await gardener_marker.marker_exists(client, self._namespace):
            self._assume_gardener(seen=False)
            message = "a Gardener was seen before and its APIService is gone"
            logger.warning(message, extra={"remedy": gardener_marker.REMEDY})

    async def record_gardener(self, client: Client, clock: Clock) -> None:
        """Write the marker for the next start as soon as a Gardener is seen."""
        await self._seen.wait()
        reported = ""
        while True:
            try:
                await gardener_marker.write_marker(client, self._namespace)
            except ApiError as error:
                if str(error) != reported:
                    reported = str(error)
                    fields = {"error": reported}
                    logger.warning("cannot write the marker of a Gardener", extra=fields)
                await clock.sleep(RETRY_SECONDS)
            else:
                return

    def start(self) -> None:
        """Check now and at every change."""
        for model in (APIService, CustomResourceDefinition):
            self._cache.add_listener(model, self._check)

    def log_summary(self) -> None:
        """Log in one line which work is ours and which is left to a Gardener."""
        options = self._cache.state.options
        beside = options.beside_gardener
        ours = [row.name for row in POLICIES if is_used(row, options)]
        left = [row.name for row in POLICIES if not row.beside_gardener and beside]
        reconciled = {
            "managed seeds": options.reconciles_managed_seeds,
            "replicas of sets": options.reconciles_managed_seed_sets,
        }
        left_work = [work for work in _GARDENER_WORK if beside and not reconciled.get(work)]
        possible = {work: each for work, each in _GARDENER_WORK.items() if work not in left_work}
        own_work = [
            work
            for work, feature in {**_OWN_WORK, **possible}.items()
            if feature in options.features
        ]
        logger.info(
            "beside a Gardener" if beside else "without a Gardener",
            extra={
                "features": [each for each in FEATURE_NAMES if each in options.features],
                "takes_on": own_work,
                "leaves_to_gardener": left_work,
                "policies": list(dict.fromkeys(ours)),
                "policies_left": list(dict.fromkeys(left)),
            },
        )

    def _check(self, _old: Any, _new: Any) -> None:
        if self._is_aggregated(GARDENER_API):
            is_new = not self._cache.state.options.beside_gardener
            self._assume_gardener()
            if is_new and self._cache.synced:
                self.log_summary()
        claims = {kind: self._claimed_versions(kind) for kind in definable(beside_gardener=False)}
        covered = frozenset(kind.model for kind, each in claims.items() if kind.version in each)
        claimed = frozenset(kind.model for kind, each in claims.items() if each) - covered
        # Watches on a hung server stay open and silent; only the APIService condition shows it.
        silent = frozenset(
            kind.model
            for kind in KINDS
            if kind.origin != "kubernetes" and self._is_silent(f"{kind.version}.{kind.group}")
        )
        before, self._reported = self._reported, (covered, claimed, silent)
        for old, now, texts in zip(before, self._reported, _MESSAGES, strict=True):
            if old != now:
                _log_kinds(now, *texts)
        if self._reported != before:
            self._cache.mark_untrusted(covered | silent)

    def _assume_gardener(self, *, seen: bool = True) -> None:
        if seen:
            self._seen.set()
        state = self._cache.state
        if state.options.beside_gardener:
            return
        state.configure(replace(state.options, beside_gardener=True))

    def _is_aggregated(self, name: str) -> bool:
        found = self._cache.peek(APIService, ObjectKey("", name))
        return found is not None and found.spec.service is not None

    def _is_silent(self, name: str) -> bool:
        """Return whether the condition `Available` of an aggregated APIService is False."""
        found = self._cache.peek(APIService, ObjectKey("", name))
        if found is None or found.spec.service is None:
            return False
        condition = conditions.get(found.status.conditions, _AVAILABLE)
        return condition is not None and condition.status == conditions.FALSE

    def _claimed_versions(self, kind: Kind) -> list[str]:
        """Return the versions of our definition that an aggregated API claims."""
        found = self._cache.peek(CustomResourceDefinition, ObjectKey("", kind.resource))
        if found is None or found.metadata.labels.get(names.MANAGED_BY) != names.FIELD_MANAGER:
            return []
        served = (version.name for version in found.spec.versions if version.served)
        return [each for each in served if self._is_aggregated(f"{each}.{kind.group}")]


async def _unless_forbidden(request: Awaitable[T], consequence: str) -> T | None:
    try:
        return await request
    except ForbiddenError as error:
        logger.warning(consequence, extra={"error": str(error)})
        return None


def _describe_claims(found: InstalledApis) -> str:
    """Return which of our definitions an aggregated API covers or claims, with the remedy."""
    covered = [kind.resource for kind in found.covered()]
    with_claims = (kind.resource for kind in found.with_claimed_versions())
    claimed = [resource for resource in with_claims if resource not in covered]
    parts = []
    if covered:
        parts.append(
            f"an aggregated API covers our definitions of {', '.join(covered)}: "
            "delete them, or the APIService, before Espalier can serve here"
        )
    if claimed:
        parts.append(
            f"an aggregated API claims a version of our definitions of {', '.join(claimed)}: "
            "apply what `espalier manifests` prints again"
        )
    return "; ".join(parts)


def _log_kinds(models: Models, level: int, fault: str, recovery: str) -> None:
    """Log the affected kinds, or the end of the fault."""
    if models:
        kinds = sorted(model.__name__ for model in models)
        logger.log(level, fault, extra={"kinds": kinds})
    else:
        logger.info(recovery)
