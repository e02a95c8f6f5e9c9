"""managedseedset.rules: a set whose replicas will be what it says."""

import re
from collections.abc import Iterator
from typing import Any, Final

from webhook.admission.decision import TOO_LONG, Finding, Request
from webhook.admission.rules import (
    availability,
    multi_zonal,
    replica_templates,
    shoot_names,
    sizing,
    templates,
    workers,
)
from webhook.admission.rules.workers import Pools
from webhook.api import identifiers, names
from webhook.api.managedseeds import ManagedSeedSet, seed_template_of
from webhook.api.meta import IntOrString
from webhook.domain import zones
from webhook.state.snapshot import Snapshot

_PERCENT: Final = re.compile(r"(?:100|[0-9]{1,2})%\Z")
_STRATEGIES: Final = ("RollingUpdate",)


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Judge the set itself, then both templates by the rules of the objects they make."""
    managed_set, old = request.object_as(ManagedSeedSet), request.old_as(ManagedSeedSet)
    yield from _names(managed_set, request, snapshot)
    yield from _numbers(managed_set)
    yield from _strategy(managed_set)
    yield from _twins(managed_set)
    yield from replica_templates.judge(managed_set, snapshot.options.admission.strict_seeds)
    yield from _shoot_template(managed_set, old, snapshot)
    spec = request.raw().get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if isinstance(template, dict):
        yield from templates.misplaced(template.get("spec"), "spec.template.spec")
    if old is not None:
        yield from replica_templates.judge_change(old, managed_set)


def _names(managed_set: ManagedSeedSet, request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    name, namespace = request.key.name, request.key.namespace
    garden = snapshot.options.admission.garden_namespace
    if namespace != garden:
        yield Finding.invalid(
            "metadata.namespace", namespace, f"managed seed sets live in namespace {garden}"
        )
    for error in identifiers.dns1123_label_errors(name):
        yield Finding.invalid("metadata.name", name, f"replicas are named after the set: {error}")
    limit = shoot_names.LONGEST - len(_project(namespace, snapshot))
    replica = f"{name}-{_highest_ordinal(managed_set)}"
    if len(replica) > limit:
        yield Finding(
            "metadata.name",
            f"replica {replica} would have more than the {limit} characters that a shoot's name "
            "may have here, shorten the set's name",
            TOO_LONG,
            name,
        )
    elif len(f"{name}-99") > limit:
        yield Finding.warning(
            "metadata.name",
            f"ordinals only ever rise, and replica {name}-{10 ** (limit - len(name) - 1)} would "
            f"have more than {limit} characters",
        )


def _highest_ordinal(managed_set: ManagedSeedSet) -> int:
    """Return the largest ordinal that the wished replicas lead to."""
    wished = managed_set.spec.replicas if managed_set.spec.replicas is not None else 1
    missing = max(0, wished - managed_set.status.replicas)
    return max(0, wished - 1, managed_set.status.next_replica_number + missing - 1)


def _project(namespace: str, snapshot: Snapshot) -> str:
    found = shoot_names.project_of(namespace, snapshot)
    return found.name if found is not None else namespace.removeprefix("garden-")


def _numbers(managed_set: ManagedSeedSet) -> Iterator[Finding]:
    spec = managed_set.spec
    for value, name in (
        (spec.replicas, "replicas"),
        (spec.revision_history_limit, "revisionHistoryLimit"),
    ):
        if value is not None and value < 0:
            yield Finding.invalid(f"spec.{name}", value, "must not be negative")
    if spec.max_parallel is not None and spec.max_parallel < 1:
        yield Finding.invalid("spec.maxParallel", spec.max_parallel, "must be at least 1")


def _strategy(managed_set: ManagedSeedSet) -> Iterator[Finding]:
    strategy = managed_set.spec.update_strategy
    if strategy is None:
        return
    field = "spec.updateStrategy"
    if strategy.type == "":
        yield Finding.required(f"{field}.type", "set RollingUpdate")
    elif strategy.type == "OnDelete":
        yield Finding.invalid(
            f"{field}.type",
            "OnDelete",
            "OnDelete is not supported, seeds are updated in place: use RollingUpdate, with "
            "rollingUpdate.partition to hold replicas back",
        )
    elif strategy.type is not None and strategy.type not in _STRATEGIES:
        yield Finding.not_supported(f"{field}.type", strategy.type, _STRATEGIES)
    rolling = strategy.rolling_update
    if rolling is None:
        return
    if rolling.partition is not None and rolling.partition < 0:
        yield Finding.invalid(
            f"{field}.rollingUpdate.partition", rolling.partition, "must not be negative"
        )
    if rolling.max_unready_shoots is not None:
        path = f"{field}.rollingUpdate.maxUnreadyShoots"
        yield from _share(rolling.max_unready_shoots, path)


def _share(value: IntOrString, field: str) -> Iterator[Finding]:
    if (isinstance(value, int) and value < 0) or (
        isinstance(value, str) and not _PERCENT.match(value)
    ):
        yield Finding.invalid(
            field, value, "write a number of shoots or a percentage from 0% to 100%"
        )


def _twins(managed_set: ManagedSeedSet) -> Iterator[Finding]:
    """Judge the annotations that stand in for fields which Gardener does not serve."""
    annotations = managed_set.metadata.annotations
    unready = annotations.get(names.MAX_UNREADY_SHOOTS)
    if unready is not None:
        path = f"metadata.annotations[{names.MAX_UNREADY_SHOOTS}]"
        value: Any = int(unready) if unready.isdecimal() and len(unready) < 10 else unready
        yield from _share(value, path)
    parallel = annotations.get(names.MAX_PARALLEL)
    if parallel is not None and not re.fullmatch(r"[1-9][0-9]{0,8}", parallel):
        yield Finding.invalid(
            f"metadata.annotations[{names.MAX_PARALLEL}]", parallel, "must be a number from 1 on"
        )
    for name in (names.PAUSED, names.ROLLOUT):
        written = annotations.get(name)
        if written is not None and written not in ("true", "false"):
            yield Finding.not_supported(f"metadata.annotations[{name}]", written, ("true", "false"))


def _shoot_template(
    managed_set: ManagedSeedSet, old: ManagedSeedSet | None, snapshot: Snapshot
) -> Iterator[Finding]:
    template, base = managed_set.spec.shoot_template, "spec.shootTemplate."
    before = old.spec.shoot_template if old is not None else None
    stored = before.spec.provider.workers if before is not None else ()
    pools = Pools.of(template.spec.provider.workers, stored)
    rule = snapshot.options.admission.worker_rule
    yield from workers.judge(pools, f"{base}spec.provider.workers", rule)
    yield from availability.judge(template, base)
    yield from sizing.judge(template, base)
    seed = seed_template_of(managed_set.spec.template.spec)
    path = f"{templates.path_of(managed_set.spec.template.spec, 'spec.template.spec')}."
    previous = seed_template_of(old.spec.template.spec) if old is not None else None
    if seed is not None:
        same = before is not None and zones.shoot_zones(before) == zones.shoot_zones(template)
        yield from multi_zonal.judge(seed, template, path, previous if same else None)
    if before is None:
        return
    yield from availability.judge_change(before, template, base)
    if seed is not None and previous is not None:
        yield from multi_zonal.judge_change(previous, seed, path)
