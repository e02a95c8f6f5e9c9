"""Structs of ManagedSeed, ManagedSeedSet and SeedAutoscaler: seeds that manage themselves."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.conditions import Condition
from webhook.api.meta import (
    Int32,
    IntOrString,
    LocalReference,
    Model,
    Object,
    Quantity,
    Selector,
    TemplateMetadata,
    nothing,
    says,
)
from webhook.api.seeds import SeedTemplate
from webhook.api.shoots import ShootTemplate


class GardenletImage(Model):
    """The image that a gardenlet runs from."""

    repository: Annotated[str | None, says("where the image is")] = None
    tag: Annotated[str | None, says("its tag")] = None
    ref: Annotated[str | None, says("the whole reference, instead of repository and tag")] = None
    pull_policy: Annotated[str | None, says("Always, IfNotPresent or Never")] = None


class GardenletDeployment(Model):
    """How the gardenlet is deployed into the shoot."""

    replica_count: Annotated[Int32 | None, says("how many gardenlets; default 2")] = None
    revision_history_limit: Annotated[Int32 | None, says("old ReplicaSets to keep; default 2")] = (
        None
    )
    service_account_name: Annotated[str | None, says("its ServiceAccount")] = None
    image: GardenletImage | None = None
    resources: Annotated[Any, says("requests and limits")] = None
    pod_labels: Annotated[Mapping[str, str], says("labels of the pods")] = field(
        default_factory=nothing
    )
    pod_annotations: Annotated[Mapping[str, str], says("annotations of the pods")] = field(
        default_factory=nothing
    )
    additional_volumes: Annotated[tuple[Any, ...], says("volumes to add")] = ()
    additional_volume_mounts: Annotated[tuple[Any, ...], says("mounts to add")] = ()
    env: Annotated[tuple[Any, ...], says("environment to add")] = ()
    vpa: Annotated[bool | None, says("whether it is scaled vertically")] = None


class GardenClientConnection(Model):
    """How the gardenlet reaches the garden."""

    kubeconfig: Annotated[str | None, says("a file that leads to the garden")] = None
    bootstrap_kubeconfig: Annotated[Any, says("the Secret for the first contact")] = None
    kubeconfig_secret: Annotated[Any, says("the Secret for all later contact")] = None


class GardenletResources(Model):
    """What a seed can carry, and what of it is kept back."""

    capacity: Annotated[Mapping[str, Quantity], says("what the seed can carry, e.g. shoots")] = (
        field(default_factory=nothing)
    )
    reserved: Annotated[Mapping[str, Quantity], says("what of it is kept back")] = field(
        default_factory=nothing
    )


class GardenletConfiguration(Model):
    """The parts of a gardenlet's configuration that are read here."""

    api_version: Annotated[str, says("gardenlet.config.gardener.cloud/v1alpha1")] = ""
    kind: Annotated[str, says("GardenletConfiguration")] = ""
    seed_config: SeedTemplate | None = None
    resources: GardenletResources | None = None
    garden_client_connection: GardenClientConnection | None = None
    feature_gates: Annotated[Mapping[str, bool], says("feature gates by name")] = field(
        default_factory=nothing
    )


class Gardenlet(Model):
    """The gardenlet that registers and runs the seed."""

    deployment: GardenletDeployment | None = None
    config: GardenletConfiguration | None = None
    bootstrap: Annotated[str | None, says("BootstrapToken, ServiceAccount or None")] = None
    merge_with_parent: Annotated[
        bool | None, says("whether the parent gardenlet's settings count too")
    ] = None


class ManagedSeedSpec(Model):
    """Which Shoot becomes a seed, and what kind of seed."""

    shoot: LocalReference | None = None
    seed_template: SeedTemplate | None = None
    gardenlet: Gardenlet | None = None


class ManagedSeedStatus(Model):
    """How far the registration has come."""

    conditions: tuple[Condition, ...] = ()
    observed_generation: Annotated[int, says("the generation that was acted on")] = 0


class ManagedSeed(Object):
    """A Shoot that is registered as a Seed."""

    spec: ManagedSeedSpec = ManagedSeedSpec()
    status: ManagedSeedStatus = ManagedSeedStatus()

    @property
    def seed_template(self) -> SeedTemplate | None:
        """The template of the Seed, wherever it is given."""
        return seed_template_of(self.spec)


def seed_template_of(spec: ManagedSeedSpec) -> SeedTemplate | None:
    """Return the Seed template of either variant of a ManagedSeed."""
    if spec.seed_template is not None:
        return spec.seed_template
    if spec.gardenlet is not None and spec.gardenlet.config is not None:
        return spec.gardenlet.config.seed_config
    return None


class ManagedSeedTemplate(Model):
    """The ManagedSeed that a set makes for each of its replicas."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: ManagedSeedSpec = ManagedSeedSpec()


class RollingUpdate(Model):
    """How careful a rolling update is."""

    partition: Annotated[Int32 | None, says("only replicas from this ordinal on are updated")] = (
        None
    )
    max_unready_shoots: Annotated[
        IntOrString | None, says("hosted shoots that may be unready, default 10%")
    ] = None


class UpdateStrategy(Model):
    """How replicas get a changed template."""

    type: Annotated[str | None, says("RollingUpdate")] = None
    rolling_update: RollingUpdate | None = None


class ManagedSeedSetSpec(Model):
    """How many seeds, and made from what."""

    replicas: Annotated[Int32 | None, says("the number of seeds wanted; default 1")] = None
    selector: Selector = Selector()
    template: ManagedSeedTemplate = ManagedSeedTemplate()
    shoot_template: ShootTemplate = ShootTemplate()
    update_strategy: UpdateStrategy | None = None
    revision_history_limit: Annotated[Int32 | None, says("revisions to keep; default 10")] = None
    max_parallel: Annotated[Int32 | None, says("replicas made or removed at a time; default 1")] = (
        None
    )
    paused: Annotated[bool, says("whether updates are held back")] = False


class PendingReplica(Model):
    """The replica that a set is waiting for."""

    name: Annotated[str, says("the name of the replica")] = ""
    reason: Annotated[str, says("what it waits for")] = ""
    since: Annotated[str | None, says("since when")] = None
    retries: Annotated[Int32 | None, says("how often it was tried again")] = None


class ManagedSeedSetStatus(Model):
    """How many replicas there are, and of which revision."""

    observed_generation: Annotated[int, says("the generation that was acted on")] = 0
    replicas: Annotated[Int32, says("replicas that exist")] = 0
    ready_replicas: Annotated[Int32, says("replicas that are ready")] = 0
    next_replica_number: Annotated[Int32, says("the ordinal of the next replica")] = 0
    current_replicas: Annotated[Int32, says("replicas of the current revision")] = 0
    updated_replicas: Annotated[Int32, says("replicas of the update revision")] = 0
    current_revision: Annotated[str, says("the revision that was rolled out last")] = ""
    update_revision: Annotated[str, says("the revision that is being rolled out")] = ""
    collision_count: Annotated[Int32 | None, says("how often a revision name was taken")] = None
    selector: Annotated[str, says("the selector as text, for scale")] = ""
    conditions: tuple[Condition, ...] = ()
    pending_replica: PendingReplica | None = None


class ManagedSeedSet(Object):
    """A number of like seeds that are made, updated and removed together."""

    spec: ManagedSeedSetSpec = ManagedSeedSetSpec()
    status: ManagedSeedSetStatus = ManagedSeedSetStatus()
