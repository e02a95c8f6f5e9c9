"""The gardenlet of a ManagedSeed or of a ManagedSeedSet's template."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from webhook.admission.decision import Finding
from webhook.api.managedseeds import (
    Gardenlet,
    GardenletConfiguration,
    GardenletDeployment,
    GardenletImage,
    GardenletResources,
)
from webhook.kube import identifiers, quantity
from webhook.kube.meta import Quantity
from webhook.kube.quantity import QuantityError

API_VERSION: Final = "gardenlet.config.gardener.cloud/v1alpha1"
KIND: Final = "GardenletConfiguration"
_BOOTSTRAPS: Final = ("ServiceAccount", "BootstrapToken", "None")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")


def validate(gardenlet: Gardenlet, base: str, *, is_of_set: bool = False) -> Iterator[Finding]:
    """Validate deployment, configuration and bootstrap; `base` is the path of the gardenlet.

    The template of a set is not defaulted, so absent fields are interpreted as Gardener does.
    """
    if gardenlet.deployment is not None:
        yield from _deployment(gardenlet.deployment, f"{base}.deployment")
    if gardenlet.bootstrap is not None and gardenlet.bootstrap not in _BOOTSTRAPS:
        yield Finding.not_supported(f"{base}.bootstrap", gardenlet.bootstrap, _BOOTSTRAPS)
    if gardenlet.config is not None:
        if not (is_of_set and _has_default_type(gardenlet.config)):
            yield from _type(gardenlet.config, f"{base}.config")
        yield from _configuration(gardenlet.config, f"{base}.config")
        yield from _connection(gardenlet, gardenlet.config, f"{base}.config.gardenClientConnection")


def validate_update(
    old: Gardenlet, new: Gardenlet, base: str, *, is_of_set: bool = False
) -> Iterator[Finding]:
    """Reject changes of immutable fields; old objects without the defaults may get them.

    In the template of a set an absent field is a choice (no bootstrap means none), which cannot
    change later.
    """
    if old.bootstrap != new.bootstrap and (is_of_set or old.bootstrap is not None):
        yield Finding.immutable(f"{base}.bootstrap", new.bootstrap)
    merges = old.merge_with_parent
    if merges != new.merge_with_parent and (is_of_set or merges is not None):
        yield Finding.immutable(f"{base}.mergeWithParent", new.merge_with_parent)


def _deployment(deployment: GardenletDeployment, base: str) -> Iterator[Finding]:
    for value, name in (
        (deployment.replica_count, "replicaCount"),
        (deployment.revision_history_limit, "revisionHistoryLimit"),
    ):
        if value is not None and value < 0:
            yield Finding.invalid(f"{base}.{name}", value, "must not be negative")
    account = deployment.service_account_name
    if account is not None:
        for error in identifiers.subdomain_errors(account):
            yield Finding.invalid(f"{base}.serviceAccountName", account, error)
    for key, label in deployment.pod_labels.items():
        yield from _key(key, f"{base}.podLabels")
        for error in identifiers.label_value_errors(label):
            yield Finding.invalid(f"{base}.podLabels", label, error)
    for key in deployment.pod_annotations:
        yield from _key(key.lower(), f"{base}.podAnnotations")
    if deployment.image is not None:
        yield from _image(deployment.image, f"{base}.image")


def _key(key: str, field: str) -> Iterator[Finding]:
    for error in identifiers.label_key_errors(key):
        yield Finding.invalid(field, key, error)


def _image(image: GardenletImage, base: str) -> Iterator[Finding]:
    for value, name in ((image.ref, "ref"), (image.repository, "repository"), (image.tag, "tag")):
        if value == "":
            yield Finding.invalid(f"{base}.{name}", "", "must not be empty, remove it")
    if image.ref and (image.repository or image.tag):
        yield Finding.forbidden(base, "give either ref or repository and tag")
    if image.pull_policy is not None and image.pull_policy not in _PULL_POLICIES:
        yield Finding.not_supported(f"{base}.pullPolicy", image.pull_policy, _PULL_POLICIES)


def _has_default_type(config: GardenletConfiguration) -> bool:
    return config.api_version in ("", API_VERSION) and config.kind in ("", KIND)


def _type(config: GardenletConfiguration, base: str) -> Iterator[Finding]:
    if (config.api_version, config.kind) != (API_VERSION, KIND):
        yield Finding.invalid(
            base, f"{config.api_version} {config.kind}", f"must be a {KIND} of {API_VERSION}"
        )


def _configuration(config: GardenletConfiguration, base: str) -> Iterator[Finding]:
    if config.seed_config is not None and config.seed_config.metadata.name:
        yield Finding.forbidden(
            f"{base}.seedConfig.metadata.name", "the seed is named after the ManagedSeed, remove it"
        )
    if config.resources is not None:
        yield from _resources(config.resources, f"{base}.resources")


def _resources(resources: GardenletResources, base: str) -> Iterator[Finding]:
    errors: list[Finding] = []
    capacity = _amounts(resources.capacity, f"{base}.capacity", errors)
    reserved = _amounts(resources.reserved, f"{base}.reserved", errors)
    yield from errors
    for name, amount in reserved.items():
        field = f"{base}.reserved.{name}"
        if name not in resources.capacity:
            yield Finding.invalid(
                field, str(amount), f"cannot be reserved without a capacity of {name}"
            )
        elif name in capacity and amount > capacity[name]:
            yield Finding.invalid(
                field, str(amount), f"must not exceed the capacity ({capacity[name]})"
            )


def _amounts(
    written: Mapping[str, Quantity], base: str, errors: list[Finding]
) -> dict[str, Decimal]:
    amounts = {}
    for name, text in written.items():
        try:
            amounts[name] = quantity.parse(text)
        except QuantityError as error:
            errors.append(Finding.invalid(f"{base}.{name}", text, str(error)))
    return amounts


def _connection(
    gardenlet: Gardenlet, config: GardenletConfiguration, base: str
) -> Iterator[Finding]:
    connection = config.garden_client_connection
    if connection is None:
        return
    if gardenlet.bootstrap in (None, "None"):
        if not connection.kubeconfig and not gardenlet.merge_with_parent:
            yield Finding.required(f"{base}.kubeconfig", "required with bootstrap None")
        for value, name in (
            (connection.bootstrap_kubeconfig, "bootstrapKubeconfig"),
            (connection.kubeconfig_secret, "kubeconfigSecret"),
        ):
            if value is not None:
                yield Finding.forbidden(f"{base}.{name}", "not used with bootstrap None, remove it")
    elif connection.kubeconfig:
        yield Finding.forbidden(
            f"{base}.kubeconfig", "the bootstrap creates one, remove it or set bootstrap: None"
        )
