"""The demo landscape: three providers, twelve seeds over six regions, sixty shoots."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from webhook.api import names
from webhook.domain.seeds.zones import MIN_ZONES
from webhook.kube.meta import Draft

CORE: Final = "core.gardener.cloud/v1beta1"
KUBERNETES_VERSIONS: Final = ("1.34.6", "1.35.3", "1.36.1")


class Provider(NamedTuple):
    """A cloud: its regions with their zones, its machine types and its volume type."""

    name: str
    regions: dict[str, tuple[str, ...]]
    machines: tuple[str, str]
    disk: str


class SeedRow(NamedTuple):
    """One seed of the demo, with what distinguishes it."""

    name: str
    provider: str
    region: str
    zones: int
    capacity: int = 20
    ready: bool = True
    taint: str = ""


PROVIDERS: Final = (
    Provider(
        "aws",
        {
            "eu-central-1": ("eu-central-1a", "eu-central-1b", "eu-central-1c"),
            "us-east-1": ("us-east-1a", "us-east-1b", "us-east-1c"),
        },
        ("m6i.large", "m6i.2xlarge"),
        "gp3",
    ),
    Provider(
        "gcp",
        {
            "europe-west1": ("europe-west1-b", "europe-west1-c", "europe-west1-d"),
            "us-central1": ("us-central1-a", "us-central1-b", "us-central1-c"),
        },
        ("n2-standard-2", "n2-standard-8"),
        "pd-ssd",
    ),
    Provider(
        "azure",
        {"westeurope": ("1", "2", "3"), "eastus": ("1", "2", "3")},
        ("Standard_D2s_v5", "Standard_D8s_v5"),
        "StandardSSD_LRS",
    ),
)

SEEDS: Final = (
    SeedRow("aws-eu1", "aws", "eu-central-1", zones=3),
    SeedRow("aws-eu2", "aws", "eu-central-1", zones=1),
    SeedRow("aws-us1", "aws", "us-east-1", zones=3),
    SeedRow("aws-us2", "aws", "us-east-1", zones=1, capacity=2),
    SeedRow("gcp-eu1", "gcp", "europe-west1", zones=3),
    SeedRow("gcp-eu2", "gcp", "europe-west1", zones=1),
    SeedRow("gcp-us1", "gcp", "us-central1", zones=2),
    SeedRow("gcp-us2", "gcp", "us-central1", zones=3, ready=False),
    SeedRow("az-eu1", "azure", "westeurope", zones=3),
    SeedRow("az-eu2", "azure", "westeurope", zones=1, taint=names.SEED_PROTECTED),
    SeedRow("az-us1", "azure", "eastus", zones=3),
    SeedRow("az-us2", "azure", "eastus", zones=1),
)
FULL_SEED: Final = "aws-us2"
"""The seed that has no free capacity once the pinned shoots are on it."""
PINNED: Final = (3, 9)
"""The numbers of the first project's shoots that are pinned to FULL_SEED."""

PROJECTS: Final = ("alpha", "beta", "gamma")
PURPOSES: Final = ("development", "evaluation", "production", "testing", "production")
SHOOTS_PER_PROJECT: Final = 20

DISTANCES: Final = {
    "aws": {"eu-central-1": {"us-east-1": 90}, "us-east-1": {"eu-central-1": 90}},
    "gcp": {"europe-west1": {"us-central1": 105}, "us-central1": {"europe-west1": 105}},
    "azure": {"westeurope": {"eastus": 80}, "eastus": {"westeurope": 80}},
}
"""Approximate latencies between regions in milliseconds, as an operator would measure them."""


def objects() -> Iterator[Draft]:
    """Yield all objects in an order in which they can be created."""
    yield _object("v1", "Namespace", "garden")
    for provider in PROVIDERS:
        yield _cloud_profile(provider)
        yield _region_distances(provider.name)
    for project in PROJECTS:
        yield from _project(project)
    for number, row in enumerate(SEEDS):
        yield _seed(row, number)
    for index, project in enumerate(PROJECTS):
        yield from (shoot(project, number, index) for number in range(SHOOTS_PER_PROJECT))
    yield from _scaling("garden-alpha")


