"""The subresources of pods: binding and eviction."""

from typing import Final

from webhook.dev.apiserver.controllers import disruption
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints.calls import Call, WriteOptions
from webhook.dev.apiserver.endpoints.requestinfo import RequestInfo
from webhook.dev.apiserver.registry import objectmeta
from webhook.dev.apiserver.storage.entries import Entry
from webhook.dev.apiserver.verbs import deletions, writes
from webhook.dev.apiserver.verbs.deletions import DeleteOptions
from webhook.kube import fielderrors, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

_BINDING: Final = Qualified("", "pods/binding")
_PODS: Final = Qualified("", "pods")


async def bind(core: Core, call: Call, obj: Draft, *, dry_run: bool) -> None:
    """Bind a pod to a node; raise a 409 if it has one or is being deleted."""
    name = call.info.name or obj["metadata"].get("name", "")
    if obj["metadata"].get("name") != name:
        raise status.bad_request("name in URL does not match name in Binding object")
    target = obj.get("target") or {}
    _check_target(target)
    inner = _pod_call(core, call, name)
    now = objectmeta.timestamp(core.now())

    def transform(live: Draft) -> Draft:
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

    await writes.update_stored(core, inner, transform, WriteOptions(dry_run=dry_run))


def _check_target(target: Draft) -> None:
    if target.get("kind") not in ("Node", "", None):
        error = fielderrors.not_supported("target.kind", target["kind"], ("Node", "<empty>"))
        raise status.failure(500, "", str(error))
    if not target.get("name"):
        raise status.failure(500, "", str(fielderrors.required("target.name")))


def _check_bindable(name: str, pod: Draft) -> None:
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


def _set_condition(pod: Draft, condition: Draft) -> None:
    state = pod.setdefault("status", {})
    kept = [each for each in state.get("conditions") or () if each["type"] != condition["type"]]
    state["conditions"] = [*kept, condition]


def _pod_call(core: Core, call: Call, name: str) -> Call:
    resource = core.registry.get("", "v1", "pods")
    if resource is None:
        raise status.no_such_resource()
    target = RequestInfo("", "v1", "pods", call.info.namespace, name)
    return Call(resource, target, "update", call.user, user_agent=call.user_agent)


async def evict(core: Core, call: Call, obj: Draft, *, dry_run: bool) -> None:
    """Evict a pod; raise a 429 if its disruption budget does not allow it."""
    name = call.info.name
    inner = _pod_call(core, call, name)
    entry = core.collection(inner.resource).head(inner.key)
    if entry is None:
        raise status.not_found(_PODS, name)
    if obj["metadata"].get("name") != name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    raw = dict(obj.get("deleteOptions") or {})
    dry_run = dry_run or bool(raw.get("dryRun"))
    if not disruption.can_ignore_budgets(entry.decode()):
        await disruption.check_and_decrement(core, entry, dry_run=dry_run)
    if not dry_run:
        await _mark_target(core, inner)
    await deletions.delete_object(core, inner, _delete_options(raw, entry, dry_run))


async def _mark_target(core: Core, inner: Call) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": objectmeta.timestamp(core.now()),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }

    def transform(live: Draft) -> Draft:
        _set_condition(live, condition)
        return live

    await writes.update_stored(core, inner, transform, WriteOptions())


def _delete_options(raw: Draft, entry: Entry, dry_run: bool) -> DeleteOptions:
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
