"""Validation of roles and role bindings."""

from typing import Final

from webhook.dev.apiserver.builtin.kinds import RBAC
from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors, identifiers
from webhook.kube.meta import Raw

_REFERENCE: Final = {"apiGroup": "APIGroup", "kind": "Kind", "name": "Name"}


def validate_role(obj: Raw) -> Errors:
    """Validate a Role."""
    yield from _rules(obj, namespaced=True)


def validate_cluster_role(obj: Raw) -> Errors:
    """Validate a ClusterRole."""
    yield from _rules(obj, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is not None:
        path = "aggregationRule.clusterRoleSelectors"
        found = aggregation.get("clusterRoleSelectors") or ()
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield from checks.required(path, found, detail)
        for index, selector in enumerate(found):
            yield from checks.label_selector(f"{path}[{index}]", selector)


def _rules(obj: Raw, *, namespaced: bool) -> Errors:
    for index, rule in enumerate(obj.get("rules") or ()):
        yield from _rule(f"rules[{index}]", rule, namespaced)


def _rule(path: str, rule: Raw, namespaced: bool) -> Errors:
    detail = "verbs must contain at least one value"
    yield from checks.required(f"{path}.verbs", rule.get("verbs"), detail)
    urls = rule.get("nonResourceURLs") or []
    if urls:
        where = f"{path}.nonResourceURLs"
        if namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            yield fielderrors.invalid(where, urls, detail)
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield fielderrors.invalid(where, urls, detail)
        return
    detail = "resource rules must supply at least one api group"
    yield from checks.required(f"{path}.apiGroups", rule.get("apiGroups"), detail)
    detail = "resource rules must supply at least one resource"
    yield from checks.required(f"{path}.resources", rule.get("resources"), detail)


def validate_role_binding(obj: Raw) -> Errors:
    """Validate a RoleBinding."""
    yield from _binding(obj, ("Role", "ClusterRole"))


def validate_cluster_role_binding(obj: Raw) -> Errors:
    """Validate a ClusterRoleBinding."""
    yield from _binding(obj, ("ClusterRole",))


def _binding(obj: Raw, kinds: tuple[str, ...]) -> Errors:
    reference = obj.get("roleRef") or {}
    yield from checks.one_of("roleRef.apiGroup", reference.get("apiGroup", ""), (RBAC.group,))
    yield from checks.one_of("roleRef.kind", reference.get("kind", ""), kinds)
    name = reference.get("name", "")
    if not name:
        yield fielderrors.required("roleRef.name")
    else:
        yield from checks.invalid_each("roleRef.name", name, identifiers.path_segment_errors(name))
    for index, subject in enumerate(obj.get("subjects") or ()):
        yield from _subject(f"subjects[{index}]", subject, len(kinds) == 2)


def _subject(path: str, subject: Raw, namespaced: bool) -> Errors:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    yield from checks.required(f"{path}.name", name)
    group = subject.get("apiGroup", "")
    if kind == "ServiceAccount":
        if name:
            yield from checks.invalid_each(f"{path}.name", name, identifiers.subdomain_errors(name))
        if group:
            yield from checks.one_of(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield fielderrors.required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        yield from checks.one_of(f"{path}.apiGroup", group, (RBAC.group,))
    else:
        yield from checks.one_of(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


def validate_binding_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a role binding; its roleRef is immutable."""
    if obj.get("roleRef") != old.get("roleRef"):
        shown = checks.go_struct(obj.get("roleRef") or {}, _REFERENCE)
        yield fielderrors.invalid("roleRef", shown, "cannot change roleRef")
