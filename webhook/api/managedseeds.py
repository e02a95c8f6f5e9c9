"""Structs of ManagedSeed and ManagedSeedSet."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.seeds import SeedTemplate
from webhook.api.shoots import ShootTemplate
from webhook.kube.conditions import Condition
from webhook.kube.meta import (
    Int32,
    IntOrString,
    LocalReference,
    Model,
    Object,
    Quantity,
    Selector,
    TemplateMetadata,
    describe,
    empty_map,
)


class GardenletImage(Model):
    """The image that a gardenlet runs from."""

    repository: Annotated[str | None, describe("where the image is")] = None
    tag: Annotated[str | None, describe("its tag")] = None
    ref: Annotated[str | None, describe("the whole reference, instead of repository and tag")] = (
        None
    )
    pull_policy: Annotated[str | None, describe("Always, IfNotPresent or Never")] = None


class GardenletDeployment(Model):
    """How the gardenlet is deployed into the shoot."""

    replica_count: Annotated[Int32 | None, describe("how many gardenlets; default 2")] = None
    revision_history_limit: Annotated[
        Int32 | None, describe("old ReplicaSets to keep; default 2")
    ] = None
    service_account_name: Annotated[str | None, describe("its ServiceAccount")] = None
    image: GardenletImage | None = None
    resources: Annotated[Any, describe("requests and limits")] = None
    pod_labels: Annotated[Mapping[str, str], describe("labels of the pods")] = field(
        default_factory=empty_map
    )
    pod_annotations: Annotated[Mapping[str, str], describe("annotations of the pods")] = field(
        default_factory=empty_map
    )
    additional_volumes: Annotated[tuple[Any, ...], describe("volumes to add")] = ()
    additional_volume_mounts: Annotated[tuple[Any, ...], describe("mounts to add")] = ()
    env: Annotated[tuple[Any, ...], describe("environment to add")] = ()
    vpa: Annotated[bool | None, describe("whether it is scaled vertically")] = None


class GardenClientConnection(Model):
    """How the gardenlet reaches the garden."""

    kubeconfig: Annotated[str | None, describe("a kubeconfig file for the garden")] = None
    bootstrap_kubeconfig: Annotated[Any, describe("the Secret with the bootstrap kubeconfig")] = (
        None
    )
    kubeconfig_secret: Annotated[
        Any, describe("the Secret with the kubeconfig after bootstrapping")
    ] = None


class GardenletResources(Model):
    """The capacity of a seed, and the reserved part of it."""

    capacity: Annotated[
        Mapping[str, Quantity], describe("the capacity of the seed, e.g. shoots")
    ] = field(default_factory=empty_map)
    reserved: Annotated[Mapping[str, Quantity], describe("the reserved part of it")] = field(
        default_factory=empty_map
    )


class GardenletConfiguration(Model):
    """The parts of a gardenlet's configuration that are read here."""

    api_version: Annotated[str, describe("gardenlet.config.gardener.cloud/v1alpha1")] = ""
    kind: Annotated[str, describe("GardenletConfiguration")] = ""
    seed_config: SeedTemplate | None = None
    resources: GardenletResources | None = None
    garden_client_connection: GardenClientConnection | None = None
    feature_gates: Annotated[Mapping[str, bool], describe("feature gates by name")] = field(
        default_factory=empty_map
    )


class Gardenlet(Model):
    """The gardenlet that registers and runs the seed."""

    deployment: GardenletDeployment | None = None
    config: GardenletConfiguration | None = None
    bootstrap: Annotated[str | None, describe("BootstrapToken, ServiceAccount or None")] = None
    merge_with_parent: Annotated[
        bool | None, describe("whether the settings of the parent gardenlet are inherited")
    ] = None


class ManagedSeedSpec(Model):
    """Which Shoot becomes a seed, and what kind of seed."""

    shoot: LocalReference | None = None
    seed_template: SeedTemplate | None = None
    gardenlet: Gardenlet | None = None


class ManagedSeedStatus(Model):
    """The state of the registration."""

    conditions: tuple[Condition, ...] = ()
    observed_generation: Annotated[int, describe("the generation that was acted on")] = 0


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
    """The limits of a rolling update."""

    partition: Annotated[
        Int32 | None, describe("only replicas from this ordinal on are updated")
    ] = None
    max_unready_shoots: Annotated[
        IntOrString | None, describe("hosted shoots that may be unready, default 10%")
    ] = None


class UpdateStrategy(Model):
    """How replicas get a changed template."""

    type: Annotated[str | None, describe("RollingUpdate")] = None
    rolling_update: RollingUpdate | None = None


class ManagedSeedSetSpec(Model):
    """How many seeds, and made from what."""

    replicas: Annotated[Int32 | None, describe("the number of seeds wanted; default 1")] = None
    selector: Selector = Selector()
    template: ManagedSeedTemplate = ManagedSeedTemplate()
    shoot_template: ShootTemplate = ShootTemplate()
    update_strategy: UpdateStrategy | None = None
    revision_history_limit: Annotated[Int32 | None, describe("revisions to keep; default 10")] = (
        None
    )
    max_parallel: Annotated[
        Int32 | None, describe("replicas made or removed at a time; default 1")
    ] = None
    paused: Annotated[bool, describe("whether updates are paused")] = False


class PendingReplica(Model):
    """The replica that a set is waiting for."""

    name: Annotated[str, describe("the name of the replica")] = ""
    reason: Annotated[str, describe("what it waits for")] = ""
    since: Annotated[str | None, describe("since when")] = None
    retries: Annotated[Int32 | None, describe("the number of retries")] = None


class ManagedSeedSetStatus(Model):
    """How many replicas there are, and of which revision."""

    observed_generation: Annotated[int, describe("the generation that was acted on")] = 0
    replicas: Annotated[Int32, describe("replicas that exist")] = 0
    ready_replicas: Annotated[Int32, describe("replicas that are ready")] = 0
    next_replica_number: Annotated[Int32, describe("the ordinal of the next replica")] = 0
    current_replicas: Annotated[Int32, describe("replicas of the current revision")] = 0
    updated_replicas: Annotated[Int32, describe("replicas of the update revision")] = 0
    current_revision: Annotated[str, describe("the revision that was rolled out last")] = ""
    update_revision: Annotated[str, describe("the revision that is being rolled out")] = ""
    collision_count: Annotated[Int32 | None, describe("how often a revision name was taken")] = None
    selector: Annotated[str, describe("the selector as text, for scale")] = ""
    conditions: tuple[Condition, ...] = ()
    pending_replica: PendingReplica | None = None


class ManagedSeedSet(Object):
    """A number of similar seeds that are created, updated and removed together."""

    spec: ManagedSeedSetSpec = ManagedSeedSetSpec()
    status: ManagedSeedSetStatus = ManagedSeedSetStatus()
