"""Identity and access: certificates, tokens, impersonation and roles, on both servers."""

import asyncio
import json
from uuid import uuid4

import aiohttp
import pytest

pytestmark = pytest.mark.timeout(300)
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"


async def send(session, method, path, obj=None, **headers):
    data = None if obj is None else json.dumps(obj)
    headers = {"Content-Type": "application/json", **headers}
    async with session.request(method, path, data=data, headers=headers) as response:
        return response.status, await response.json()


def as_user(name, **more):
    return {"Impersonate-User": name, **more}


@pytest.fixture
async def stranger(server):
    """A client without a certificate."""
    context = await asyncio.to_thread(server.admin.context)
    bare = type(context)(context.protocol)
    bare.load_verify_locations(cadata=_bundle(context))
    async with aiohttp.ClientSession(
        server.url, connector=aiohttp.TCPConnector(ssl=bare)
    ) as opened:
        yield opened


def _bundle(context):
    return b"".join(context.get_ca_certs(binary_form=True))


async def token_of(session, namespace, account="default", **spec):
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    async with asyncio.timeout(90):
        while True:
            code, body = await send(session, "POST", path, request)
            if code == 201:
                return body["status"]["token"]
            assert code == 404, body
            await asyncio.sleep(0.1)


async def test_unauthenticated_clients_are_refused(stranger):
    code, body = await send(stranger, "GET", "/api/v1/namespaces")
    assert (code, body["message"], body["reason"]) == (401, "Unauthorized", "Unauthorized")
    code, _ = await send(stranger, "GET", "/api", Authorization="Bearer nonsense")
    assert code == 401


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        pytest.param(
            "GET",
            "/api/v1/namespaces/default/pods",
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the '
            'namespace "default"',
            id="a list",
        ),
        pytest.param(
            "GET",
            "/api/v1/nodes/n",
            'nodes "n" is forbidden: User "bob" cannot get resource "nodes" in API group "" at the '
            "cluster scope",
            id="an object without namespace",
        ),
        pytest.param(
            "DELETE",
            "/apis/apps/v1/namespaces/default/deployments/d",
            'deployments.apps "d" is forbidden: User "bob" cannot delete resource "deployments" in '
            'API group "apps" in the namespace "default"',
            id="an object of a group",
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/default/pods/p/status",
            'pods "p" is forbidden: User "bob" cannot get resource "pods/status" in API group "" '
            'in the namespace "default"',
            id="a part of an object",
        ),
        pytest.param(
            "GET",
            "/apis/nope.example.com/v1/things",
            'things.nope.example.com is forbidden: User "bob" cannot list resource "things" in API '
            'group "nope.example.com" at the cluster scope',
            id="what is not served",
        ),
        pytest.param(
            "GET", "/metrics", 'forbidden: User "bob" cannot get path "/metrics"', id="a path"
        ),
    ],
)
async def test_users_without_roles_are_refused(session, method, path, message):
    code, body = await send(session, method, path, **as_user("bob"))
    assert (code, body["reason"], body["message"]) == (403, "Forbidden", message)


async def test_roles_apply_where_they_are_bound(session, namespace):
    user = f"user-{uuid4().hex[:8]}"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    role = {"metadata": {"name": "r"}, "rules": rules}
    await send(session, "POST", f"{RBAC}/namespaces/{namespace}/roles", role)
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    }
    await send(session, "POST", f"{RBAC}/namespaces/{namespace}/rolebindings", binding)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    async with asyncio.timeout(90):
        while (await send(session, "GET", path, **as_user(user)))[0] != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert (await send(session, "GET", f"{path}/x", **as_user(user)))[0] == 403
    assert (await send(session, "GET", "/api/v1/configmaps", **as_user(user)))[0] == 403


