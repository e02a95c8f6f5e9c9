"""Deploys the gardenlet that registers a Seed into the cluster of its Shoot."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final, NamedTuple

from webhook.api import names
from webhook.api.core import CustomResourceDefinition, Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import (
    bootstrap,
    gardenlet,
    parents,
    registration,
    secrets,
    seed_manifest,
    shoot_kinds,
    status,
)
from webhook.controllers.managedseed.bootstrap import BootstrapAccess
from webhook.controllers.managedseed.gardenlet import GardenletSpec
from webhook.controllers.managedseed.parents import GardenletSettings
from webhook.controllers.managedseed.registration import SYNC_SECONDS, WAIT_SECONDS, Registration
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.kube.timestamps import TimestampError, format_time, parse_time
from webhook.runtime.actions import Action, Delete, Emit, Patch, RemoteWrite
from webhook.state.live_reads import Unreachable
from webhook.state.snapshot import Snapshot

_KIND: Final = kind_of_model(ManagedSeed)
_SECRET: Final = kind_of_model(Secret)
_DEFINITION: Final = kind_of_model(CustomResourceDefinition)
_OWN_KUBECONFIG: Final = ObjectKey(gardenlet.NAMESPACE, gardenlet.KUBECONFIG)
_STARTED: Final = "started"
_APPLIED: Final = names.GARDENLET_APPLIED


class ShootCluster(NamedTuple):
    """What the cluster of a Shoot shows, and the kubeconfig that leads there."""

    kubeconfig: str
    own: Object | None
    """The Secret with the gardenlet's own kubeconfig, which it creates when it has registered."""
    needs_autoscaler: bool
    has_autoscalers: bool
    """Whether VerticalPodAutoscalers are defined; known only if one is wanted."""

    @property
    def note(self) -> str:
        if not self.needs_autoscaler or self.has_autoscalers:
            return ""
        return (
            ", without a VerticalPodAutoscaler (spec.gardenlet.deployment.vpa): the cluster of the"
            f" Shoot does not define {shoot_kinds.VERTICAL_POD_AUTOSCALER.resource}; enable"
            " spec.kubernetes.verticalPodAutoscaler of the Shoot"
        )


def deploy(
    managed_seed: ManagedSeed, raw: Draft, shoot: Shoot, seed: Seed | None, snapshot: Snapshot
) -> Registration:
    """Deploy the gardenlet that registers the Seed, and again whenever its manifests change."""
    key = secrets.kubeconfig_key(managed_seed, shoot)
    kubeconfig = secrets.read_kubeconfig(snapshot.look_up(Secret, key))
    if kubeconfig is None:
        message = f"Secret {key} with the kubeconfig of the Shoot does not exist"
        condition = status.not_registered("KubeconfigMissing", message)
        return Registration(condition, requeue_after=WAIT_SECONDS)
    given = parents.merged(raw, shoot, snapshot)
    cluster = _observe(kubeconfig, given, snapshot)
    if isinstance(cluster, Unreachable):
        return _unreachable(managed_seed, shoot, seed, cluster.reason)
    renews = cluster.own is not None and bootstrap.must_renew(
        managed_seed, seed, cluster.own, snapshot.taken_at
    )
    access = BootstrapAccess()
    if bootstrap.is_enabled(managed_seed) and (cluster.own is None or renews):
        access = bootstrap.prepare(managed_seed, kubeconfig, snapshot)
    if access.waits_for:
        condition = status.not_registered("BootstrapPending", f"missing: {access.waits_for}")
        return Registration(condition, tuple(access.actions), requeue_after=WAIT_SECONDS)
    wanted = _specify(managed_seed, raw, shoot, given, access, cluster)
    writes = [*gardenlet.manifests(wanted)]
    checksum = seed_manifest.checksum([write.body for write in writes])
    backups = tuple(registration.copy_secrets(managed_seed, shoot, snapshot))
    if renews or not _is_applied(managed_seed, checksum, snapshot):
        remote = (
            *_removals(cluster, snapshot, renews=renews),
            *(RemoteWrite(kubeconfig, write) for write in writes),
        )
        return _apply(managed_seed, checksum, (*access.actions, *backups), remote, snapshot)
    note = f"{parents.note(raw, shoot, snapshot)}{cluster.note}"
    if seed is None:
        message = f"the gardenlet has not registered it{cluster.note}"
        condition = status.not_registered("WaitingForGardenlet", message)
    else:
        condition = registration.unchanged(managed_seed, seed, "", note)
    return Registration(condition, backups, observed=True, requeue_after=SYNC_SECONDS)


