"""The wire format of kube-scheduler's extenders: requests in any case, answers as Go writes them.

Node names are seed names; the Pod is a shadow of a shoot, or the shoot itself. Whatever comes in,
there is an answer: faults are texts in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from webhook.api import names
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.scheduling.explain import summarise
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.pipeline import place
from webhook.scheduling.reservations import Reservations
from webhook.scheduling.verdict import Verdict
from webhook.state.snapshot import Snapshot

MAX_EXTENDER_SCORE: Final = 10

UNKNOWN_SEED: Final = "no such seed"
ASSIGNED_ELSEWHERE: Final = "the shoot is assigned to another seed"

_NO_VICTIMS: Final = b'{"NodeNameToMetaVictims":{}}'


class ExtenderError(ValueError):
    """A call that cannot be answered; the message goes back to the caller."""


class Arguments(NamedTuple):
    """What filter and prioritize ask about."""

    subject: Shoot | ObjectKey
    names: tuple[str, ...]
    nodes: tuple[Any, ...] | None = None
    """Whole nodes, from a scheduler that does not know that names will do."""


class Binding(NamedTuple):
    """What bind asks for."""

    pod: ObjectKey
    pod_uid: str
    seed: str


class Answer(NamedTuple):
    """What goes back, and which seed the scheduler will choose, if that is clear by now."""

    body: bytes
    shoot: Shoot | None = None
    seed: str | None = None
    refusal: str = ""
    """Why no seed at all fits, for an Event."""


def filter_seeds(
    body: bytes, landscape: Landscape, snapshot: Snapshot, reserved: Reservations | None = None
) -> Answer:
    """Answer which of the named seeds would take the shoot, and why not the others."""
    try:
        arguments = decode(body)
        shoot = _shoot(arguments.subject, snapshot)
    except ExtenderError as error:
        return Answer(_encode_filtered(error=str(error)))
    if shoot.spec.seed_name:
        fitting, resolvable, final = _only(shoot.spec.seed_name, arguments.names)
        refusal = ""
    else:
        held = reserved.held(snapshot, leave_out=shoot.key) if reserved is not None else None
        verdict = place(shoot, landscape, snapshot, among=arguments.names, held=held)
        fitting, resolvable, final = _sort_out(verdict, arguments.names)
        refusal = "" if fitting else summarise(verdict)
    nodes = None
    if arguments.nodes is not None:
        kept = frozenset(fitting)
        items = [node for node in arguments.nodes if _name_of(node) in kept]
        nodes = {"metadata": {}, "items": items}
    # With one seed left the scheduler does not ask for scores.
    only = fitting[0] if len(fitting) == 1 else None
    body = _encode_filtered(fitting if nodes is None else None, nodes, resolvable, final)
    return Answer(body, shoot, only, refusal)


def prioritize(
    body: bytes, landscape: Landscape, snapshot: Snapshot, reserved: Reservations | None = None
) -> Answer:
    """Answer a score for every named seed; the one that we would choose alone has the highest.

    Ten steps cannot tell seeds apart as finely as our scores do, and the scheduler chooses at
    random among equals: so all others score less than the best.
    """
    named: tuple[str, ...] = ()
    try:
        written = _decode_object(body)
        named, _nodes = _decode_names(written)
        shoot = _shoot(_decode_subject(written), snapshot)
    except ExtenderError:
        return Answer(_encode_scores(named, {}))
    if shoot.spec.seed_name:
        best = {shoot.spec.seed_name: MAX_EXTENDER_SCORE}
        return Answer(_encode_scores(named, best))
    held = reserved.held(snapshot, leave_out=shoot.key) if reserved is not None else None
    verdict = place(shoot, landscape, snapshot, among=named, held=held)
    return Answer(_encode_scores(named, _scale(verdict)), shoot, verdict.seed)


def filter_fault(error: str) -> bytes:
    """Answer filter with a fault of ours: no seed is judged."""
    return _encode_filtered(error=error)


def no_scores(body: bytes) -> bytes:
    """Answer prioritize without an opinion: nothing for every seed that was named."""
    try:
        named, _nodes = _decode_names(_decode_object(body))
    except ExtenderError:
        named = ()
    return _encode_scores(named, {})


def preempt(_body: bytes) -> bytes:
    """Answer that no seed becomes free by eviction: shoots are not evicted."""
    return _NO_VICTIMS


def decode(body: bytes) -> Arguments:
    """Read the arguments of filter and prioritize."""
    written = _decode_object(body)
    return Arguments(_decode_subject(written), *_decode_names(written))


def decode_binding(body: bytes) -> Binding:
    """Read the arguments of bind."""
    written = _decode_object(body)
    fields = [written.get(key) for key in ("podnamespace", "podname", "poduid", "node")]
    namespace, name, uid, seed = (field if isinstance(field, str) else "" for field in fields)
    for key, value in (("PodNamespace", namespace), ("PodName", name), ("Node", seed)):
        if not value:
            raise ExtenderError(f"{key} is missing")
    return Binding(ObjectKey(namespace, name), uid, seed)


def encode_binding(error: str = "") -> bytes:
    """Write the answer of bind."""
    return msgspec.json.encode({"Error": error})


def shoot_of_pod(annotations: Mapping[str, Any]) -> ObjectKey:
    """Read which shoot a Pod is the shadow of."""
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


def _decode_subject(written: Mapping[str, Any]) -> Shoot | ObjectKey:
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


def _shoot(subject: Shoot | ObjectKey, snapshot: Snapshot) -> Shoot:
    if isinstance(subject, Shoot):
        return subject
    shoot = snapshot.look_up(Shoot, subject)
    if shoot is None:
        raise ExtenderError(f"there is no shoot {subject}")
    return shoot


_Sorted: TypeAlias = tuple[list[str], dict[str, str], dict[str, str]]


def _only(assigned: str, named: Sequence[str]) -> _Sorted:
    others = {name: ASSIGNED_ELSEWHERE for name in named if name != assigned}
    return [assigned] if assigned in named else [], {}, others


def _sort_out(verdict: Verdict, named: Sequence[str]) -> _Sorted:
    """Sort thousands of names by group, not one by one."""
    resolvable: dict[str, str] = {}
    final: dict[str, str] = {}
    for step, rejection, names_refused in verdict.groups():
        told = f"{step}: {rejection.reason}"
        (final if rejection.final else resolvable).update(dict.fromkeys(names_refused, told))
    fitting = [*filter(frozenset(verdict.candidates).__contains__, named)]
    if len(fitting) + len(final) + len(resolvable) < len(named):
        for name in set(named).difference(verdict.names):
            known = verdict.malformed.get(name)
            final[name] = f"{known[0]}: {known[1].reason}" if known else UNKNOWN_SEED
    return fitting, resolvable, final


def _scale(verdict: Verdict) -> Mapping[str, int]:
    totals = verdict.totals
    highest = max(totals.values(), default=0)
    scaled = {
        name: max(0, (MAX_EXTENDER_SCORE - 1) * total // highest) if highest > 0 else 0
        for name, total in totals.items()
    }
    if verdict.seed is not None:
        scaled[verdict.seed] = MAX_EXTENDER_SCORE
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
