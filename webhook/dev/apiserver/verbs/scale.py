"""The scale subresource of any kind."""

from typing import Any, Final

from webhook.dev.apiserver import jsonpath
from webhook.dev.apiserver.builtin.kinds import AUTOSCALING_V1, Builtin
from webhook.dev.apiserver.builtin.typeerrors import json_type_name
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import bodies
from webhook.dev.apiserver.endpoints.calls import (
    Call,
    WriteOptions,
    field_manager_of,
    write_options,
)
from webhook.dev.apiserver.registry import conversion, managedfields
from webhook.dev.apiserver.registry.registry import from_builtin
from webhook.dev.apiserver.registry.resources import ScalePaths
from webhook.dev.apiserver.verbs import patches, reads, writes
from webhook.kube import fielderrors, status
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

SCALE_VERSION: Final = "autoscaling/v1"
SCALE_RESOURCE: Final = from_builtin(Builtin(AUTOSCALING_V1, "Scale", "scales", "V1Scale"))
"""The resource of the responses."""
_BUILTIN: Final = ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector")


def scale_of(call: Call, obj: Draft) -> Draft:
    """Return an object as a Scale."""
    paths = call.resource.scale or _BUILTIN
    metadata = obj["metadata"]
    shown = {
        name: metadata[name]
        for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if name in metadata
    }
    spec = {"replicas": count} if (count := _number(obj, paths.spec_replicas)) else {}
    state: Draft = {"replicas": _number(obj, paths.status_replicas)}
    if selector := _selector(obj, paths.selector):
        state["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": shown,
        "spec": spec,
        "status": state,
    }


def _number(obj: Draft, path: str) -> int:
    found = jsonpath.find(obj, path)
    return found[0] if found and isinstance(found[0], int) else 0


def _selector(obj: Draft, path: str) -> str:
    found = jsonpath.find(obj, path) if path else []
    if not found:
        return ""
    if isinstance(found[0], str):
        return found[0]
    selector = found[0]
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        key, operator = expression["key"], expression["operator"]
        values = ",".join(sorted(expression.get("values") or ()))
        written = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        terms.append(written.get(operator, f"!{key}"))
    return ",".join(terms)


def get_scale(core: Core, call: Call) -> Draft:
    """Handle a GET of the scale subresource."""
    return scale_of(call, conversion.decode_as(call.resource, reads.get(core, call)))


async def write_scale(core: Core, call: Call) -> Draft:
    """Handle a PUT or PATCH of the scale subresource."""
    kind = "PatchOptions" if call.verb == "patch" else "UpdateOptions"
    options = write_options(call, kind)
    make = _patched(call) if call.verb == "patch" else _replaced(call)
    endpoint = managedfields.endpoint_of(core.registry, call.resource, "scale")
    manager = field_manager_of(options, call.user_agent)

    def transform(live: Draft) -> Draft:
        scale = make(scale_of(call, live))
        _check(call, scale)
        new = _with_replicas(call, live, int((scale.get("spec") or {}).get("replicas") or 0))
        given = (scale.get("metadata") or {}).get("resourceVersion")
        new["metadata"]["resourceVersion"] = given or live["metadata"]["resourceVersion"]
        managedfields.track_update(endpoint, live, new, manager, core.now())
        return new

    change = writes.GuaranteedUpdate(core, call, options, transform)
    return scale_of(call, conversion.decode_as(call.resource, (await change.run()).entry))


def _replaced(call: Call) -> Any:
    try:
        sent = bodies.decode(call.body, strict=False).value
    except bodies.MalformedError as error:
        raise status.bad_request(str(error)) from error
    return lambda _: sent


def _patched(call: Call) -> Any:
    decoded = patches.decode_patch(call, WriteOptions())
    kind = bodies.media_type(call.content_type)
    return lambda scale: patches.patched_value(call, kind, scale, decoded.value)


def _check(call: Call, scale: Draft) -> None:
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        if call.resource.is_custom:
            raise status.bad_request(
                'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
            )
        raise status.bad_request(
            'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal '
            f"{json_type_name(replicas)} into Go struct field ScaleSpec.spec.replicas of type "
            "int32"
        )
    if replicas < 0 and not call.resource.is_custom:
        detail = "must be greater than or equal to 0"
        error = fielderrors.invalid("spec.replicas", replicas, detail)
        name = (scale.get("metadata") or {}).get("name") or call.info.name
        raise status.invalid(Qualified("autoscaling", "Scale"), name, [error])


def _with_replicas(call: Call, live: Draft, replicas: int) -> Draft:
    new: Draft = {**live, "metadata": dict(live["metadata"])}
    set_replicas(call, new, replicas)
    return new


def set_replicas(call: Call, obj: Draft, replicas: int) -> None:
    """Set the replicas at the path of the kind; the objects on the path are copied."""
    paths = call.resource.scale or _BUILTIN
    steps = paths.spec_replicas.strip(".").split(".")
    holder = obj
    for step in steps[:-1]:
        holder[step] = dict(holder.get(step) or {})
        holder = holder[step]
    holder[steps[-1]] = replicas
