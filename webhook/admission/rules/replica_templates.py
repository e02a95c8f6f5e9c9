"""The templates of a ManagedSeedSet, beside what their own kinds demand."""

from collections.abc import Iterator, Mapping

from webhook.admission.decision import Finding
from webhook.admission.rules import label_selector, seed_template, templates, workers
from webhook.admission.rules.seed_spec import Manner
from webhook.api import selectors
from webhook.api.managedseeds import ManagedSeedSet, ManagedSeedSpec, seed_template_of
from webhook.api.meta import Selector
from webhook.api.requirements import SelectorError
from webhook.api.selectors import LabelSelector

_SPEC = "spec.template.spec"


def judge(managed_set: ManagedSeedSet, is_strict: bool) -> Iterator[Finding]:
    """Judge the selector against all labels, and both templates by themselves."""
    spec = managed_set.spec
    yield from _selector(managed_set)
    if spec.template.spec.shoot is not None:
        yield Finding.forbidden(
            f"{_SPEC}.shoot", "each replica is named after its own shoot, remove it"
        )
    manner = Manner(is_template=True, is_strict=is_strict, is_of_set=True)
    yield from seed_template.judge(spec.template.spec, _SPEC, manner)
    yield from _seed_config(spec.template.spec)
    shoot = spec.shoot_template.spec
    if not shoot.provider.workers:
        yield Finding.invalid(
            "spec.shootTemplate.spec.provider.workers", [], "a seed needs worker pools, add one"
        )
    if is_strict:
        yield from workers.judge_undefaulted(
            shoot.provider.workers, "spec.shootTemplate.spec.provider.workers"
        )
    if shoot.addons and shoot.addons.nginx_ingress and shoot.addons.nginx_ingress.enabled:
        yield Finding.forbidden(
            "spec.shootTemplate.spec.addons.nginxIngress.enabled",
            "seeds bring their own ingress, switch it off",
        )


def judge_change(old: ManagedSeedSet, new: ManagedSeedSet) -> Iterator[Finding]:
    """Refuse to change what existing replicas are found by or were built with."""
    before, after = old.spec, new.spec
    if before.selector != after.selector:
        yield Finding.immutable("spec.selector", dict(after.selector.match_labels))
    limit = after.revision_history_limit
    if before.revision_history_limit is not None and before.revision_history_limit != limit:
        yield Finding.immutable("spec.revisionHistoryLimit", limit)
    yield from seed_template.judge_change(
        before.template.spec, after.template.spec, _SPEC, is_of_set=True
    )
    networking, now = before.shoot_template.spec.networking, after.shoot_template.spec.networking
    nodes = now.nodes if now is not None else ""
    if networking is not None and networking.nodes and networking.nodes != nodes:
        yield Finding.immutable("spec.shootTemplate.spec.networking.nodes", nodes)


def _seed_config(spec: ManagedSeedSpec) -> Iterator[Finding]:
    if spec.seed_template is None and seed_template_of(spec) is None:
        yield Finding.required(
            templates.path_of(spec, _SPEC), "say what kind of seed the replicas become"
        )


def _selector(managed_set: ManagedSeedSet) -> Iterator[Finding]:
    spec = managed_set.spec
    faults = [*label_selector.judge(spec.selector, "spec.selector")]
    yield from faults
    selector = _read(spec.selector)
    if isinstance(selector, str) or faults:
        why = selector if isinstance(selector, str) else "cannot be read, mend its parts"
        yield Finding.invalid("spec.selector", dict(spec.selector.match_labels), why)
        return
    seed = seed_template_of(spec.template.spec)
    labelled: list[tuple[Mapping[str, str], str]] = [
        (spec.template.metadata.labels, "spec.template"),
        (spec.shoot_template.metadata.labels, "spec.shootTemplate"),
    ]
    if seed is not None:
        labelled.append((seed.metadata.labels, templates.path_of(spec.template.spec, _SPEC)))
    for labels, path in labelled:
        if not selector.matches(labels):
            yield Finding.invalid(
                f"{path}.metadata.labels", dict(labels), "must match spec.selector, add its labels"
            )


def _read(selector: Selector) -> LabelSelector | str:
    """Return the selector, or why it is none."""
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
