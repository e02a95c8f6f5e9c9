"""extension.rules: rules for all extension objects, whatever controller reconciles them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from webhook.admission.decision import Finding, Request
from webhook.api.extensions import WorkerPool
from webhook.api.registrations import DNSEntry
from webhook.kube.meta import Object
from webhook.state.snapshot import Snapshot

_TYPE: Final = ("type", "name the type of the extension")
_IDENTITIES: Final[Mapping[type[Object], tuple[str, str]]] = {
    DNSEntry: ("dnsName", "name the DNS record"),
}
"""The field that identifies an object; document 001's DNSEntry has no type."""


def validate(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    """Reject a missing or changed type, and any change of the spec of an object being deleted."""
    if request.kind is None:
        return
    new, old = request.object_as(request.kind.model), request.old_as(request.kind.model)
    field, message = _IDENTITIES.get(request.kind.model, _TYPE)
    identity = _at(new, field)
    if not identity:
        yield Finding.required(f"spec.{field}", message)
    if old is not None:
        before = _at(old, field)
        if before and before != identity:
            yield Finding.immutable(f"spec.{field}", identity, f"cannot be changed, set {before}")
        if old.is_deleting and _spec(request.old_raw()) != _spec(request.raw()):
            yield Finding.forbidden("spec", "cannot change while the object is being deleted")
    if isinstance(new, WorkerPool):
        yield from _pool(new, old if isinstance(old, WorkerPool) else None)


def _at(obj: Object, field: str) -> str:
    spec = msgspec.to_builtins(getattr(obj, "spec", None))
    return str(spec.get(field, "")) if isinstance(spec, dict) else ""


def _spec(raw: Mapping[str, Any] | None) -> Any:
    return raw.get("spec") if raw is not None else None


def _pool(pool: WorkerPool, old: WorkerPool | None) -> Iterator[Finding]:
    """Apply document 002 to document 001's pools, which have their zones in providerConfig."""
    zones = _zones(pool)
    if 0 < pool.spec.maximum < len(zones):
        found = Finding.forbidden(
            "spec.maximum",
            f"the pool has {len(zones)} zones but at most {pool.spec.maximum} nodes: raise maximum "
            f"to {len(zones)} or remove zones",
        )
        unchanged = old is not None and (old.spec.maximum, len(_zones(old))) == (
            pool.spec.maximum,
            len(zones),
        )
        yield found.as_warning() if unchanged else found


def _zones(pool: WorkerPool) -> tuple[Any, ...]:
    config = pool.spec.provider_config
    written = config.get("zones") if isinstance(config, Mapping) else None
    return pool.spec.zones or tuple(written if isinstance(written, list) else ())
