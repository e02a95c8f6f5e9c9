"""The identity of the installation and the roles that it has."""

from collections.abc import Iterator, Mapping
from typing import Final

from webhook.api.crds import definable
from webhook.api.meta import Draft
from webhook.cli.install import rights
from webhook.cli.install.layout import NAME, Layout, metadata

_RBAC: Final = "rbac.authorization.k8s.io"
_AGGREGATE: Final = f"{_RBAC}/aggregate-to-"
_SYSTEM: Final = "kube-system"
_NODE_LEASES: Final = "kube-node-lease"
_CHANGE: Final = ("create", "update", "patch", "delete", "deletecollection")


def account(layout: Layout) -> Draft:
    """Make the ServiceAccount."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(NAME, layout.namespace),
    }


def roles(layout: Layout) -> Iterator[Draft]:
    """Make roles and their bindings, for the program and for people."""
    yield _role("ClusterRole", NAME, "", rights.CLUSTER)
    yield _binding(layout, "ClusterRole", NAME, "")
    for name, namespace, granted in (
        (NAME, layout.namespace, rights.OWN_NAMESPACE),
        (f"{NAME}-garden", layout.garden_namespace, rights.GARDEN_NAMESPACE),
    ):
        yield _role("Role", name, namespace, granted)
        yield _binding(layout, "Role", name, namespace)
    yield from managed_seed_roles(layout)
    yield _for_people("view", rights.READ, ("view", "edit", "admin"))
    yield _for_people("edit", _CHANGE, ("edit", "admin"))


def managed_seed_roles(layout: Layout) -> Iterator[Draft]:
    """Make what registering seeds needs besides; beside a Gardener its gardenlets do that."""
    if not layout.beside_gardener:
        yield from _bound(
            *(layout, f"{NAME}-managedseeds", rights.MANAGED_SEEDS_CLUSTER),
            {
                layout.garden_namespace: rights.MANAGED_SEEDS_GARDEN,
                _SYSTEM: rights.MANAGED_SEEDS_SYSTEM,
            },
        )


def engine_roles(layout: Layout) -> Iterator[Draft]:
    """Make what the bridge to a kube-scheduler needs besides."""
    yield from _bound(
        *(layout, f"{NAME}-bridge", rights.ENGINE_CLUSTER),
        {layout.namespace: rights.ENGINE_OWN_NAMESPACE, _NODE_LEASES: rights.ENGINE_LEASES},
    )


def _bound(
    layout: Layout,
    name: str,
    everywhere: tuple[rights.Right, ...],
    somewhere: Mapping[str, tuple[rights.Right, ...]],
) -> Iterator[Draft]:
    yield _role("ClusterRole", name, "", everywhere)
    yield _binding(layout, "ClusterRole", name, "")
    for namespace, granted in somewhere.items():
        yield _role("Role", name, namespace, granted)
        yield _binding(layout, "Role", name, namespace)


def _role(kind: str, name: str, namespace: str, granted: tuple[rights.Right, ...]) -> Draft:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata(name, namespace),
        "rules": rights.rules(granted),
    }


def _binding(layout: Layout, kind: str, name: str, namespace: str) -> Draft:
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": layout.namespace}
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata(name, namespace),
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [subject],
    }


def _for_people(name: str, verbs: tuple[str, ...], into: tuple[str, ...]) -> Draft:
    """Let those who may view or edit a namespace do so with our namespaced kinds, too."""
    granted = (
        rights.Right(kind.group, kind.plural, verbs, "our own kinds")
        for kind in definable(beside_gardener=True)
        if kind.namespaced
    )
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": metadata(
            f"{NAME}-{name}", labels={f"{_AGGREGATE}{role}": "true" for role in into}
        ),
        "rules": rights.rules(granted),
    }
