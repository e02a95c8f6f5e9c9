"""shoot.references: objects that a shoot newly refers to exist."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.api.projects import CredentialsBinding, ExposureClass, SecretBinding
from webhook.api.shoots import Shoot, ShootSpec
from webhook.kube.meta import Object, ObjectKey
from webhook.state.snapshot import Snapshot

_CLASS: Final = "spec.exposureClassName"


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Require new references to bindings and exposure classes to exist; old ones may be gone."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    spec, before = shoot.spec, old.spec if old is not None else ShootSpec()
    namespace = request.key.namespace
    for name, known, model, field in (
        (
            spec.credentials_binding_name,
            before.credentials_binding_name,
            CredentialsBinding,
            "spec.credentialsBindingName",
        ),
        (
            spec.secret_binding_name,
            before.secret_binding_name,
            SecretBinding,
            "spec.secretBindingName",
        ),
    ):
        if name and name != known:
            yield from _missing(model, ObjectKey(namespace, name), field, snapshot)
    chosen = spec.exposure_class_name
    if chosen and chosen != before.exposure_class_name:
        found = snapshot.look_up(ExposureClass, ObjectKey("", chosen))
        if found is None:
            yield from _missing(ExposureClass, ObjectKey("", chosen), _CLASS, snapshot)
        elif old is None:
            yield from _contradicted(spec, found)


def _missing(
    model: type[Object], key: ObjectKey, field: str, snapshot: Snapshot
) -> Iterator[Finding]:
    if snapshot.look_up(model, key) is None:
        yield Finding.denied(f"there is no {model.__name__} {key}", field)


def _contradicted(spec: ShootSpec, chosen: ExposureClass) -> Iterator[Finding]:
    """Reject a shoot that selects other seeds than its exposure class."""
    if chosen.scheduling is None:
        return
    selector, own = chosen.scheduling.seed_selector, spec.seed_selector
    labels = selector.match_labels if selector is not None else {}
    wanted = own.match_labels if own is not None else {}
    for key, value in labels.items():
        if key in wanted and wanted[key] != value:
            yield Finding.denied(
                f"exposure class {chosen.name} is for seeds with {key}={value}, "
                f"but spec.seedSelector has {wanted[key]}",
                _CLASS,
            )
    tolerated = {toleration.key for toleration in spec.tolerations}
    for toleration in chosen.scheduling.tolerations:
        if toleration.key in tolerated:
            yield Finding.denied(
                f"exposure class {chosen.name} adds a toleration of {toleration.key}, "
                "remove it from spec.tolerations",
                _CLASS,
            )
