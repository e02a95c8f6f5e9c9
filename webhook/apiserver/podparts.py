"""What is done to pods through their own doors: bind them to a node, evict them."""

from typing import Any, Final

from webhook.api import fielderrors, status
from webhook.api.status import Qualified
from webhook.apiserver import deleting, disruption, meta, writing
from webhook.apiserver.calls import Call, WriteOptions
from webhook.apiserver.core import Core
from webhook.apiserver.deleting import DeleteOptions
from webhook.apiserver.entries import Entry
from webhook.apiserver.requests import Target

Object = dict[str, Any]

_BINDING: Final = Qualified("", "pods/binding")
_PODS: Final = Qualified("", "pods")


async def bind(core: Core, call: Call, obj: Object, *, dry_run: bool) -> None:
    """Give a pod its node; 409 if it has one or is ending."""
    name = call.target.name or obj["metadata"].get("name", "")
    if obj["metadata"].get("name") != name:
        raise status.bad_request("name in URL does not match name in Binding object")
    target = obj.get("target") or {}
    _check_target(target)
    inner = _pod_call(core, call, name)
    now = meta.timestamp(core.now())

    def transform(live: Object) -> Object:
        _check_bindable(name, live)
        spec = live["spec"]
        spec["nodeName"] = target["name"]
        annotations = obj["metadata"].get("annotations")
        if annotations:
            known = live["metadata"].get("annotations") or {}
            live["metadata"]["annotations"] = {**known, **annotations}
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        _set_condition(live, scheduled)
        return live

    await writing.rewrite(core, inner, transform, WriteOptions(dry_run=dry_run))


def _check_target(target: Object) -> None:
    if target.get("kind") not in ("Node", "", None):
        error = fielderrors.not_supported("target.kind", target["kind"], ("Node", "<empty>"))
        raise status.failure(500, "", str(error))
    if not target.get("name"):
        raise status.failure(500, "", str(fielderrors.required("target.name")))


def _check_bindable(name: str, pod: Object) -> None:
    spec, metadata = pod["spec"], pod["metadata"]
    if metadata.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
        raise status.conflict(_BINDING, name, why)
    if spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        raise status.conflict(_BINDING, name, why)
    if spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
        raise status.conflict(_BINDING, name, why)


def _set_condition(pod: Object, condition: Object) -> None:
    state = pod.setdefault("status", {})
    others = [one for one in state.get("conditions") or () if one["type"] != condition["type"]]
    state["conditions"] = [*others, condition]


def _pod_call(core: Core, call: Call, name: str) -> Call:
    resource = core.registry.get("", "v1", "pods")
    if resource is None:
        raise status.no_such_resource()
    target = Target("", "v1", "pods", call.target.namespace, name)
    return Call(resource, target, "update", call.user, user_agent=call.user_agent)


async def evict(core: Core, call: Call, obj: Object, *, dry_run: bool) -> None:
    """Delete a pod, unless its disruption budget says that now is not the time."""
    name = call.target.name
    inner = _pod_call(core, call, name)
    entry = core.collection(inner.resource).head(inner.key)
    if entry is None:
        raise status.not_found(_PODS, name)
    if obj["metadata"].get("name") != name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    raw = dict(obj.get("deleteOptions") or {})
    dry_run = dry_run or bool(raw.get("dryRun"))
    if not disruption.ignores_budgets(entry.decode()):
        await disruption.spend(core, entry, dry_run=dry_run)
    if not dry_run:
        await _mark_target(core, inner)
    await deleting.delete_object(core, inner, _delete_options(raw, entry, dry_run))


async def _mark_target(core: Core, inner: Call) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": meta.timestamp(core.now()),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }

    def transform(live: Object) -> Object:
        _set_condition(live, condition)
        return live

    await writing.rewrite(core, inner, transform, WriteOptions())


def _delete_options(raw: Object, entry: Entry, dry_run: bool) -> DeleteOptions:
    preconditions = raw.get("preconditions") or {}
    return DeleteOptions(
        raw.get("propagationPolicy") or "",
        raw.get("orphanDependents"),
        raw.get("gracePeriodSeconds"),
        preconditions.get("uid") or entry.uid,
        preconditions.get("resourceVersion"),
        dry_run,
        raw,
    )
