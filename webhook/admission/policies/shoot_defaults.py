"""shoot.defaults: what a shoot gets unless somebody says otherwise, and images on maintenance."""

from typing import Any

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.api import names
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.meta import Draft
from webhook.api.shoots import Shoot
from webhook.api.workers import Worker
from webhook.domain import images, profiles
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Fill what is absent; where maintenance is due, move machine images to newer versions."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    spec = drafts.section(draft, "spec")
    drafts.default(spec, "purpose", "evaluation")
    drafts.default(spec, "schedulerName", "default-scheduler")
    if request.key.namespace == snapshot.options.admission.garden_namespace:
        _tolerate_protection(spec, shoot)
    workers = shoot.spec.provider.workers
    maintained = shoot.metadata.annotations.get(names.MAINTENANCE_TRIGGER) == names.MAINTENANCE
    if maintained:
        _take_off(draft, names.MAINTENANCE_TRIGGER)
    if not workers:
        return
    drafted = spec["provider"]["workers"]
    for worker in drafted:
        _default_worker(worker)
    if maintained or any(map(_lacks_machine, workers)):
        offer = profiles.find(shoot.spec, request.key.namespace, snapshot.look_up)
        if offer is not None:
            stored = {worker.name: worker for worker in old.spec.provider.workers} if old else {}
            for worker, written in zip(workers, drafted, strict=True):
                machine = drafts.section(written, "machine")
                _default_machine(machine, worker, stored.get(worker.name), offer, snapshot)
                if maintained:
                    _maintain(machine, offer, snapshot)


def _tolerate_protection(spec: Draft, shoot: Shoot) -> None:
    """Let shoots of the garden onto protected seeds."""
    if all(toleration.key != names.SEED_PROTECTED for toleration in shoot.spec.tolerations):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), {"key": names.SEED_PROTECTED}]


def _take_off(draft: Draft, annotation: str) -> None:
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
    # One that is there and does not say so allows nothing, as in Gardener.
    drafts.default_absent(worker, "systemComponents", {"allow": True})


def _lacks_machine(worker: Worker) -> bool:
    image = worker.machine.image
    return not worker.machine.architecture or image is None or not image.name or not image.version


def _default_machine(
    machine: dict[str, Any],
    worker: Worker,
    stored: Worker | None,
    offer: CloudProfileSpec,
    snapshot: Snapshot,
) -> None:
    """Keep the image that the pool had; a new pool gets the profile's."""
    drafts.default(machine, "architecture", images.architecture(offer, worker.machine.type))
    image = worker.machine.image
    name, version = (image.name, image.version) if image is not None else ("", "")
    if name and version:
        return
    before = stored.machine.image if stored is not None else None
    if before is not None and before.version and name in ("", before.name):
        chosen: tuple[str, str] | None = (before.name, before.version)
    else:
        chosen = images.choose(offer, name, machine["architecture"], snapshot.taken_at)
    if chosen is not None:
        written = drafts.section(machine, "image")
        written["name"], written["version"] = chosen[0], version or chosen[1]


def _maintain(machine: dict[str, Any], offer: CloudProfileSpec, snapshot: Snapshot) -> None:
    image = drafts.section(machine, "image")
    newer = images.update(
        offer,
        image.get("name", ""),
        image.get("version", ""),
        machine["architecture"],
        snapshot.taken_at,
    )
    if newer is not None:
        image["version"] = newer
