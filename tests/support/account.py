"""The account of an installation: its generated permissions in a cluster, and its access."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support import permission_audit
from webhook.cli.install.generate import roles, workload
from webhook.cli.install.layout import Layout
from webhook.dev.planes.access import Access
from webhook.kube.meta import Draft

STANDALONE = Layout()
IN_SEED = Layout(features=frozenset(("node-groups",)))
"""What runs in the cluster of a seed, where worker pools are."""


async def account_kubeconfig(
    server: Any, path: Path, layout: Layout = STANDALONE, *, bridge: bool = False
) -> Path:
    """Grant our account what the manifests grant it, and nothing else; return its kubeconfig."""
    await grant(server, layout, bridge=bridge)
    return await write_kubeconfig(server, path, layout, bridge=bridge)


async def grant(server: Any, layout: Layout = STANDALONE, *, bridge: bool = False) -> None:
    """Apply the namespaces, the roles and the bindings of an installation."""
    await server.kubectl(
        *("apply", "--server-side", "--force-conflicts", "-f", "-"),
        input=[*_objects(layout, bridge=bridge)],
    )


async def write_kubeconfig(
    server: Any, path: Path, layout: Layout = STANDALONE, *, bridge: bool = False
) -> Path:
    """Write a kubeconfig of the account, whose permissions are granted elsewhere."""
    access = await account_access(server, layout, bridge=bridge)
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    return await asyncio.to_thread(access.write_kubeconfig, path)


async def account_access(
    server: Any, layout: Layout = STANDALONE, *, bridge: bool = False
) -> Access:
    """Issue a certificate of the account that names the modes of its installation."""
    namespace = layout.namespace
    groups = (
        *("system:serviceaccounts", f"system:serviceaccounts:{namespace}"),
        *permission_audit.groups_of(layout, *(["kube-scheduler"] if bridge else [])),
    )
    user = f"system:serviceaccount:{namespace}:espalier"
    access: Access = await asyncio.to_thread(server.apiserver.access, user, groups)
    return access


def _objects(layout: Layout, *, bridge: bool) -> Iterator[Draft]:
    yield from workload.namespaces(layout)
    yield roles.account(layout)
    granted = [*roles.roles(layout), *(roles.bridge_roles(layout) if bridge else ())]
    for item in granted:
        # Several installations on one server must not replace each other's roles.
        if layout.namespace != STANDALONE.namespace:
            item["metadata"]["name"] += f"-{layout.namespace}"
            if "roleRef" in item:
                item["roleRef"]["name"] += f"-{layout.namespace}"
        yield item
