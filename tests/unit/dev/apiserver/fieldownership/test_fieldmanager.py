"""Managed fields through create, update and apply, as Kubernetes v1.36 keeps them."""

import copy
from typing import Any

import pytest

from webhook.dev.apiserver.builtin import encoding, schemas
from webhook.dev.apiserver.fieldownership import fieldmanager, fieldsets, lastapplied
from webhook.dev.apiserver.fieldownership.fieldmanager import ApplyRequest, Endpoint
from webhook.kube.status import StatusError

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:00:07Z"
CONFIG_MAP = "io.k8s.api.v1.ConfigMap"
DEPLOYMENT = "io.k8s.api.v1.Deployment"


def _endpoint(component: str = CONFIG_MAP, version: str = "v1", **more: Any) -> Endpoint:
    schema = schemas.expand(component)
    kind = component.rpartition(".")[2]
    return Endpoint(
        version, kind, lambda requested: schema if requested == version else None, **more
    )


def _config_map(data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", **metadata},
    }
    return made if data is None else {**made, "data": data}


def _created(manager: str = "alice", **data: str) -> dict[str, Any]:
    new = _config_map(data)
    fieldmanager.update(_endpoint(), encoding.zero_value(CONFIG_MAP), new, manager, NOW)
    new["metadata"]["uid"] = "1"
    return new


def _updated(live: dict[str, Any], manager: str, new: dict[str, Any]) -> dict[str, Any]:
    fieldmanager.update(_endpoint(), live, new, manager, LATER)
    return new


def _applied(
    live: dict[str, Any], config: dict[str, Any], manager: str = "ssa", force: bool = False
) -> dict[str, Any]:
    return fieldmanager.apply(_endpoint(), live, ApplyRequest(config, manager, force, LATER))


def _owned(obj: dict[str, Any]) -> dict[tuple[str, str], Any]:
    entries = obj["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


def test_the_creator_owns_the_fields_it_sets():
    assert _created(k="v")["metadata"]["managedFields"] == [
        {
            "manager": "alice",
            "operation": "Update",
            "apiVersion": "v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:k": {}}},
        }
    ]


def test_the_creator_does_not_own_objects_of_the_zero_value():
    new = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "strategy": {"type": "Recreate"}},
    }
    endpoint = _endpoint(DEPLOYMENT, "apps/v1")
    fieldmanager.update(endpoint, encoding.zero_value(DEPLOYMENT), new, "alice", NOW)
    assert _owned(new) == {
        ("alice", "Update"): {"f:spec": {"f:selector": {}, "f:strategy": {"f:type": {}}}}
    }


def test_an_update_takes_changed_fields_and_drops_removed_ones():
    live = _created(k="v", gone="x", same="y")
    new = copy.deepcopy(live)
    new["data"] = {"k": "w", "same": "y", "new": "z"}
    assert _owned(_updated(live, "bob", new)) == {
        ("alice", "Update"): {"f:data": {".": {}, "f:same": {}}},
        ("bob", "Update"): {"f:data": {"f:k": {}, "f:new": {}}},
    }


def test_an_update_that_changes_nothing_keeps_the_entries():
    live = _created(k="v")
    assert _updated(live, "bob", copy.deepcopy(live)) == live


def test_an_update_without_managed_fields_keeps_them():
    live = _created(k="v")
    new = copy.deepcopy(live)
    del new["metadata"]["managedFields"]
    assert _owned(_updated(live, "bob", new)) == _owned(live)


@pytest.mark.parametrize(
    "entries",
    [pytest.param([], id="an empty list"), pytest.param([{}], id="one empty entry")],
)
def test_a_client_can_reset_managed_fields(entries):
    live = _created(k="v")
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"] = entries
    new["data"]["k"] = "w"
    assert "managedFields" not in _updated(live, "bob", new)["metadata"]


