"""The wire format of kube-scheduler's extenders: keys in any case in, as Go writes them out.

Node names are seed names; the Pod stands for a shoot, or is the shoot itself. Every request gets a
response: errors are messages in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.kube.meta import ObjectKey
from webhook.scheduling.explain import summarise
from webhook.scheduling.pipeline import place
from webhook.scheduling.reservations import Reservations
from webhook.scheduling.result import ScheduleResult
from webhook.scheduling.seed_table import SeedTable
from webhook.state.snapshot import Snapshot

MAX_EXTENDER_SCORE: Final = 10

UNKNOWN_SEED: Final = "no such seed"
NOT_AUTHORIZED: Final = (
    "the shoot of a Pod is looked up only for a client that may update shoots/binding:"
    " authenticate with a client certificate or a bearer token, or send the Shoot itself"
)
ASSIGNED_ELSEWHERE: Final = "the shoot is assigned to another seed"

_NO_VICTIMS: Final = b'{"NodeNameToMetaVictims":{}}'


class ExtenderError(ValueError):
    """A request that cannot be served; the message goes back to the caller."""


class ExtenderArgs(NamedTuple):
    """The arguments of filter and prioritize."""

    shoot: Shoot | ObjectKey
    names: tuple[str, ...]
    nodes: tuple[Any, ...] | None = None
    """Whole nodes, from a scheduler without `nodeCacheCapable`."""


class ExtenderBindingArgs(NamedTuple):
    """The arguments of bind."""

    pod: ObjectKey
    pod_uid: str
    seed: str


class ExtenderResult(NamedTuple):
    """The response, and the seed that kube-scheduler will choose, if that is known already."""

    body: bytes
    shoot: Shoot | None = None
    seed: str | None = None
    rejection: str = ""
    """Why no seed fits, for an Event."""


def filter_seeds(
    body: bytes,
    table: SeedTable,
    snapshot: Snapshot,
    reserved: Reservations | None = None,
    *,
    authorized: bool = True,
) -> ExtenderResult:
    """Filter the named seeds for a shoot, with a reason for each that is rejected.

    A client that is not authorized learns about the shoot that it sends, and about no other.
    """
    try:
        arguments = decode(body)
        shoot = _find(arguments.shoot, snapshot, authorized=authorized)
    except ExtenderError as error:
        return ExtenderResult(_encode_filtered(error=str(error)))
    if shoot.spec.seed_name:
        fitting, resolvable, final = _assigned(shoot.spec.seed_name, arguments.names)
        rejection = ""
    else:
        held = reserved.held(snapshot, leave_out=shoot.key) if reserved is not None else None
        result = place(shoot, table, snapshot, among=arguments.names, held=held)
        fitting, resolvable, final = _filtered(result, arguments.names)
        rejection = "" if fitting else summarise(result)
    nodes = None
    if arguments.nodes is not None:
        kept = frozenset(fitting)
        items = [node for node in arguments.nodes if _name_of(node) in kept]
        nodes = {"metadata": {}, "items": items}
    # With one seed left kube-scheduler does not call prioritize.
    only = fitting[0] if len(fitting) == 1 else None
    body = _encode_filtered(fitting if nodes is None else None, nodes, resolvable, final)
    return ExtenderResult(body, shoot, only, rejection)


def prioritize(
    body: bytes,
    table: SeedTable,
    snapshot: Snapshot,
    reserved: Reservations | None = None,
    *,
    authorized: bool = True,
) -> ExtenderResult:
    """Score every named seed; only the seed that `place` chooses has the highest score.

    Extender scores have ten steps, ours many more, and kube-scheduler chooses at random among equal
    scores: so all other seeds score less than the chosen one.
    """
    named: tuple[str, ...] = ()
    try:
        written = _decode_object(body)
        named, _nodes = _decode_names(written)
        shoot = _find(_decode_shoot(written), snapshot, authorized=authorized)
    except ExtenderError:
        return ExtenderResult(_encode_scores(named, {}))
    if shoot.spec.seed_name:
        best = {shoot.spec.seed_name: MAX_EXTENDER_SCORE}
        return ExtenderResult(_encode_scores(named, best))
    held = reserved.held(snapshot, leave_out=shoot.key) if reserved is not None else None
    result = place(shoot, table, snapshot, among=named, held=held)
    return ExtenderResult(_encode_scores(named, _scale(result)), shoot, result.seed)


def filter_error(error: str) -> bytes:
    """Write the response of filter for an error on our side; no seed passes or fails."""
    return _encode_filtered(error=error)


def zero_scores(body: bytes) -> bytes:
    """Write the response of prioritize with score 0 for every named seed."""
    try:
        named, _nodes = _decode_names(_decode_object(body))
    except ExtenderError:
        named = ()
    return _encode_scores(named, {})


def preempt() -> bytes:
    """Write the response of preempt: shoots are never evicted, so there are no victims."""
    return _NO_VICTIMS


def decode(body: bytes) -> ExtenderArgs:
    """Read the arguments of filter and prioritize."""
    written = _decode_object(body)
    return ExtenderArgs(_decode_shoot(written), *_decode_names(written))


def decode_binding(body: bytes) -> ExtenderBindingArgs:
    """Read the arguments of bind."""
    written = _decode_object(body)
    fields = [written.get(key) for key in ("podnamespace", "podname", "poduid", "node")]
    namespace, name, uid, seed = (field if isinstance(field, str) else "" for field in fields)
    for key, value in (("PodNamespace", namespace), ("PodName", name), ("Node", seed)):
        if not value:
            raise ExtenderError(f"{key} is missing")
    return ExtenderBindingArgs(ObjectKey(namespace, name), uid, seed)


def encode_binding(error: str = "") -> bytes:
    """Write the response of bind."""
    return msgspec.json.encode({"Error": error})


def shoot_of_pod(annotations: Mapping[str, Any]) -> ObjectKey:
    """Return the shoot that a Pod stands for."""
    written = annotations.get(names.SHOOT_ANNOTATION)
    namespace, _, name = written.partition("/") if isinstance(written, str) else ("", "", "")
    if not namespace or not name or "/" in name:
        raise ExtenderError(
            f"Pod has no annotation {names.SHOOT_ANNOTATION} with NAMESPACE/NAME of a shoot"
        )
    return ObjectKey(namespace, name)


def _decode_object(body: bytes) -> dict[str, Any]:
    try:
        written = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ExtenderError(f"the body is not JSON: {error}") from error
    if not isinstance(written, dict):
        raise ExtenderError("the body must be a JSON object")
    return {key.lower(): value for key, value in written.items()}


def _decode_names(written: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Any, ...] | None]:
    nodes = written.get("nodes")
    items = nodes.get("items") if isinstance(nodes, Mapping) else None
    if isinstance(items, list):
        return tuple(map(_name_of, items)), tuple(items)
    try:
        return msgspec.convert(written.get("nodenames"), tuple[str, ...]), None
    except msgspec.ValidationError as error:
        raise ExtenderError(
            "NodeNames is missing: set nodeCacheCapable and send names of seeds"
        ) from error


def _decode_shoot(written: Mapping[str, Any]) -> Shoot | ObjectKey:
    pod = written.get("pod")
    if not isinstance(pod, Mapping):
        raise ExtenderError("Pod is missing: send a Pod or a Shoot")
    if pod.get("kind") == "Shoot":
        try:
            return msgspec.convert(pod, Shoot)
        except msgspec.ValidationError as error:
            raise ExtenderError(f"Pod is a Shoot that cannot be read: {error}") from error
    metadata = pod.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return shoot_of_pod(annotations if isinstance(annotations, Mapping) else {})


def _find(shoot: Shoot | ObjectKey, snapshot: Snapshot, *, authorized: bool) -> Shoot:
    if isinstance(shoot, Shoot):
        return shoot
    if not authorized:
        raise ExtenderError(NOT_AUTHORIZED)
    found = snapshot.look_up(Shoot, shoot)
    if found is None:
        raise ExtenderError(f"there is no shoot {shoot}")
    return found


_Filtered: TypeAlias = tuple[list[str], dict[str, str], dict[str, str]]
"""Feasible seeds, and the rejected ones with a reason: resolvable and final."""


def _assigned(assigned: str, named: Sequence[str]) -> _Filtered:
    rejected = {name: ASSIGNED_ELSEWHERE for name in named if name != assigned}
    return [assigned] if assigned in named else [], {}, rejected


def _filtered(result: ScheduleResult, named: Sequence[str]) -> _Filtered:
    """Sort names by group and not one by one: there may be thousands."""
    resolvable: dict[str, str] = {}
    final: dict[str, str] = {}
    for step, rejection, rejected in result.rejections():
        reason = f"{step}: {rejection.reason}"
        (final if rejection.final else resolvable).update(dict.fromkeys(rejected, reason))
    fitting = [*filter(frozenset(result.feasible).__contains__, named)]
    if len(fitting) + len(final) + len(resolvable) < len(named):
        for name in set(named).difference(result.names):
            known = result.malformed.get(name)
            final[name] = f"{known[0]}: {known[1].reason}" if known else UNKNOWN_SEED
    return fitting, resolvable, final


def _scale(result: ScheduleResult) -> Mapping[str, int]:
    totals = result.totals
    highest = max(totals.values(), default=0)
    scaled = {
        name: max(0, (MAX_EXTENDER_SCORE - 1) * total // highest) if highest > 0 else 0
        for name, total in totals.items()
    }
    if result.seed is not None:
        scaled[result.seed] = MAX_EXTENDER_SCORE
    return scaled


def _encode_filtered(
    fitting: list[str] | None = None,
    nodes: Any = None,
    resolvable: Mapping[str, str] | None = None,
    final: Mapping[str, str] | None = None,
    error: str = "",
) -> bytes:
    return msgspec.json.encode(
        {
            "Nodes": nodes,
            "NodeNames": fitting,
            "FailedNodes": resolvable or {},
            "FailedAndUnresolvableNodes": final or {},
            "Error": error,
        }
    )


def _encode_scores(named: Iterable[str], scores: Mapping[str, int]) -> bytes:
    return msgspec.json.encode([{"Host": name, "Score": scores.get(name, 0)} for name in named])


def _name_of(node: Any) -> str:
    metadata = node.get("metadata") if isinstance(node, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""
