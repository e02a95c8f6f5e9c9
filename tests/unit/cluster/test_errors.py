import pytest

from webhook.cluster.errors import ForbiddenError, Permission

WHO = 'User "system:serviceaccount:espalier-system:espalier"'


@pytest.mark.parametrize(
    ("message", "right", "text"),
    [
        pytest.param(
            f'shoots.core.gardener.cloud "oak" is forbidden: {WHO} cannot patch resource '
            '"shoots/binding" in API group "core.gardener.cloud" in the namespace "garden-dev"',
            Permission("patch", "shoots/binding", "core.gardener.cloud"),
            "patch shoots.core.gardener.cloud/binding",
            id="a permission on a subresource",
        ),
        pytest.param(
            f'quotas.core.gardener.cloud is forbidden: {WHO} cannot watch resource "quotas" in API '
            'group "core.gardener.cloud" at the cluster scope',
            Permission("watch", "quotas", "core.gardener.cloud"),
            "watch quotas.core.gardener.cloud",
            id="a permission on a whole kind",
        ),
        pytest.param(
            f'events is forbidden: {WHO} cannot create resource "events" in API group "" in the '
            'namespace "default": RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
            Permission("create", "events", ""),
            "create events",
            id="a permission in the core group, with a remark",
        ),
    ],
)
def test_a_missing_permission_is_read_from_the_message(
    message: str, right: Permission, text: str
) -> None:
    assert ForbiddenError(403, "Forbidden", message).missing_permission == right
    assert str(right) == text


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(
            'shoots.core.gardener.cloud "oak" is forbidden: User "system:anonymous" cannot patch '
            'resource "shoots/binding" in API group "core.gardener.cloud"',
            id="another user is meant",
        ),
        pytest.param(
            'shoots.core.gardener.cloud "oak" is forbidden: cannot schedule shoot on seed "ash" '
            "that is already at its allocatable capacity",
            id="a plugin refuses the placement",
        ),
        pytest.param('admission webhook "x" denied the request: you cannot', id="a webhook"),
        pytest.param(
            'namespaces "x" is forbidden: unable to create new content in namespace x because it '
            "is being terminated",
            id="a terminating namespace",
        ),
    ],
)
def test_other_refusals_are_no_missing_permission(message: str) -> None:
    assert ForbiddenError(403, "Forbidden", message).missing_permission is None