def test_after_a_reset_managers_are_tracked_again_from_the_next_apply():
    live = _config_map({"k": "v"}, uid="1", annotations={"a": "b"})
    assert (
        "managedFields" not in _updated(live, "bob", _config_map({"k": "w"}, uid="1"))["metadata"]
    )
    assert _owned(_applied(live, _config_map({"l": "w"}))) == {
        ("before-first-apply", "Update"): {
            "f:data": {".": {}, "f:k": {}},
            "f:metadata": {"f:annotations": {".": {}, "f:a": {}}},
        },
        ("ssa", "Apply"): {"f:data": {"f:l": {}}},
    }


def test_a_subresource_has_its_own_managers():
    live: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "uid": "1"},
        "spec": {"replicas": 1},
        "status": {},
    }
    main = _endpoint(DEPLOYMENT, "apps/v1", reset=fieldsets.from_paths(("status",)))
    fieldmanager.update(main, encoding.zero_value(DEPLOYMENT), live, "alice", NOW)
    new = copy.deepcopy(live)
    new["spec"]["replicas"] = 3
    new["status"] = {"replicas": 2}
    status = _endpoint(
        DEPLOYMENT, "apps/v1", subresource="status", reset=fieldsets.from_paths(("spec",))
    )
    fieldmanager.update(status, live, new, "kcm", LATER)
    assert new["metadata"]["managedFields"] == [
        live["metadata"]["managedFields"][0],
        {
            "manager": "kcm",
            "operation": "Update",
            "apiVersion": "apps/v1",
            "time": LATER,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:status": {"f:replicas": {}}},
            "subresource": "status",
        },
    ]


def test_managers_of_versions_that_are_not_served_are_removed():
    live = _created(k="v")
    live["metadata"]["managedFields"][0]["apiVersion"] = "v0"
    new = copy.deepcopy(live)
    new["data"]["l"] = "w"
    assert _owned(_updated(live, "bob", new)) == {("bob", "Update"): {"f:data": {"f:l": {}}}}


def test_the_oldest_of_more_than_ten_updaters_are_merged():
    live = _created("m0", k0="v")
    for index in range(1, 13):
        new = copy.deepcopy(live)
        new["data"][f"k{index}"] = "v"
        fieldmanager.update(_endpoint(), live, new, f"m{index}", f"2026-01-01T00:00:{index:02}Z")
        live = new
    entries = live["metadata"]["managedFields"]
    assert len(entries) == 10
    assert entries[0]["manager"] == "ancient-changes"
    assert entries[0]["fieldsV1"] == {
        "f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}
    }


def test_apply_creates():
    made = _applied({}, _config_map({"k": "v"}, labels={"a": "b"}))
    assert made["data"] == {"k": "v"}
    assert _owned(made) == {
        ("ssa", "Apply"): {"f:data": {"f:k": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}
    }


def test_apply_conflicts_with_the_owner_of_a_field():
    with pytest.raises(StatusError) as raised:
        _applied(_created(k="v"), _config_map({"k": "w"}))
    assert raised.value.status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "alice" using v1: .data.k',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "alice" using v1',
                    "field": ".data.k",
                }
            ]
        },
        "code": 409,
    }


def test_several_conflicts_are_listed_under_their_managers():
    live = _applied(_created(k="v", l="v"), _config_map({"m": "v"}), "other")
    with pytest.raises(StatusError) as raised:
        _applied(live, _config_map({"k": "w", "l": "w", "m": "w"}))
    assert raised.value.message == (
        'Apply failed with 3 conflicts: conflicts with "alice" using v1:\n- .data.k\n- .data.l\n'
        'conflicts with "other":\n- .data.m'
    )


def test_forced_apply_takes_the_field():
    forced = _applied(_created(k="v", l="x"), _config_map({"k": "w"}), force=True)
    assert forced["data"] == {"k": "w", "l": "x"}
    assert _owned(forced) == {
        ("alice", "Update"): {"f:data": {".": {}, "f:l": {}}},
        ("ssa", "Apply"): {"f:data": {"f:k": {}}},
    }


