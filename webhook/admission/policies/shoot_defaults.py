"""shoot.defaults: default fields of a shoot, and new machine images on maintenance."""

from typing import Any

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.api import names
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.shoots import Shoot
from webhook.api.workers import ShootWorker
from webhook.domain.shoots import cloud_profiles, machine_images
from webhook.kube.meta import Draft
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Set absent fields; on maintenance, update machine images to newer versions."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    spec = drafts.section(draft, "spec")
    drafts.default(spec, "purpose", "evaluation")
    drafts.default(spec, "schedulerName", "default-scheduler")
    if request.key.namespace == snapshot.options.garden_namespace:
        _tolerate_protection(spec, shoot)
    workers = shoot.spec.provider.workers
    is_maintenance = shoot.metadata.annotations.get(names.MAINTENANCE_TRIGGER) == names.MAINTENANCE
    if is_maintenance:
        _remove_annotation(draft, names.MAINTENANCE_TRIGGER)
    if not workers:
        return
    drafted = spec["provider"]["workers"]
    for worker in drafted:
        _default_worker(worker)
    if is_maintenance or any(map(_lacks_machine, workers)):
        profile = cloud_profiles.find(shoot.spec, request.key.namespace, snapshot.look_up)
        if profile is not None:
            stored = {worker.name: worker for worker in old.spec.provider.workers} if old else {}
            for worker, written in zip(workers, drafted, strict=True):
                machine = drafts.section(written, "machine")
                _default_machine(machine, worker, stored.get(worker.name), profile, snapshot)
                if is_maintenance:
                    _update_image(machine, profile, snapshot)


def _tolerate_protection(spec: Draft, shoot: Shoot) -> None:
    """Make shoots of the garden tolerate protected seeds."""
    if all(toleration.key != names.SEED_PROTECTED for toleration in shoot.spec.tolerations):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), {"key": names.SEED_PROTECTED}]


def _remove_annotation(draft: Draft, annotation: str) -> None:
    metadata = drafts.section(draft, "metadata")
    kept = {key: value for key, value in metadata["annotations"].items() if key != annotation}
    if kept:
        metadata["annotations"] = kept
    else:
        del metadata["annotations"]


def _default_worker(worker: Draft) -> None:
    drafts.default(worker, "maxSurge", 1)
    drafts.default(worker, "maxUnavailable", 0)
    drafts.default(worker, "updateStrategy", "AutoRollingUpdate")
    # systemComponents without allow means false, as in Gardener.
    drafts.default_absent(worker, "systemComponents", {"allow": True})


def _lacks_machine(worker: ShootWorker) -> bool:
    image = worker.machine.image
    return not worker.machine.architecture or image is None or not image.name or not image.version


def _default_machine(
    machine: dict[str, Any],
    worker: ShootWorker,
    stored: ShootWorker | None,
    profile: CloudProfileSpec,
    snapshot: Snapshot,
) -> None:
    """Set architecture and image: the stored image of the pool, else one of the cloud profile."""
    drafts.default(
        machine, "architecture", machine_images.architecture(profile, worker.machine.type)
    )
    image = worker.machine.image
    name, version = (image.name, image.version) if image is not None else ("", "")
    if name and version:
        return
    before = stored.machine.image if stored is not None else None
    if before is not None and before.version and name in ("", before.name):
        chosen: tuple[str, str] | None = (before.name, before.version)
    else:
        chosen = machine_images.choose(profile, name, machine["architecture"], snapshot.taken_at)
    if chosen is not None:
        written = drafts.section(machine, "image")
        written["name"], written["version"] = chosen[0], version or chosen[1]


def _update_image(machine: dict[str, Any], profile: CloudProfileSpec, snapshot: Snapshot) -> None:
    image = drafts.section(machine, "image")
    newer = machine_images.update(
        profile,
        image.get("name", ""),
        image.get("version", ""),
        machine["architecture"],
        snapshot.taken_at,
    )
    if newer is not None:
        image["version"] = newer