def _observe(
    kubeconfig: str, given: GardenletSettings, snapshot: Snapshot
) -> ShootCluster | Unreachable:
    own = snapshot.look_up_remote(kubeconfig, _SECRET, _OWN_KUBECONFIG)
    if isinstance(own, Unreachable):
        return own
    if not given.deployment.get("vpa"):
        return ShootCluster(kubeconfig, own, needs_autoscaler=False, has_autoscalers=False)
    name = ObjectKey("", shoot_kinds.VERTICAL_POD_AUTOSCALER.resource)
    found = snapshot.look_up_remote(kubeconfig, _DEFINITION, name)
    if isinstance(found, Unreachable):
        return found
    return ShootCluster(kubeconfig, own, needs_autoscaler=True, has_autoscalers=found is not None)


def _unreachable(
    managed_seed: ManagedSeed, shoot: Shoot, seed: Seed | None, reason: str
) -> Registration:
    """Report that the gardenlet cannot be checked; its Seed may be ready all the same."""
    message = f"the cluster of Shoot {shoot.key} cannot be reached: {reason}"
    condition = status.not_registered("ShootUnreachable", message)
    if seed is not None:
        condition = registration.unchanged(managed_seed, seed, "", f", but {message}")
    return Registration(condition, requeue_after=WAIT_SECONDS)


def _specify(
    managed_seed: ManagedSeed,
    raw: Draft,
    shoot: Shoot,
    given: GardenletSettings,
    access: BootstrapAccess,
    cluster: ShootCluster,
) -> GardenletSpec:
    template = seed_manifest.template_of(raw)
    seed = seed_manifest.complete(template, managed_seed, shoot)
    bootstraps = bootstrap.is_enabled(managed_seed)
    config = gardenlet.configuration(managed_seed, given.config, seed, bootstraps=bootstraps)
    return GardenletSpec(
        shoot, config, given.deployment, access.kubeconfig, cluster.has_autoscalers
    )


def _removals(cluster: ShootCluster, snapshot: Snapshot, *, renews: bool) -> Iterator[RemoteWrite]:
    """Delete a kubeconfig that is to be renewed, and an autoscaler that is no longer wanted."""
    if renews and cluster.own is not None:
        deletion = Delete(_SECRET, _OWN_KUBECONFIG, cluster.own.uid)
        yield RemoteWrite(cluster.kubeconfig, deletion)
    if cluster.needs_autoscaler:
        return
    kind = shoot_kinds.VERTICAL_POD_AUTOSCALER
    found = snapshot.look_up_remote(cluster.kubeconfig, kind, gardenlet.AUTOSCALER)
    if isinstance(found, Object) and gardenlet.is_ours(found):
        yield RemoteWrite(cluster.kubeconfig, Delete(kind, gardenlet.AUTOSCALER, found.uid))


def _apply(
    managed_seed: ManagedSeed,
    checksum: str,
    local: tuple[Action, ...],
    remote: tuple[RemoteWrite, ...],
    snapshot: Snapshot,
) -> Registration:
    """Write the gardenlet, recorded before the first write and after the last.

    A ManagedSeed that is deleted in between deletes its gardenlet, too.
    """
    first = () if _record(managed_seed) else (_annotate(managed_seed, {_APPLIED: _STARTED}),)
    stamp = f"{checksum} {format_time(snapshot.taken_at)}"
    done = _annotate(managed_seed, {_APPLIED: stamp, names.OPERATION: None})
    event = Emit(_KIND, managed_seed, "DeployedGardenlet", f"gardenlet {checksum} is deployed")
    condition = status.not_registered("Deploying", "the gardenlet is being deployed")
    return Registration(condition, (*local, *first, *remote, done, event))


def _record(managed_seed: ManagedSeed) -> str:
    return managed_seed.metadata.annotations.get(_APPLIED, "")


def _annotate(managed_seed: ManagedSeed, annotations: Draft) -> Patch:
    change = {"metadata": {"annotations": annotations}}
    return Patch(_KIND, managed_seed.key, change, managed_seed.uid)


def _is_applied(managed_seed: ManagedSeed, checksum: str, snapshot: Snapshot) -> bool:
    """Return whether these manifests were applied within the last `SYNC_SECONDS`."""
    operation = managed_seed.metadata.annotations.get(names.OPERATION)
    if operation in (names.OPERATION_RECONCILE, names.OPERATION_RENEW_KUBECONFIG):
        return False
    applied_checksum, _, stamp = _record(managed_seed).partition(" ")
    try:
        age = snapshot.taken_at - parse_time(stamp)
    except TimestampError:
        return False
    return applied_checksum == checksum and age < timedelta(seconds=SYNC_SECONDS)
