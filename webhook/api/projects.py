"""Structs of Project, Quota, the bindings, WorkloadIdentity and ExposureClass."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from webhook.api.shoots import SeedSelector, Toleration
from webhook.kube.meta import (
    Int32,
    Model,
    NamespacedReference,
    Object,
    ObjectReference,
    Quantity,
    describe,
    empty_map,
)


class ProjectTolerations(Model):
    """Tolerations that a project's shoots get, and those that they may have."""

    defaults: tuple[Toleration, ...] = ()
    whitelist: tuple[Toleration, ...] = ()


class ProjectSpec(Model):
    """The namespace and the tolerations of a project."""

    namespace: Annotated[str, describe("the namespace of the project")] = ""
    tolerations: ProjectTolerations | None = None


class ProjectStatus(Model):
    """The phase of a project."""

    phase: Annotated[str, describe("Pending, Ready, Failed or Terminating")] = ""


class Project(Object):
    """A group of people and their namespace."""

    spec: ProjectSpec = ProjectSpec()
    status: ProjectStatus = ProjectStatus()


class QuotaSpec(Model):
    """Limits, and the scope that they apply to."""

    scope: ObjectReference = ObjectReference()
    metrics: Annotated[
        Mapping[str, Quantity],
        describe("limits: cpu, gpu, memory, storage.standard, storage.premium, loadbalancer"),
    ] = field(default_factory=empty_map)
    cluster_lifetime_days: Annotated[Int32 | None, describe("days until a Shoot is deleted")] = None


# `domain.shoots.quota` caches what it derives from it by weak reference, which msgspec allows
# only for Structs that the garbage collector tracks.
class Quota(Object, gc=True, weakref=True):
    """A limit on what shoots may use together."""

    spec: QuotaSpec = QuotaSpec()


class BindingProvider(Model):
    """The provider that a binding's credentials are for; several are comma-separated."""

    type: Annotated[str, describe("the provider type, or several with commas")] = ""


class SecretBinding(Object):
    """Credentials in a Secret, and the quotas of those who use them."""

    secret_ref: NamespacedReference = NamespacedReference()
    quotas: tuple[NamespacedReference, ...] = ()
    provider: BindingProvider | None = None


class CredentialsBinding(Object):
    """Credentials of any kind, and the quotas of those who use them."""

    credentials_ref: ObjectReference = ObjectReference()
    quotas: tuple[NamespacedReference, ...] = ()
    provider: BindingProvider | None = None


class TargetSystem(Model):
    """The system that accepts tokens of an identity."""

    type: Annotated[str, describe("the provider type")] = ""


class WorkloadIdentitySpec(Model):
    """The target system of an identity."""

    target_system: TargetSystem = TargetSystem()


class WorkloadIdentity(Object):
    """Credentials without a secret, which only a Gardener gives out."""

    spec: WorkloadIdentitySpec = WorkloadIdentitySpec()


class ExposureClassScheduling(Model):
    """Seeds that can expose shoots in the class's way."""

    seed_selector: SeedSelector | None = None
    tolerations: tuple[Toleration, ...] = ()


class ExposureClass(Object):
    """A way to make control planes reachable."""

    handler: Annotated[str, describe("the handler that exposes the control planes")] = ""
    scheduling: ExposureClassScheduling | None = None
