"""The ServiceAccount of the installation, its roles and their bindings."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.api.crds import definable
from webhook.api.kinds import Kind
from webhook.cli.install.generate import permissions
from webhook.cli.install.generate.rules import READ, PermissionRule, Scope, rules
from webhook.cli.install.layout import NAME, Layout, metadata
from webhook.kube.meta import Draft

_RBAC: Final = "rbac.authorization.k8s.io"
_AGGREGATE: Final = f"{_RBAC}/aggregate-to-"
_CHANGE: Final = ("create", "update", "patch", "delete", "deletecollection")


def account(layout: Layout) -> Draft:
    """Generate the ServiceAccount."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(NAME, layout.namespace),
    }


def roles(layout: Layout) -> Iterator[Draft]:
    """Generate roles and bindings, for the server and for users."""
    yield from _roles_with_bindings(layout, NAME, permissions.granted(layout))
    ours = [kind for kind in definable(beside_gardener=True) if layout.defines(kind)]
    if any(kind.namespaced for kind in ours):
        yield _for_users("view", ours, READ, ("view", "edit", "admin"))
        yield _for_users("edit", ours, _CHANGE, ("edit", "admin"))


def bridge_roles(layout: Layout) -> Iterator[Draft]:
    """Generate the further roles for the bridge to a kube-scheduler."""
    yield from _roles_with_bindings(layout, f"{NAME}-bridge", permissions.granted_to_bridge())


def namespace_of(scope: Scope, layout: Layout) -> str:
    """Return the namespace in which the permissions of a scope hold; empty for all."""
    namespaces = {"cluster": "", "own": layout.namespace, "garden": layout.garden_namespace}
    return namespaces.get(scope, scope)


def _roles_with_bindings(
    layout: Layout, name: str, granted: Iterable[PermissionRule]
) -> Iterator[Draft]:
    """Generate a role for each scope; our namespace and that of the garden may be the same."""
    scopes: dict[Scope, list[PermissionRule]] = {}
    for rule in granted:
        scopes.setdefault(rule.scope, []).append(rule)
    for scope, found in scopes.items():
        kind = "ClusterRole" if scope == "cluster" else "Role"
        title = name if scope in ("cluster", "own") else f"{name}-{scope}"
        namespace = namespace_of(scope, layout)
        yield {
            "apiVersion": f"{_RBAC}/v1",
            "kind": kind,
            "metadata": metadata(title, namespace),
            "rules": rules(found),
        }
        yield _binding(layout, kind, title, namespace)


def _binding(layout: Layout, kind: str, name: str, namespace: str) -> Draft:
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": layout.namespace}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata(name, namespace),
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [subject],
    }


def _for_users(
    name: str, kinds: Iterable[Kind], verbs: tuple[str, ...], into: tuple[str, ...]
) -> Draft:
    """Generate a role that extends view, edit or admin to our namespaced kinds."""
    extended = (
        PermissionRule(kind.group, kind.plural, verbs, "our own kinds")
        for kind in kinds
        if kind.namespaced
    )
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata(
            f"{NAME}-{name}", labels={f"{_AGGREGATE}{role}": "true" for role in into}
        ),
        "rules": rules(extended),
    }