async def test_tokens_name_their_account(session, stranger, namespace):
    token = await token_of(session, namespace)
    bearer = {"Authorization": f"Bearer {token}"}
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    code, body = await send(stranger, "POST", path, review, **bearer)
    user = body["status"]["userInfo"]
    assert (code, user["username"]) == (201, f"system:serviceaccount:{namespace}:default")
    assert user["groups"] == [
        "system:serviceaccounts",
        f"system:serviceaccounts:{namespace}",
        "system:authenticated",
    ]
    code, body = await send(stranger, "GET", f"/api/v1/namespaces/{namespace}/pods", **bearer)
    assert (code, body["message"]) == (
        403,
        f'pods is forbidden: User "system:serviceaccount:{namespace}:default" cannot list resource '
        f'"pods" in API group "" in the namespace "{namespace}"',
    )


async def test_tokens_are_reviewed(session, namespace):
    token = await token_of(session, namespace, audiences=["somewhere"])
    path = "/apis/authentication.k8s.io/v1/tokenreviews"

    async def review(**spec):
        kind = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        return (await send(session, "POST", path, kind))[1]["status"]

    status = await review(token=token, audiences=["somewhere", "else"])
    assert (status["authenticated"], status["audiences"]) == (True, ["somewhere"])
    assert "is invalid for the target audiences" in (await review(token=token))["error"]
    assert (await review(token="nonsense"))["error"] == "invalid bearer token"


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        pytest.param(10, "may not specify a duration less than 10 minutes", id="too short"),
        pytest.param(2**33, "may not specify a duration larger than 2^32 seconds", id="too long"),
    ],
)
async def test_the_lifetime_of_tokens_is_bounded(session, seconds, message):
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    code, body = await send(session, "POST", path, request)
    assert (code, body["details"]["causes"][0]["message"]) == (
        422,
        f"Invalid value: {seconds}: {message}",
    )


async def test_impersonation_needs_a_permission(session, stranger, namespace):
    token = await token_of(session, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods"
    headers = {"Authorization": f"Bearer {token}", **as_user("ann")}
    code, body = await send(stranger, "GET", path, **headers)
    assert (code, body["reason"]) == (403, "Forbidden")
    assert 'cannot impersonate-on:user-info:list resource "pods"' in body["message"]


async def test_impersonated_groups_need_a_user(session):
    code, body = await send(session, "GET", "/api", **{"Impersonate-Group": "x"})
    assert (code, body["message"]) == (
        400,
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"x"}, '
        "Extra:map[string][]string(nil)} without impersonating a user name",
    )


async def test_permissions_that_a_user_lacks_cannot_be_granted(session, namespace):
    user = f"user-{uuid4().hex[:8]}"
    rules = [{"apiGroups": [GROUP], "resources": ["roles"], "verbs": ["create"]}]
    await send(
        session, "POST", f"{RBAC}/clusterroles", {"metadata": {"name": user}, "rules": rules}
    )
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    }
    await send(session, "POST", f"{RBAC}/clusterrolebindings", binding)
    wanted = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    path = f"{RBAC}/namespaces/{namespace}/roles"
    role = {"metadata": {"name": "r"}, "rules": wanted}
    async with asyncio.timeout(90):
        while True:
            code, body = await send(session, "POST", path, role, **as_user(user))
            if "cannot create" not in body["message"]:
                break
            await asyncio.sleep(0.05)
    assert (code, body["message"]) == (
        403,
        f'roles.rbac.authorization.k8s.io "r" is forbidden: user "{user}" '
        '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently '
        'held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    )
    await send(session, "DELETE", f"{RBAC}/clusterrolebindings/{user}")
    await send(session, "DELETE", f"{RBAC}/clusterroles/{user}")


async def test_kubectl_auth_can_i(server, namespace):
    yes = await server.kubectl("auth", "can-i", "delete", "pods", "-n", namespace)
    no = await server.kubectl(
        "auth", "can-i", "delete", "pods", "-n", namespace, "--as=bob", check=False
    )
    assert (yes.stdout.strip(), no.stdout.strip()) == ("yes", "no")
    token = await server.kubectl("create", "token", "default", "-n", "default")
    assert token.stdout.count(".") == 2
