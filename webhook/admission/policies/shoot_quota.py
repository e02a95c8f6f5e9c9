"""shoot.quota: shoots that share a quota stay within it together."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from webhook.admission.decision import Finding, Request
from webhook.api import names, quantity
from webhook.api.meta import ObjectKey
from webhook.api.projects import CredentialsBinding, Quota, SecretBinding
from webhook.api.shoots import Shoot
from webhook.api.timestamps import TimestampError, format_time, parse_time
from webhook.domain import profiles, quota
from webhook.domain.quota import Binding
from webhook.state.indexes import (
    CREDENTIALS_BINDINGS_BY_QUOTA,
    SECRET_BINDINGS_BY_QUOTA,
    Index,
)
from webhook.state.snapshot import Snapshot
from webhook.state.totals import QUOTA_USAGE, Vector

Named: TypeAlias = tuple[str, type[Binding], str]
"""The field that names a binding, its kind and its name."""

_NOTHING: Final = Decimal(0)
_NOT_THERE: Final[Vector] = {}
_BINDINGS_BY_QUOTA: Final[tuple[Index[Any], ...]] = (
    SECRET_BINDINGS_BY_QUOTA,
    CREDENTIALS_BINDINGS_BY_QUOTA,
)


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Ask every quota of the shoot's binding, where the request may cost more than before."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    if shoot.is_deleting:
        return ()
    costs_more = quota.is_checked(shoot.spec, old.spec if old is not None else None)
    # On creation the date is overwritten by the controller that keeps it.
    lives_longer = old is not None and _expiry(shoot) not in (None, _expiry(old))
    named = _named(shoot) if costs_more or lives_longer else None
    if named is None:
        return ()
    return _judge(request, shoot, named, (costs_more, lives_longer), snapshot)


def _judge(
    request: Request, shoot: Shoot, named: Named, why: tuple[bool, bool], snapshot: Snapshot
) -> Iterator[Finding]:
    (field, model, name), (costs_more, lives_longer) = named, why
    key = ObjectKey(request.key.namespace, name)
    binding: Binding | None = snapshot.look_up(model, key)
    if binding is None:
        yield Finding.warning(field, f"{model.__name__} {key} does not exist, so no quota holds")
        return
    quotas, missing = _quotas(binding, snapshot)
    yield from (Finding.warning(field, f"Quota {lost} does not exist") for lost in missing)
    if costs_more:
        yield from _costs(shoot, request, quotas, snapshot)
    if lives_longer:
        yield from _lifetime(shoot, quotas, snapshot)


def _named(shoot: Shoot) -> Named | None:
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


def _costs(
    shoot: Shoot, request: Request, quotas: Iterable[Quota], snapshot: Snapshot
) -> Iterator[Finding]:
    limited = [one for one in quotas if one.spec.metrics]
    if not limited:
        return
    offer = profiles.find(shoot.spec, request.key.namespace, snapshot.look_up)
    wanted = quota.cost(shoot.spec, offer)
    for unknown in wanted.unknown:
        yield Finding.warning(
            "spec.provider.workers", f"{unknown} is not in the cloud profile, so it is not counted"
        )
    for one in limited:
        yield from _exceeded(one, wanted.amounts, _used(one, request, snapshot))


class _Used(NamedTuple):
    """What a quota's bindings have cost so far, and what of it is this very shoot's."""

    vectors: list[Vector]
    own: Vector


def _used(one: Quota, request: Request, snapshot: Snapshot) -> _Used:
    """Find what is used of a quota, by sums that are kept at hand."""
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
    own = snapshot.share(QUOTA_USAGE, key) if is_among else _NOT_THERE
    return _Used([snapshot.total(QUOTA_USAGE, group) for group in groups], own)


def _exceeded(one: Quota, wanted: Vector, used: _Used) -> Iterator[Finding]:
    add, subtract = quota.EXACT.add, quota.EXACT.subtract
    for metric, limit in quota.limits(one):
        if limit is None:
            yield Finding.warning("", f"Quota {one.key} has no readable limit for {metric}")
            continue
        # What all would cost together if this shoot cost what is wanted now.
        amount = subtract(wanted.get(metric, _NOTHING), used.own.get(metric, _NOTHING))
        for vector in used.vectors:
            amount = add(amount, vector.get(metric, _NOTHING))
        if amount > limit:
            yield Finding.denied(
                f"Quota {one.key} allows {_shown(limit, metric)} of {metric}, this would take "
                f"{_shown(amount, metric)}: use less, delete shoots, or ask for more",
                "spec.provider.workers" if metric != quota.LOAD_BALANCER else "spec.addons",
            )


def _shown(amount: Decimal, metric: str) -> str:
    is_binary = metric == quota.MEMORY or metric.startswith("storage.")
    return quantity.format_canonical(amount, "BinarySI" if is_binary else "DecimalSI")


def _expiry(shoot: Shoot | None) -> str | None:
    return shoot.metadata.annotations.get(names.EXPIRATION_TIMESTAMP) if shoot else None


def _lifetime(shoot: Shoot, quotas: Iterable[Quota], snapshot: Snapshot) -> Iterator[Finding]:
    """Refuse to put the end of a shoot further off than its quotas allow."""
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
