"""What a shoot says about the seeds that it may be on: tolerations, restrictions, a selector."""

from collections.abc import Iterable, Iterator

from webhook.admission.decision import Finding
from webhook.admission.rules import label_selector
from webhook.api import identifiers, names
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import ShootSpec, Toleration
from webhook.domain import selection


def is_changed(new: ShootSpec, old: ShootSpec | None) -> bool:
    """Tell whether there is anything to judge; most shoots say nothing about seeds."""
    if old is None:
        return bool(new.tolerations) or new.seed_selector is not None
    return (
        new.tolerations != old.tolerations
        or new.seed_selector != old.seed_selector
        or new.access_restrictions != old.access_restrictions
    )


def judge(spec: ShootSpec) -> Iterator[Finding]:
    """Refuse what is malformed, whatever seeds there are."""
    seen: set[tuple[str, str | None]] = set()
    for index, toleration in enumerate(spec.tolerations):
        field = f"spec.tolerations[{index}]"
        if not toleration.key:
            yield Finding.required(f"{field}.key", "name the key of the taint")
        else:
            for error in identifiers.label_key_errors(toleration.key):
                yield Finding.invalid(f"{field}.key", toleration.key, error)
        pair = (toleration.key, toleration.value)
        if pair in seen:
            yield Finding.duplicate(field, toleration.key, "name each toleration once")
        seen.add(pair)
    if spec.seed_selector is not None:
        yield from label_selector.judge(spec.seed_selector, "spec.seedSelector")


def judge_project(
    spec: ShootSpec, old: ShootSpec | None, projects: Iterable[Project]
) -> Iterator[Finding]:
    """Refuse new tolerations beyond those that a project lists, where it lists any."""
    known = old.tolerations if old is not None else ()
    for project in projects:
        listed = project.spec.tolerations.whitelist if project.spec.tolerations is not None else ()
        for index, toleration in enumerate(spec.tolerations):
            # Shoots of the garden get this one by default.
            is_free = not listed or toleration in known or toleration.key == names.SEED_PROTECTED
            if not is_free and not any(_allows(each, toleration) for each in listed):
                allowed = ", ".join(each.key for each in listed)
                yield Finding.forbidden(
                    f"spec.tolerations[{index}]",
                    f"project {project.name} allows its shoots only {allowed}",
                )


def _allows(listed: Toleration, wanted: Toleration) -> bool:
    return listed.key == wanted.key and listed.value in (None, wanted.value)


def judge_seed(new: ShootSpec, old: ShootSpec | None, seed: Seed) -> Iterator[Finding]:
    """Refuse what the seed which the shoot has does not meet."""
    if old is not None and old.seed_name == new.seed_name:
        yield from _restrictions(new, old, seed)
    yield from _selector(new, old, seed)


def _restrictions(new: ShootSpec, old: ShootSpec, seed: Seed) -> Iterator[Finding]:
    supported = {each.name for each in (*seed.spec.access_restrictions, *old.access_restrictions)}
    for index, restriction in enumerate(new.access_restrictions):
        if restriction.name not in supported:
            yield Finding.forbidden(
                f"spec.accessRestrictions[{index}]",
                f"seed {seed.name}, which the shoot is on, does not support it",
            )


def _selector(new: ShootSpec, old: ShootSpec | None, seed: Seed) -> Iterator[Finding]:
    selector = new.seed_selector
    before = old.seed_selector if old is not None else None
    if selector == before:
        return
    if selector is None:
        yield Finding.invalid(
            "spec.seedSelector", None, f"cannot be removed while the shoot is on seed {seed.name}"
        )
        return
    if not selection.labels(selector).matches(seed.metadata.labels):
        yield Finding.invalid(
            "spec.seedSelector",
            dict(selector.match_labels),
            f"must select seed {seed.name}, which the shoot is on",
        )
    provider = seed.spec.provider.type
    if selector.provider_types and provider not in selector.provider_types:
        yield Finding.invalid(
            "spec.seedSelector.providerTypes",
            list(selector.provider_types),
            f"must have {provider}, which seed {seed.name} runs on",
        )
