"""The scale subresource: how many replicas there are and should be, whatever the kind."""

from typing import Any

from webhook.api import fielderrors, status
from webhook.api.status import Qualified
from webhook.apiserver import bodies, conversion, jsonpath, ownership, patching, reading, writing
from webhook.apiserver.builtin.decoding import json_name
from webhook.apiserver.builtin.kinds import OLD_AUTOSCALING, Builtin
from webhook.apiserver.calls import Call, WriteOptions, manager_of, write_options
from webhook.apiserver.core import Core
from webhook.apiserver.registry import from_builtin
from webhook.apiserver.resources import ScalePaths

Object = dict[str, Any]
SCALE_VERSION = "autoscaling/v1"
#: What the answers are of, whatever the kind that is scaled.
RESOURCE = from_builtin(Builtin(OLD_AUTOSCALING, "Scale", "scales", "V1Scale"))
_BUILTIN = ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector")


def scale_of(call: Call, obj: Object) -> Object:
    """Show an object as a Scale."""
    paths = call.resource.scale or _BUILTIN
    metadata = obj["metadata"]
    shown = {
        name: metadata[name]
        for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if name in metadata
    }
    spec = {"replicas": count} if (count := _number(obj, paths.spec_replicas)) else {}
    state: Object = {"replicas": _number(obj, paths.status_replicas)}
    if selector := _selector(obj, paths.selector):
        state["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": shown,
        "spec": spec,
        "status": state,
    }


def _number(obj: Object, path: str) -> int:
    found = jsonpath.find(obj, path)
    return found[0] if found and isinstance(found[0], int) else 0


def _selector(obj: Object, path: str) -> str:
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


def get_scale(core: Core, call: Call) -> Object:
    """Answer a GET of the scale subresource."""
    return scale_of(call, conversion.decoded(call.resource, reading.get(core, call)))


async def write_scale(core: Core, call: Call) -> Object:
    """Answer a PUT or PATCH of the scale subresource."""
    kind = "PatchOptions" if call.verb == "patch" else "UpdateOptions"
    options = write_options(call, kind)
    make = _patched(call) if call.verb == "patch" else _replaced(call)
    where = ownership.endpoint(core.registry, call.resource, "scale")
    manager = manager_of(options, call.user_agent)

    def transform(live: Object) -> Object:
        scale = make(scale_of(call, live))
        _check(call, scale)
        new = _with_replicas(call, live, int((scale.get("spec") or {}).get("replicas") or 0))
        given = (scale.get("metadata") or {}).get("resourceVersion")
        new["metadata"]["resourceVersion"] = given or live["metadata"]["resourceVersion"]
        ownership.updated(where, live, new, manager, core.now())
        return new

    change = writing.Change(core, call, options, transform)
    return scale_of(call, conversion.decoded(call.resource, (await change.run()).entry))


def _replaced(call: Call) -> Any:
    try:
        sent = bodies.decode(call.body, strict=False).value
    except bodies.MalformedError as error:
        raise status.bad_request(str(error)) from error
    return lambda _: sent


def _patched(call: Call) -> Any:
    decoded = patching.decode_patch(call, WriteOptions())
    kind = bodies.media_type(call.content_type)
    return lambda scale: patching.patched_value(call, kind, scale, decoded.value)


def _check(call: Call, scale: Object) -> None:
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        if call.resource.is_custom:
            raise status.bad_request(
                'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
            )
        raise status.bad_request(
            'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal '
            f"{json_name(replicas)} into Go struct field ScaleSpec.spec.replicas of type "
            "int32"
        )
    if replicas < 0 and not call.resource.is_custom:
        detail = "must be greater than or equal to 0"
        error = fielderrors.invalid("spec.replicas", replicas, detail)
        name = (scale.get("metadata") or {}).get("name") or call.target.name
        raise status.invalid(Qualified("autoscaling", "Scale"), name, [error])


def _with_replicas(call: Call, live: Object, replicas: int) -> Object:
    new: Object = {**live, "metadata": dict(live["metadata"])}
    set_replicas(call, new, replicas)
    return new


def set_replicas(call: Call, obj: Object, replicas: int) -> None:
    """Set the number of replicas where the kind keeps it; what is shared is copied on the way."""
    paths = call.resource.scale or _BUILTIN
    steps = paths.spec_replicas.strip(".").split(".")
    holder = obj
    for step in steps[:-1]:
        holder[step] = dict(holder.get(step) or {})
        holder = holder[step]
    holder[steps[-1]] = replicas