def test_equal_values_have_several_owners():
    live = _applied(_created(k="v"), _config_map({"k": "v"}))
    assert _owned(live) == {
        ("alice", "Update"): {"f:data": {".": {}, "f:k": {}}},
        ("ssa", "Apply"): {"f:data": {"f:k": {}}},
    }


def test_fields_that_are_not_applied_any_more_are_pruned_unless_they_have_another_owner():
    live = _applied({}, _config_map({"k": "v", "l": "w"}, labels={"a": "b"}))
    live["metadata"]["uid"] = "1"
    live = _applied(live, _config_map({"l": "w"}), "other")
    dropped = _applied(live, _config_map())
    assert dropped["data"] == {"l": "w"}
    assert "labels" not in dropped["metadata"]
    assert _owned(dropped) == {("other", "Apply"): {"f:data": {"f:l": {}}}}


def test_repeated_apply_changes_nothing():
    live = _applied({}, _config_map({"k": "v"}))
    again = _applied(live, _config_map({"k": "v"}))
    fieldmanager.ignore_timestamp_changes(live, again)
    assert again == live


def test_list_items_are_owned_and_pruned_one_by_one():
    def deployment(*containers: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d"},
            "spec": {"template": {"spec": {"containers": list(containers)}}},
        }

    endpoint = _endpoint(DEPLOYMENT, "apps/v1")

    def applied(live: dict[str, Any], manager: str, *containers: dict[str, Any]) -> dict[str, Any]:
        application = ApplyRequest(deployment(*containers), manager, False, NOW)
        return fieldmanager.apply(endpoint, live, application)

    live = applied({}, "one", {"name": "a", "image": "i"}, {"name": "b", "image": "i"})
    live = applied(live, "two", {"name": "a", "env": [{"name": "X", "value": "1"}]})
    live = applied(live, "one", {"name": "b", "image": "i"})
    containers = live["spec"]["template"]["spec"]["containers"]
    assert containers == [
        {"name": "a", "env": [{"name": "X", "value": "1"}]},
        {"name": "b", "image": "i"},
    ]


def test_kubectl_takes_over_fields_of_its_client_side_apply():
    live = _created("kubectl-client-side-apply", k="v")
    live["metadata"]["annotations"] = {
        lastapplied.ANNOTATION: ('{"apiVersion":"v1","kind":"ConfigMap","data":{"k":"v"}}')
    }
    with pytest.raises(StatusError, match="conflict with"):
        _applied(live, _config_map({"k": "w"}), "another")
    taken = _applied(live, _config_map({"k": "w"}), "kubectl")
    assert taken["data"] == {"k": "w"}
    assert taken["metadata"]["annotations"][lastapplied.ANNOTATION] == (
        '{"apiVersion":"v1","data":{"k":"w"},"kind":"ConfigMap","metadata":{"name":"c"}}\n'
    )


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        pytest.param(
            {**_config_map(), "apiVersion": "v2"},
            400,
            "invalid object type: /v2, Kind=ConfigMap",
            id="a different version",
        ),
        pytest.param(
            _config_map(managedFields=[]),
            400,
            "metadata.managedFields must be nil",
            id="managed fields",
        ),
        pytest.param(
            {**_config_map(), "foo": 1},
            500,
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): "
            ".foo: field not declared in schema",
            id="unknown field",
        ),
        pytest.param(
            {**_config_map({"k": 1}), "immutable": "yes"},
            500,
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): errors:\n"
            "  .data.k: expected string, got &value.valueUnstructured{Value:1}\n"
            "  .immutable: expected boolean, got &{yes}",
            id="wrong types",
        ),
    ],
)
def test_invalid_configurations(config, code, message):
    with pytest.raises(StatusError) as raised:
        _applied({}, config)
    assert (raised.value.code, raised.value.message) == (code, message)
