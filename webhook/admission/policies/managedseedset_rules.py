"""managedseedset.rules: a ManagedSeedSet and its templates are valid."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.admission.decision import TOO_LONG, Finding, Request
from webhook.admission.rules import (
    availability,
    label_selector,
    multi_zonal,
    seed_template,
    shoot_names,
    sizing,
    workers,
)
from webhook.admission.rules.seed_spec import SeedValidationOptions
from webhook.admission.rules.workers import Pools
from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet, ManagedSeedSpec, seed_template_of
from webhook.domain.seeds import zones
from webhook.kube import identifiers, selectors
from webhook.kube.meta import IntOrString, Selector
from webhook.kube.requirements import SelectorError
from webhook.kube.selectors import LabelSelector
from webhook.state.snapshot import Snapshot

_PERCENT: Final = re.compile(r"(?:100|[0-9]{1,2})%\Z")
_STRATEGIES: Final = ("RollingUpdate",)
_TEMPLATE_SPEC: Final = "spec.template.spec"


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Validate the set itself, then both templates by the rules of their kinds."""
    managed_set, old = request.object_as(ManagedSeedSet), request.old_as(ManagedSeedSet)
    yield from _names(managed_set, request, snapshot)
    yield from _numbers(managed_set)
    yield from _strategy(managed_set)
    yield from _annotations(managed_set)
    yield from _templates(managed_set, snapshot.options.admission.strict_seeds)
    yield from _shoot_template(managed_set, old, snapshot)
    spec = request.raw().get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if isinstance(template, dict):
        yield from seed_template.validate_fields(template.get("spec"), _TEMPLATE_SPEC)
    if old is not None:
        yield from _validate_update(old, managed_set)


def _names(managed_set: ManagedSeedSet, request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    name, namespace = request.key.name, request.key.namespace
    garden = snapshot.options.garden_namespace
    if namespace != garden:
        yield Finding.invalid(
            "metadata.namespace", namespace, f"managed seed sets must be in namespace {garden}"
        )
    for error in identifiers.dns1123_label_errors(name):
        yield Finding.invalid("metadata.name", name, f"replicas are named after the set: {error}")
    limit = shoot_names.MAX_LENGTH - len(_project(namespace, snapshot))
    # Ordinals never fall: names that do not fit now are rejected, names with two digits are warned
    # of.
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
    """Return the highest ordinal that the desired replicas lead to."""
    desired = managed_set.spec.replicas if managed_set.spec.replicas is not None else 1
    missing = max(0, desired - managed_set.status.replicas)
    return max(0, desired - 1, managed_set.status.next_replica_number + missing - 1)


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


def _annotations(managed_set: ManagedSeedSet) -> Iterator[Finding]:
    """Validate the annotations that replace fields which Gardener does not serve."""
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
    yield from workers.validate(pools, f"{base}spec.provider.workers", rule)
    yield from availability.validate(template, base)
    yield from sizing.validate(template, base)
    seed = seed_template_of(managed_set.spec.template.spec)
    path = f"{seed_template.path_of(managed_set.spec.template.spec, _TEMPLATE_SPEC)}."
    previous = seed_template_of(old.spec.template.spec) if old is not None else None
    if seed is not None:
        same = before is not None and zones.shoot_zones(before) == zones.shoot_zones(template)
        yield from multi_zonal.validate(seed, template, path, previous if same else None)
    if before is None:
        return
    yield from availability.validate_update(before, template, base)
    if seed is not None and previous is not None:
        yield from multi_zonal.validate_update(previous, seed, path)


def _templates(managed_set: ManagedSeedSet, is_strict: bool) -> Iterator[Finding]:
    """Validate the selector against all labels, and both templates by themselves."""
    spec = managed_set.spec
    yield from _selector(managed_set)
    if spec.template.spec.shoot is not None:
        yield Finding.forbidden(
            f"{_TEMPLATE_SPEC}.shoot", "each replica is named after its own shoot, remove it"
        )
    options = SeedValidationOptions(is_template=True, is_strict=is_strict, is_of_set=True)
    yield from seed_template.validate(spec.template.spec, _TEMPLATE_SPEC, options)
    yield from _seed_config(spec.template.spec)
    shoot = spec.shoot_template.spec
    if not shoot.provider.workers:
        yield Finding.invalid(
            "spec.shootTemplate.spec.provider.workers", [], "a seed needs worker pools, add one"
        )
    if is_strict:
        yield from workers.validate_undefaulted(
            shoot.provider.workers, "spec.shootTemplate.spec.provider.workers"
        )
    if shoot.addons and shoot.addons.nginx_ingress and shoot.addons.nginx_ingress.enabled:
        yield Finding.forbidden(
            "spec.shootTemplate.spec.addons.nginxIngress.enabled",
            "seeds bring their own ingress, switch it off",
        )


def _validate_update(old: ManagedSeedSet, new: ManagedSeedSet) -> Iterator[Finding]:
    """Reject changes of what existing replicas are selected by or were built with."""
    before, after = old.spec, new.spec
    if before.selector != after.selector:
        yield Finding.immutable("spec.selector", dict(after.selector.match_labels))
    limit = after.revision_history_limit
    if before.revision_history_limit is not None and before.revision_history_limit != limit:
        yield Finding.immutable("spec.revisionHistoryLimit", limit)
    yield from seed_template.validate_update(
        before.template.spec, after.template.spec, _TEMPLATE_SPEC, is_of_set=True
    )
    networking, now = before.shoot_template.spec.networking, after.shoot_template.spec.networking
    nodes = now.nodes if now is not None else ""
    if networking is not None and networking.nodes and networking.nodes != nodes:
        yield Finding.immutable("spec.shootTemplate.spec.networking.nodes", nodes)


def _seed_config(spec: ManagedSeedSpec) -> Iterator[Finding]:
    if spec.seed_template is None and seed_template_of(spec) is None:
        yield Finding.required(
            seed_template.path_of(spec, _TEMPLATE_SPEC), "set the Seed template of the replicas"
        )


def _selector(managed_set: ManagedSeedSet) -> Iterator[Finding]:
    spec = managed_set.spec
    faults = [*label_selector.validate(spec.selector, "spec.selector")]
    yield from faults
    selector = _parse_selector(spec.selector)
    if isinstance(selector, str) or faults:
        why = selector if isinstance(selector, str) else "cannot be read, fix its parts"
        yield Finding.invalid("spec.selector", dict(spec.selector.match_labels), why)
        return
    seed = seed_template_of(spec.template.spec)
    labelled: list[tuple[Mapping[str, str], str]] = [
        (spec.template.metadata.labels, "spec.template"),
        (spec.shoot_template.metadata.labels, "spec.shootTemplate"),
    ]
    if seed is not None:
        labelled.append(
            (seed.metadata.labels, seed_template.path_of(spec.template.spec, _TEMPLATE_SPEC))
        )
    for labels, path in labelled:
        if not selector.matches(labels):
            yield Finding.invalid(
                f"{path}.metadata.labels", dict(labels), "must match spec.selector, add its labels"
            )


def _parse_selector(selector: Selector) -> LabelSelector | str:
    """Return the parsed selector, or why it is invalid."""
    if not selector.match_labels and not selector.match_expressions:
        return "must not be empty, name the labels of the replicas"
    terms = [
        {"key": term.key, "operator": term.operator, "values": list(term.values)}
        for term in selector.match_expressions
    ]
    try:
        return selectors.from_object(
            {"matchLabels": dict(selector.match_labels), "matchExpressions": terms}
        )
    except SelectorError as error:
        return str(error)
