"""plan(): the next writes for a ManagedSeed."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from webhook.api import conditions, names
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.api.timestamps import TimestampError, format_time, parse_time
from webhook.controllers.managedseed import (
    bootstrap,
    deletion,
    gardenlet,
    parents,
    secrets,
    status,
)
from webhook.controllers.managedseed import seed as rendering
from webhook.controllers.managedseed.status import Said
from webhook.runtime.actions import NOTHING, Action, Emit, Patch, Plan, Refusal, Remote
from webhook.state.snapshot import Snapshot

_KIND: Final = kind_of_model(ManagedSeed)
SYNC_SECONDS: Final = 3600.0
"""How often Secrets and gardenlets, which nobody watches, are looked after."""
WAIT_SECONDS: Final = 15.0
"""How soon to look again for something that nobody watches."""


class Outcome(NamedTuple):
    """What registering takes now, and what it comes to."""

    said: Said
    actions: tuple[Action, ...] = ()
    observed: bool = False
    """Whether the present spec has been acted on."""
    requeue_after: float | None = None


def plan(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    """Decide what to write next: register the Shoot as a Seed, keep it so, or let it go."""
    if not snapshot.options.keeps_managed_seeds:
        return NOTHING
    if managed_seed.is_deleting:
        return deletion.plan(managed_seed, snapshot)
    if names.GARDENER_FINALIZER not in managed_seed.metadata.finalizers:
        finalizers = [*managed_seed.metadata.finalizers, names.GARDENER_FINALIZER]
        change = {"metadata": {"finalizers": finalizers}}
        version = managed_seed.resource_version
        return Plan((Patch(_KIND, managed_seed.key, change, managed_seed.uid, version),))
    return _plan_registration(managed_seed, snapshot)


def _plan_registration(managed_seed: ManagedSeed, snapshot: Snapshot) -> Plan:
    raw = snapshot.raw(ManagedSeed, managed_seed.key) or {}
    shoot = _shoot_of(managed_seed, snapshot)
    seed = snapshot.get(Seed, ObjectKey("", managed_seed.name))
    told = status.of_shoot(managed_seed, shoot)
    if shoot is None or told.status != conditions.TRUE:
        outcome = Outcome(_as_it_is(managed_seed, seed, told))
    elif managed_seed.spec.seed_template is not None:
        outcome = _register(managed_seed, raw, shoot, seed, snapshot)
    else:
        outcome = _deploy(managed_seed, raw, shoot, seed, snapshot)
    said = (told, outcome.said, status.of_seed(managed_seed, seed))
    old: Draft = raw.get("status") or {}
    now = snapshot.taken_at
    if outcome.actions:
        return Plan(
            outcome.actions,
            outcome.requeue_after,
            partial(_answer, managed_seed, old, said, now),
        )
    writes = status.write(managed_seed, old, said, now, observed=outcome.observed)
    return Plan(tuple(writes), outcome.requeue_after)


def _shoot_of(managed_seed: ManagedSeed, snapshot: Snapshot) -> Shoot | None:
    reference = managed_seed.spec.shoot
    if reference is None or not reference.name:
        return None
    return snapshot.get(Shoot, ObjectKey(managed_seed.namespace, reference.name))


def _as_it_is(managed_seed: ManagedSeed, seed: Seed | None, told: Said, note: str = "") -> Said:
    """Say whether the Seed is there while its Shoot is not ready for changes."""
    if seed is None:
        return status.not_registered("WaitingForShoot", told.message)
    if seed.is_deleting:
        return status.not_registered("SeedDeleting", f"Seed {seed.name} is being deleted")
    return status.registered(managed_seed, note)


def _register(
    managed_seed: ManagedSeed, raw: Draft, shoot: Shoot, seed: Seed | None, snapshot: Snapshot
) -> Outcome:
    """Make and keep the Seed of a template."""
    if seed is not None and not deletion.is_ours(seed, managed_seed):
        message = (
            f"Seed {seed.name} exists and is not this ManagedSeed's: to hand it over annotate it"
            f" with {names.MANAGED_SEED}={managed_seed.key}"
        )
        return Outcome(status.not_registered("SeedConflict", message))
    if seed is not None and seed.is_deleting:
        told = status.not_registered("SeedDeleting", f"Seed {seed.name} is being deleted")
        return Outcome(told, tuple(deletion.release_seed(seed, snapshot)))
    template, _ = rendering.template_of(raw)
    write = rendering.apply(managed_seed, rendering.complete(template, managed_seed, shoot), seed)
    existing = snapshot.raw(Seed, ObjectKey("", managed_seed.name))
    actions: list[Action] = [*_copy_secrets(managed_seed, shoot, snapshot)]
    if existing is None or not rendering.is_current(existing, write):
        actions.append(write)
        if seed is None:
            message = f"registering Seed {managed_seed.name}"
            actions.append(Emit(_KIND, managed_seed, "RegisteringSeed", message))
        told = status.not_registered("Registering", message="the Seed is being written")
        return Outcome(told, tuple(actions))
    note = _missing_kubeconfig(managed_seed, shoot, snapshot)
    told = status.registered(managed_seed, note)
    again = WAIT_SECONDS if note else SYNC_SECONDS
    return Outcome(told, tuple(actions), observed=True, requeue_after=again)


def _copy_secrets(managed_seed: ManagedSeed, shoot: Shoot, snapshot: Snapshot) -> Iterator[Action]:
    template = managed_seed.seed_template
    if template is not None:
        for copy in secrets.copies(managed_seed, template.spec, shoot, snapshot):
            yield from secrets.write(copy, managed_seed, snapshot)


def _missing_kubeconfig(managed_seed: ManagedSeed, shoot: Shoot, snapshot: Snapshot) -> str:
    template = managed_seed.spec.seed_template
    if template is None or template.spec.secret_ref is None:
        return ""
    key = secrets.kubeconfig_key(managed_seed, shoot)
    if snapshot.look_up(Secret, key) is not None:
        return ""
    return f", without a kubeconfig: Secret {key} does not exist yet"


def _deploy(
    managed_seed: ManagedSeed, raw: Draft, shoot: Shoot, seed: Seed | None, snapshot: Snapshot
) -> Outcome:
    """Deploy the gardenlet that registers the Seed, again whenever its manifests change."""
    key = secrets.kubeconfig_key(managed_seed, shoot)
    kubeconfig = secrets.read_kubeconfig(snapshot.look_up(Secret, key))
    if kubeconfig is None:
        message = f"Secret {key} with the kubeconfig of the Shoot does not exist"
        told = status.not_registered("KubeconfigMissing", message)
        return Outcome(told, requeue_after=WAIT_SECONDS)
    contact = bootstrap.prepare(managed_seed, kubeconfig, snapshot)
    if contact.waits_for:
        told = status.not_registered("BootstrapPending", f"missing: {contact.waits_for}")
        return Outcome(told, tuple(contact.actions), requeue_after=WAIT_SECONDS)
    rendered = _render(managed_seed, raw, shoot, contact.kubeconfig, snapshot)
    note = f"{rendering.checksum([write.body for write in rendered])}"
    backups = tuple(_copy_secrets(managed_seed, shoot, snapshot))
    if not _is_applied(managed_seed, note, snapshot):
        remote = (Remote(kubeconfig, write) for write in rendered)
        stamp = f"{note} {format_time(snapshot.taken_at)}"
        noted = {names.GARDENLET_APPLIED: stamp, names.OPERATION: None}
        change = {"metadata": {"annotations": noted}}
        done = Patch(_KIND, managed_seed.key, change, managed_seed.uid)
        event = Emit(_KIND, managed_seed, "DeployedGardenlet", f"gardenlet {note} is deployed")
        told = status.not_registered("Deploying", "the gardenlet is being deployed")
        return Outcome(told, (*contact.actions, *backups, *remote, done, event))
    if seed is None:
        told = status.not_registered("WaitingForGardenlet", "the gardenlet has not registered it")
        return Outcome(told, backups, observed=True, requeue_after=SYNC_SECONDS)
    told = _as_it_is(managed_seed, seed, Said("", "", "", ""), parents.note(raw, shoot, snapshot))
    return Outcome(told, backups, observed=True, requeue_after=SYNC_SECONDS)


def _render(
    managed_seed: ManagedSeed, raw: Draft, shoot: Shoot, kubeconfig: str | None, snapshot: Snapshot
) -> list[Any]:
    given = parents.merged(raw, shoot, snapshot)
    template, _ = rendering.template_of(raw)
    wanted = rendering.complete(template, managed_seed, shoot)
    config = gardenlet.configuration(
        managed_seed, given.config, wanted, bootstraps=kubeconfig is not None
    )
    return [*gardenlet.manifests(shoot, config, given.deployment, kubeconfig)]


def _is_applied(managed_seed: ManagedSeed, note: str, snapshot: Snapshot) -> bool:
    """Tell whether these manifests were applied, and not too long ago to be relied on."""
    operation = managed_seed.metadata.annotations.get(names.OPERATION)
    if operation in (names.OPERATION_RECONCILE, names.OPERATION_RENEW_KUBECONFIG):
        return False
    told, _, stamp = managed_seed.metadata.annotations.get(names.GARDENLET_APPLIED, "").partition(
        " "
    )
    try:
        age = snapshot.taken_at - parse_time(stamp)
    except TimestampError:
        return False
    return told == note and age < timedelta(seconds=SYNC_SECONDS)


def _answer(
    managed_seed: ManagedSeed, old: Draft, said: tuple[Said, ...], now: Any, refusal: Refusal
) -> Iterator[Action]:
    """Tell which write was refused and why."""
    what = f"{refusal.action.kind.name} {refusal.action.key}"
    causes = "; ".join(f"{cause.get('field')}: {cause.get('message')}" for cause in refusal.causes)
    message = f"{what} was refused: {causes or refusal.message}"
    refused = status.not_registered("Refused", message)
    kept = tuple(each for each in said if each.type != refused.type)
    yield from status.write(managed_seed, old, (*kept, refused), now, guarded=False)
    yield Emit(_KIND, managed_seed, "Refused", message, "Warning")
