"""seed.defaults: default settings of a seed, and the labels that it is selected by."""

from typing import Any, Final

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.admission.rules import managed_seeds, seed_labels
from webhook.api import names
from webhook.api.seeds import Seed
from webhook.kube.meta import Draft
from webhook.state.snapshot import Snapshot

_SETTINGS: Final[tuple[tuple[tuple[str, ...], bool], ...]] = (
    (("scheduling", "visible"), True),
    (("verticalPodAutoscaler", "enabled"), True),
    (("topologyAwareRouting", "enabled"), False),
    (("dependencyWatchdog", "weeder", "enabled"), True),
    (("dependencyWatchdog", "prober", "enabled"), True),
    (("persistentVolumeClaimAutoscaler", "enabled"), False),
    (("loadBalancerServices", "zonalIngress", "enabled"), True),
)
_RESERVED: Final = {"cpu": "2", "memory": "6Gi"}


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Set settings and IP families, and update the labels from the spec."""
    spec = drafts.section(draft, "spec")
    settings = drafts.section(spec, "settings")
    for path, value in _SETTINGS:
        drafts.default_at(settings, path, value)
    _reserve(drafts.section(settings, "excessCapacityReservation"))
    networks = drafts.section(spec, "networks")
    if not networks.get("ipFamilies"):
        networks["ipFamilies"] = ["IPv4"]
    _label(draft, request, snapshot)


def _reserve(reservation: dict[str, Any]) -> None:
    """Reserve capacity for one control plane, unless the reservation is disabled or configured."""
    if reservation.get("enabled") is not False and not reservation.get("configs"):
        reservation["configs"] = [{"resources": dict(_RESERVED)}]


def _label(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    seed = request.object_as(Seed)
    name = request.key.name
    shoot = managed_seeds.shoot_of_seed(name, snapshot)
    parent = shoot.spec.seed_name if shoot is not None else ""
    seed_labels.set_seed_labels(draft, filter(None, (name, parent)))
    labels = drafts.section(draft, "metadata", "labels")
    for key, value in (
        (names.SEED_PROVIDER, seed.spec.provider.type),
        (names.SEED_REGION, seed.spec.provider.region),
    ):
        if value:
            labels[key] = value
