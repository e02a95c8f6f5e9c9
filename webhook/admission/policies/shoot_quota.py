"""shoot.quota: all shoots of a quota together stay within its limits."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from webhook.admission.decision import Finding, Request
from webhook.api import names
from webhook.api.projects import CredentialsBinding, Quota, SecretBinding
from webhook.api.shoots import Shoot
from webhook.domain.shoots import cloud_profiles, quota
from webhook.domain.shoots.quota import Binding
from webhook.kube import quantity
from webhook.kube.meta import ObjectKey
from webhook.kube.timestamps import TimestampError, format_time, parse_time
from webhook.state.indexes import (
    CREDENTIALS_BINDINGS_BY_QUOTA,
    SECRET_BINDINGS_BY_QUOTA,
    Index,
)
from webhook.state.snapshot import Snapshot
from webhook.state.totals import QUOTA_USAGE, Vector

BindingReference: TypeAlias = tuple[str, type[Binding], str]
"""The field that names a binding, its kind and its name."""

_NOTHING: Final = Decimal(0)
_NO_USAGE: Final[Vector] = {}
_BINDINGS_BY_QUOTA: Final[tuple[Index[Any], ...]] = (
    SECRET_BINDINGS_BY_QUOTA,
    CREDENTIALS_BINDINGS_BY_QUOTA,
)


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Check the quotas of the shoot's binding if it may use more resources or live longer."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    if shoot.is_deleting:
        return ()
    uses_more = quota.may_cost_more(shoot.spec, old.spec if old is not None else None)
    # On creation the controller overwrites the expiration timestamp.
    expires_later = old is not None and _expiry(shoot) not in (None, _expiry(old))
    reference = _binding_reference(shoot) if uses_more or expires_later else None
    if reference is None:
        return ()
    return _validate(request, shoot, reference, (uses_more, expires_later), snapshot)


def _validate(
    request: Request,
    shoot: Shoot,
    reference: BindingReference,
    why: tuple[bool, bool],
    snapshot: Snapshot,
) -> Iterator[Finding]:
    (field, model, name), (uses_more, expires_later) = reference, why
    key = ObjectKey(request.key.namespace, name)
    binding: Binding | None = snapshot.look_up(model, key)
    if binding is None:
        yield Finding.warning(
            field, f"{model.__name__} {key} does not exist, so no quota is checked"
        )
        return
    quotas, missing = _quotas(binding, snapshot)
    yield from (Finding.warning(field, f"Quota {key} does not exist") for key in missing)
    if uses_more:
        yield from _usage(shoot, request, quotas, snapshot)
    if expires_later:
        yield from _lifetime(shoot, quotas, snapshot)


def _binding_reference(shoot: Shoot) -> BindingReference | None:
    spec = shoot.spec
    if spec.credentials_binding_name:
        return "spec.credentialsBindingName", CredentialsBinding, spec.credentials_binding_name
    if spec.secret_binding_name:
        return "spec.secretBindingName", SecretBinding, spec.secret_binding_name
    return None


def _quotas(binding: Binding, snapshot: Snapshot) -> tuple[list[Quota], list[ObjectKey]]:
    found, missing = [], []
    for reference in binding.quotas:
        key = ObjectKey(reference.namespace or binding.namespace, reference.name)
        one = snapshot.look_up(Quota, key)
        if one is None:
            missing.append(key)
        else:
            found.append(one)
    return found, missing


def _usage(
    shoot: Shoot, request: Request, quotas: Iterable[Quota], snapshot: Snapshot
) -> Iterator[Finding]:
    limited = [one for one in quotas if one.spec.metrics]
    if not limited:
        return
    profile = cloud_profiles.find(shoot.spec, request.key.namespace, snapshot.look_up)
    wanted = quota.cost(shoot.spec, profile)
    for unknown in wanted.unknown:
        yield Finding.warning(
            "spec.provider.workers", f"{unknown} is not in the cloud profile, so it is not counted"
        )
    for one in limited:
        yield from _exceeded(one, wanted.amounts, _used(one, request, snapshot))


class _Used(NamedTuple):
    """The usage of a quota by binding, and the share of this shoot."""

    vectors: list[Vector]
    own: Vector


def _used(one: Quota, request: Request, snapshot: Snapshot) -> _Used:
    """Return what is used of a quota, from precomputed sums."""
    of_quota, key = str(one.key), request.key
    of_project = quota.is_of_project(one)
    groups = [
        quota.binding_group(binding)
        for index in _BINDINGS_BY_QUOTA
        for binding in snapshot.by_index(index, of_quota)
        if not of_project or binding.metadata.namespace == key.namespace
    ]
    stored = snapshot.get(Shoot, key)
    is_among = stored is not None and quota.group(stored) in groups
    own = snapshot.contribution(QUOTA_USAGE, key) if is_among else _NO_USAGE
    return _Used([snapshot.total(QUOTA_USAGE, group) for group in groups], own)


def _exceeded(one: Quota, wanted: Vector, used: _Used) -> Iterator[Finding]:
    add, subtract = quota.EXACT.add, quota.EXACT.subtract
    for metric, limit in quota.limits(one):
        if limit is None:
            yield Finding.warning("", f"Quota {one.key} has no readable limit for {metric}")
            continue
        # The total if this shoot used what is requested now.
        amount = subtract(wanted.get(metric, _NOTHING), used.own.get(metric, _NOTHING))
        for vector in used.vectors:
            amount = add(amount, vector.get(metric, _NOTHING))
        if amount > limit:
            yield Finding.denied(
                f"Quota {one.key} allows {_shown(limit, metric)} of {metric}, this would take "
                f"{_shown(amount, metric)}: use less, delete shoots, or have the quota raised",
                "spec.provider.workers" if metric != quota.LOAD_BALANCER else "spec.addons",
            )


def _shown(amount: Decimal, metric: str) -> str:
    is_binary = metric == quota.MEMORY or metric.startswith("storage.")
    return quantity.format_canonical(amount, "BinarySI" if is_binary else "DecimalSI")


def _expiry(shoot: Shoot | None) -> str | None:
    return shoot.metadata.annotations.get(names.EXPIRATION_TIMESTAMP) if shoot else None


def _lifetime(shoot: Shoot, quotas: Iterable[Quota], snapshot: Snapshot) -> Iterator[Finding]:
    """Reject an expiration timestamp later than the quotas allow."""
    days = [one.spec.cluster_lifetime_days for one in quotas]
    limits = [day for day in days if day is not None]
    written = _expiry(shoot)
    if not limits or written is None:
        return
    field = f"metadata.annotations[{names.EXPIRATION_TIMESTAMP}]"
    latest = snapshot.taken_at + timedelta(days=min(*limits, 36500))
    try:
        if parse_time(written) > latest:
            yield Finding.denied(
                f"may not be later than {format_time(latest)}: the quota grants {min(limits)} days",
                field,
            )
    except TimestampError as error:
        yield Finding.invalid(field, written, str(error))
