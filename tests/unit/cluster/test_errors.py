import pytest

from webhook.cluster.errors import ForbiddenError, Right

WHO = 'User "system:serviceaccount:espalier-system:espalier"'


@pytest.mark.parametrize(
    ("message", "right", "told"),
    [
        pytest.param(
            f'shoots.core.gardener.cloud "oak" is forbidden: {WHO} cannot patch resource '
            '"shoots/binding" in API group "core.gardener.cloud" in the namespace "garden-dev"',
            Right("patch", "shoots/binding", "core.gardener.cloud"),
            "patch shoots.core.gardener.cloud/binding",
            id="a right on a subresource",
        ),
        pytest.param(
            f'quotas.core.gardener.cloud is forbidden: {WHO} cannot watch resource "quotas" in API '
            'group "core.gardener.cloud" at the cluster scope',
            Right("watch", "quotas", "core.gardener.cloud"),
            "watch quotas.core.gardener.cloud",
            id="a right on a whole kind",
        ),
        pytest.param(
            f'events is forbidden: {WHO} cannot create resource "events" in API group "" in the '
            'namespace "default": RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
            Right("create", "events", ""),
            "create events",
            id="a right in the core group, with a remark",
        ),
    ],
)
def test_a_right_that_we_lack_is_read_from_the_refusal(
    message: str, right: Right, told: str
) -> None:
    assert ForbiddenError(403, "Forbidden", message).missing == right
    assert str(right) == told


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(
            'shoots.core.gardener.cloud "oak" is forbidden: User "system:anonymous" cannot patch '
            'resource "shoots/binding" in API group "core.gardener.cloud"',
            id="somebody else is meant",
        ),
        pytest.param(
            'shoots.core.gardener.cloud "oak" is forbidden: cannot schedule shoot on seed "ash" '
            "that is already at its allocatable capacity",
            id="a plugin judges the placement",
        ),
        pytest.param('admission webhook "x" denied the request: you cannot', id="a webhook"),
        pytest.param(
            'namespaces "x" is forbidden: unable to create new content in namespace x because it '
            "is being terminated",
            id="a namespace that goes",
        ),
    ],
)
def test_other_refusals_are_no_lack_of_rights(message: str) -> None:
    assert ForbiddenError(403, "Forbidden", message).missing is None