def shoot(project: str, number: int, shift: int = 0) -> Draft:
    """Return one of a project's shoots; provider, region, purpose and size depend on its number."""
    provider = PROVIDERS[(number + shift) % len(PROVIDERS)]
    region = list(provider.regions)[number // len(PROVIDERS) % len(provider.regions)]
    zones = provider.regions[region]
    purpose = PURPOSES[number % len(PURPOSES)]
    spec: Draft = {
        "cloudProfile": {"kind": "CloudProfile", "name": provider.name},
        "secretBindingName": provider.name,
        "region": region,
        "purpose": purpose,
        "kubernetes": {"version": KUBERNETES_VERSIONS[number % len(KUBERNETES_VERSIONS)]},
        "networking": {
            "type": "calico",
            "nodes": "10.250.0.0/16",
            "pods": "100.96.0.0/11",
            "services": "100.64.0.0/13",
        },
        "provider": {
            "type": provider.name,
            "workers": [_worker(provider, zones if purpose == "production" else zones[:1])],
        },
    }
    if project == PROJECTS[0] and number in PINNED:
        spec["seedName"] = FULL_SEED
    elif purpose == "production":
        tolerance = {"type": "zone" if number % 2 else "node"}
        spec["controlPlane"] = {"highAvailability": {"failureTolerance": tolerance}}
    return _object(CORE, "Shoot", f"{project}-{number:02}", f"garden-{project}", spec=spec)


def _worker(provider: Provider, zones: tuple[str, ...]) -> Draft:
    return {
        "name": "worker",
        "minimum": 1,
        "maximum": 3,
        "maxSurge": 1,
        "maxUnavailable": 0,
        "machine": {"type": provider.machines[0], "image": {"name": "gardenlinux"}},
        "volume": {"type": provider.disk, "size": "50Gi"},
        "zones": list(zones),
    }


def _cloud_profile(provider: Provider) -> Draft:
    small, large = provider.machines
    spec: Draft = {
        "type": provider.name,
        "kubernetes": {"versions": [{"version": version} for version in KUBERNETES_VERSIONS]},
        "machineImages": [
            {
                "name": "gardenlinux",
                "versions": [
                    {"version": "1592.4.0", "cri": [{"name": "containerd"}]},
                    {"version": "1877.2.0", "cri": [{"name": "containerd"}]},
                ],
            }
        ],
        "machineTypes": [
            {"name": small, "cpu": "2", "gpu": "0", "memory": "8Gi"},
            {"name": large, "cpu": "8", "gpu": "0", "memory": "32Gi"},
        ],
        "volumeTypes": [{"name": provider.disk, "class": "premium"}],
        "regions": [
            {"name": region, "zones": [{"name": zone} for zone in zones]}
            for region, zones in provider.regions.items()
        ],
    }
    return _object(CORE, "CloudProfile", provider.name, spec=spec)


def _region_distances(provider: str) -> Draft:
    regions = DISTANCES[provider]
    data = {
        region: "".join(f"{other}: {distance}\n" for other, distance in others.items())
        for region, others in regions.items()
    }
    draft = _object("v1", "ConfigMap", f"region-distances-{provider}", "garden", data=data)
    draft["metadata"]["labels"] = {names.REGION_CONFIG_PURPOSE: names.REGION_CONFIG}
    draft["metadata"]["annotations"] = {names.REGION_CONFIG_PROFILES: provider}
    return draft


def _project(project: str) -> Iterator[Draft]:
    namespace = f"garden-{project}"
    draft = _object("v1", "Namespace", namespace)
    draft["metadata"]["labels"] = {names.ROLE: names.ROLE_PROJECT, names.PROJECT_NAME: project}
    yield draft
    yield _object(CORE, "Project", project, spec={"namespace": namespace})
    yield _object(
        CORE,
        "Quota",
        "project",
        namespace,
        spec={
            "scope": {"apiVersion": CORE, "kind": "Project"},
            "metrics": {"cpu": "600", "memory": "2400Gi"},
        },
    )
    for provider in PROVIDERS:
        yield _object("v1", "Secret", provider.name, namespace, type="Opaque")
        yield _object(
            CORE,
            "SecretBinding",
            provider.name,
            namespace,
            secretRef={"name": provider.name, "namespace": namespace},
            quotas=[{"name": "project", "namespace": namespace}],
            provider={"type": provider.name},
        )


def _seed(row: SeedRow, number: int) -> Draft:
    provider = next(each for each in PROVIDERS if each.name == row.provider)
    domain = f"{row.name}.demo.example"
    credentials = {"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden"}
    spec: Draft = {
        "provider": {
            "type": row.provider,
            "region": row.region,
            "zones": list(provider.regions[row.region][: row.zones]),
        },
        "networks": {
            "nodes": f"10.{number}.0.0/16",
            "pods": f"10.{number + 100}.0.0/16",
            "services": f"10.{number + 200}.0.0/16",
        },
        "dns": {
            "provider": {"type": row.provider, "credentialsRef": credentials},
            "internal": {
                "type": row.provider,
                "domain": f"internal.{domain}",
                "credentialsRef": credentials,
            },
        },
        "ingress": {"domain": f"ingress.{domain}", "controller": {"kind": "nginx"}},
        "settings": {"scheduling": {"visible": True}},
    }
    if row.taint:
        spec["taints"] = [{"key": row.taint}]
    draft = _object(CORE, "Seed", row.name, spec=spec)
    # A gardenlet would report it from its configuration.
    capacity = {"shoots": str(row.capacity), "persistent-volumes": str(4 * row.capacity)}
    draft["status"] = {"capacity": capacity, "allocatable": dict(capacity)}
    if row.zones >= MIN_ZONES:
        draft["metadata"]["labels"] = {names.MULTI_ZONAL: "true"}
    if not row.ready:
        draft["metadata"]["annotations"] = {names.SIMULATE: "dark"}
    return draft


def _scaling(namespace: str) -> Iterator[Draft]:
    for name in ("shop", "search"):
        yield _object(
            "autoscaling.mercari.com/v1beta3",
            "Tortoise",
            name,
            namespace,
            spec={
                "updateMode": "Auto",
                "targetRefs": {
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
                },
            },
        )
    lunch = {"cron": "0 11 * * *", "duration": "3h", "timeZone": "Europe/Berlin"}
    night = {"cron": "30 1 * * *", "duration": "90m", "timeZone": "UTC"}
    yield _scheduled_scaling("lunch", namespace, "shop", 10, lunch)
    yield _scheduled_scaling("nightly-index", namespace, "search", 6, night)


def _scheduled_scaling(
    name: str, namespace: str, tortoise: str, replicas: int, schedule: Draft
) -> Draft:
    return _object(
        "autoscaling.mercari.com/v1alpha1",
        "ScheduledScaling",
        name,
        namespace,
        spec={
            "targetRefs": {"tortoiseName": tortoise},
            "strategy": {"static": {"minimumMinReplicas": replicas}},
            "schedule": schedule,
        },
    )


def _object(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Draft:
    metadata: Draft = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
