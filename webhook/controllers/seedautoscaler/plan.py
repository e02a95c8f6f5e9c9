"""plan(): scales a set to the number of seeds that a SeedAutoscaler recommends."""

from collections.abc import Iterator
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.controllers.seedautoscaler import cordon, demand, report, status_history
from webhook.controllers.seedautoscaler.measurement import NoSamples, Samples
from webhook.controllers.seedautoscaler.observation import ScaleObservation, observe
from webhook.domain.sets import replica_calculator, scale_behavior
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import Action, Emit, Patch, Plan
from webhook.state.snapshot import Snapshot

_KIND: Final = kind_of_model(SeedAutoscaler)
_SET: Final = kind_of_model(ManagedSeedSet)
_NO_SAMPLES: Final = NoSamples()


def plan(autoscaler: SeedAutoscaler, snapshot: Snapshot, samples: Samples = _NO_SAMPLES) -> Plan:
    """Measure, decide, scale through the scale subresource, and report.

    The finalizer comes before the first cordon, and goes after the last one is removed.
    """
    interval = snapshot.options.seeds.autoscaler_seconds
    if autoscaler.is_deleting:
        return Plan((*cordon.release(autoscaler, snapshot), *_keep_finalizer(autoscaler, False)))
    if finalizer := [*_keep_finalizer(autoscaler, _needs_finalizer(autoscaler, snapshot))]:
        return Plan(tuple(finalizer))
    owner = snapshot.get(ManagedSeedSet, demand.target_key(autoscaler))
    if owner is None or autoscaler.spec.scale_target_ref.kind not in ("", _SET.name):
        return Plan(tuple(report.write_no_target(autoscaler, snapshot)), interval)
    view = observe(autoscaler, owner, snapshot, samples)
    actions = report.write_disabled(view) if view.is_disabled else _act(view)
    return Plan(tuple(actions), interval)


def _needs_finalizer(autoscaler: SeedAutoscaler, snapshot: Snapshot) -> bool:
    return cordon.holds(autoscaler, snapshot) or any(cordon.held_seeds(autoscaler, snapshot))


def _keep_finalizer(autoscaler: SeedAutoscaler, wanted: bool) -> Iterator[Patch]:
    """Add or remove the finalizer that lets seeds be released before the object is gone."""
    present = autoscaler.metadata.finalizers
    if wanted != (names.FINALIZER in present):
        rest = [name for name in present if name != names.FINALIZER]
        finalizers = [*rest, names.FINALIZER] if wanted else rest
        change = {"metadata": {"finalizers": finalizers}}
        version = autoscaler.resource_version
        yield Patch(_KIND, autoscaler.key, change, autoscaler.uid, version)


def _act(view: ScaleObservation) -> Iterator[Action]:
    now = view.snapshot.taken_at
    behavior = status_history.behavior_of(view.autoscaler)
    history = status_history.read(view.autoscaler)
    wanted = replica_calculator.combine(view.replicas, view.measures)
    decision = scale_behavior.decide(
        view.replicas, wanted.replicas, view.limits, behavior, history, now
    )
    acts = demand.is_acting(view.autoscaler)
    replicas = decision.replicas
    if cordon.holds(view.autoscaler, view.snapshot):
        # Only drained seeds are removed: the scale-in of a seed with shoots would be blocked.
        left = view.present - cordon.count_drained(view.seeds, view.snapshot)
        replicas = max(replicas, min(left, view.replicas))
        yield from _cordon(view, wanted.replicas)
    if view.is_rolling:
        replicas = max(replicas, view.replicas)  # no seed is removed while another one is updated
    scales = acts and replicas != view.replicas
    new_history = decision.history
    if scales:
        yield _scale(view, replicas)
        new_history = scale_behavior.record_change(new_history, view.replicas, replicas, now)
        message = f"{view.replicas} → {replicas}: {wanted.reason}"
        yield Emit(_KIND, view.autoscaler, "SuccessfulRescale", message)
    more = {
        **status_history.write(new_history, history, behavior),
        **({"lastScaleTime": format_time(now)} if scales else {}),
    }
    set_to = replicas if scales else view.replicas
    yield from report.write(view, decision, wanted.reason, set_to, more)


def _cordon(view: ScaleObservation, wanted: int) -> Iterator[Action]:
    """Cordon surplus seeds, and uncordon them as soon as all are needed."""
    surplus = view.present - max(wanted, view.limits[0])
    if surplus > 0:
        yield from cordon.cordon_emptiest(view.autoscaler, view.seeds, surplus, view.snapshot)
    else:
        yield from cordon.uncordon(view.seeds)


def _scale(view: ScaleObservation, replicas: int) -> Patch:
    owner = view.owner
    change = {"spec": {"replicas": replicas}}
    return Patch(_SET, owner.key, change, owner.uid, owner.resource_version, "scale")
