"""Deletion of objects: owners and dependents, namespaces, evictions, on both servers."""

import json
from uuid import uuid4

import pytest

from tests.support.watches import seen

pytestmark = pytest.mark.timeout(300)
MERGE = "application/merge-patch+json"


async def send(session, method, path, obj=None, content_type="application/json", **query):
    data = None if obj is None else json.dumps(obj)
    headers = {"Content-Type": content_type}
    async with session.request(method, path, data=data, params=query, headers=headers) as response:
        return response.status, await response.json()


@pytest.fixture
def maps(namespace):
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def make(session, maps):
    """Create a ConfigMap with owners; return a reference to it."""

    async def create(name, *owners, finalizers=(), block=True):
        references = [{**owner, "blockOwnerDeletion": block} for owner in owners]
        metadata = {"name": name, "ownerReferences": references, "finalizers": list(finalizers)}
        code, made = await send(session, "POST", maps, {"metadata": metadata})
        assert code == 201, made
        uid = made["metadata"]["uid"]
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}

    return create


def owners(obj):
    return [reference["name"] for reference in obj["metadata"].get("ownerReferences", [])]


async def test_dependents_follow_their_owner(session, maps, make):
    owner, other = await make("owner"), await make("other")
    await make("follows", owner)
    await make("stays", owner, other)
    await send(session, "DELETE", f"{maps}/owner")
    state = await seen(
        session,
        maps,
        lambda state: "follows" not in state and owners(state["stays"]) == ["other"],
    )
    assert "owner" not in state


async def test_orphaned_dependents_stay(session, maps, make):
    await make("child", await make("owner"))
    _, body = await send(session, "DELETE", f"{maps}/owner", propagationPolicy="Orphan")
    assert body["metadata"]["finalizers"] == ["orphan"]
    state = await seen(session, maps, lambda state: "owner" not in state)
    assert owners(state["child"]) == []


async def test_a_foreground_deletion_waits_for_its_dependents(session, maps, make):
    owner = await make("owner")
    await make("held", owner, finalizers=["example.com/hold"])
    await make("free", owner, block=False)
    _, body = await send(session, "DELETE", f"{maps}/owner", propagationPolicy="Foreground")
    assert body["metadata"]["finalizers"] == ["foregroundDeletion"]
    state = await seen(
        session,
        maps,
        lambda state: "free" not in state and "deletionTimestamp" in state["held"]["metadata"],
    )
    assert "owner" in state
    await send(session, "PATCH", f"{maps}/held", {"metadata": {"finalizers": None}}, MERGE)
    await seen(session, maps, lambda state: not {"owner", "held"} & set(state))


async def test_dependents_of_missing_owners_are_deleted(session, maps, make):
    uid = "00000000-0000-0000-0000-000000000000"
    await make("lost", {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": uid})
    await seen(session, maps, lambda state: "lost" not in state)


async def test_a_namespace_gets_an_account(session, namespace):
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await seen(session, accounts, lambda state: "default" in state)
    await send(session, "DELETE", f"{accounts}/default")
    await seen(session, accounts, lambda state: "default" in state)


async def test_the_embedded_server_publishes_its_authority(embedded_server):
    # The real control plane runs without the controller that does so.
    shown = await embedded_server.kubectl(
        *(
            "get",
            "configmap",
            "kube-root-ca.crt",
            "-n",
            "default",
            "-o",
            "jsonpath={.data.ca\\.crt}",
        )
    )
    assert shown.stdout.startswith("-----BEGIN CERTIFICATE-----")


async def test_a_namespace_ends_with_its_content(session):
    name = f"ending-{uuid4().hex[:8]}"
    spaces = "/api/v1/namespaces"
    maps = f"{spaces}/{name}/configmaps"
    await send(session, "POST", spaces, {"metadata": {"name": name}})
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    await send(session, "POST", maps, held)
    await send(session, "POST", maps, {"metadata": {"name": "plain"}})
    code, body = await send(session, "DELETE", f"{spaces}/{name}")
    assert (code, body["status"]) == (200, {"phase": "Terminating"})
    code, body = await send(session, "POST", maps, {"metadata": {"name": "late"}})
    assert (code, body["message"]) == (
        403,
        f'configmaps "late" is forbidden: unable to create new content in namespace {name} because '
        "it is being terminated",
    )
    assert body["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    await seen(session, maps, lambda state: set(state) == {"held"})
    code, _ = await send(
        session, "PATCH", f"{spaces}/{name}", {"metadata": {"labels": {"a": "b"}}}, MERGE
    )
    assert code == 200
    assert (await send(session, "GET", f"{spaces}/{name}"))[0] == 200
    await send(session, "PATCH", f"{maps}/held", {"metadata": {"finalizers": None}}, MERGE)
    await seen(session, spaces, lambda state: name not in state)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_cannot_be_deleted(session, name):
    code, body = await send(session, "DELETE", f"/api/v1/namespaces/{name}")
    assert (code, body["message"]) == (
        403,
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
    )


async def test_nothing_is_created_in_a_missing_namespace(session):
    path = "/api/v1/namespaces/nowhere/configmaps"
    code, body = await send(session, "POST", path, {"metadata": {"name": "m"}})
    assert (code, body["message"]) == (404, 'namespaces "nowhere" not found')


@pytest.fixture
async def pods(session, namespace):
    """Two pods that run and are ready."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await seen(session, accounts, lambda state: "default" in state)
    path = f"/api/v1/namespaces/{namespace}/pods"
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for name in ("a", "b"):
        spec = {"containers": [{"name": "c", "image": "i"}]}
        pod = {"metadata": {"name": name, "labels": {"app": "x"}}, "spec": spec}
        code, body = await send(session, "POST", path, pod)
        assert code == 201, body
        await send(session, "PATCH", f"{path}/{name}/status", {"status": running}, MERGE)
    return path


def eviction(name):
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": {"gracePeriodSeconds": 0},
    }


async def test_evictions_keep_the_budget(session, namespace, pods):
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    selector = {"matchLabels": {"app": "x"}}
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}}
    await send(session, "POST", budgets, budget)
    await seen(session, budgets, lambda state: state["b"]["status"].get("disruptionsAllowed") == 1)
    code, body = await send(session, "POST", f"{pods}/a/eviction", eviction("a"))
    assert (code, body["status"]) == (201, "Success")
    await seen(session, pods, lambda state: "a" not in state)
    await seen(
        session,
        budgets,
        lambda state: (
            state["b"]["status"].get("expectedPods") == 1
            and state["b"]["status"].get("disruptionsAllowed") == 0
        ),
    )
    code, body = await send(session, "POST", f"{pods}/b/eviction", eviction("b"))
    assert (code, body["reason"], body["message"]) == (
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
    )
    assert body["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 1 healthy pods and has 1 currently",
        }
    ]


async def test_a_pod_is_bound_once(session, pods):
    def binding(node):
        return {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": node}}

    code, body = await send(session, "POST", f"{pods}/a/binding", binding("n1"))
    assert (code, body["status"]) == (201, "Success")
    _, pod = await send(session, "GET", f"{pods}/a")
    assert pod["spec"]["nodeName"] == "n1"
    code, body = await send(session, "POST", f"{pods}/a/binding", binding("n2"))
    assert (code, body["message"]) == (
        409,
        'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
    )
    await send(session, "DELETE", f"{pods}/a", {"gracePeriodSeconds": 0})
