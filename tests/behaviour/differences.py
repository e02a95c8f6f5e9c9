"""The closed list of where our admission is not Gardener's, and why."""

from typing import Final, NamedTuple

_ALL: Final = ("Shoot", "Seed", "ManagedSeed", "ManagedSeedSet")
_SHOOTS: Final = ("Shoot", "ManagedSeedSet")
_SEEDS: Final = ("Seed", "ManagedSeed", "ManagedSeedSet")
_CONFIG: Final = r"spec(?:\.template\.spec)?\.gardenlet\.config"
_SEED: Final = rf"(?:spec|{_CONFIG}\.seedConfig\.spec)"
_SHOOT: Final = r"spec(?:\.shootTemplate\.spec)?"
_POOL: Final = rf"{_SHOOT}\.provider\.workers\[\d+\]"


class Difference(NamedTuple):
    """A rule that one of the two has and the other has not."""

    name: str
    who: str
    """Who refuses."""
    why: str
    fields: str
    kinds: tuple[str, ...] = _ALL
    change: str = r".*"


DIFFERENCES: Final = (
    Difference(
        "unread",
        "Gardener",
        "settings of components, maintenance, health and logs that no rule of ours reads",
        rf"{_SHOOT}\.kubernetes\.(?!version).*|spec\.maintenance\..*|spec\.systemComponents\b.*"
        r"|spec\.provider\.workersSettings\b.*|logLevel|logFormat"
        r"|spec\.settings\.(?:excessCapacityReservation|dependencyWatchdog|loadBalancerServices"
        r"\.zonalIngress|persistentVolumeClaimAutoscaler)\b.*"
        rf"|{_CONFIG}\.(?:server|resources\.capacity\.shoots)"
        r"|spec\.gardenlet\.deployment\.enableHealthProbes",
    ),
    Difference(
        "metadata",
        "Gardener",
        "names, labels and finalizers are judged by the API server that stores the object, and "
        "Gardener derives labels from types",
        r"metadata\.labels",
        ("Shoot", "Seed"),
    ),
    Difference(
        "shoot-operations",
        "Gardener",
        "operations on shoots are Gardener's to know",
        r"metadata\.annotations\[gardener\.cloud/operation\]",
        ("Shoot",),
    ),
    Difference(
        "extension-types",
        "Gardener",
        "without Gardener no extension has to be registered for a type",
        r"spec\.(?:provider\.type|backup\.provider|dns\.provider\.type|extensions\[\d+\]\.type)",
        ("Shoot", "Seed"),
    ),
    Difference(
        "offers",
        "Gardener",
        "machine types, images, volumes, regions and restrictions that a CloudProfile lacks are "
        "warnings here",
        rf"{_POOL}(?:\.machine\..*|\.volume\.type|\.cri\.name)?|spec\.accessRestrictions\[\d+\]",
        _SHOOTS,
    ),
    Difference(
        "versions",
        "Gardener",
        "Kubernetes versions, and what exists only in some of them",
        rf"{_SHOOT}\.kubernetes\.version|{_POOL}\.kubernetes\.version|{_SHOOT}\.addons"
        r"|spec\.cloudProfileName",
        _SHOOTS,
    ),
    Difference(
        "shoot-networks",
        "Gardener",
        "a shoot's own networks are judged when it gets a seed",
        rf"{_SHOOT}\.networking\b.*",
        _SHOOTS,
    ),
    Difference(
        "shoot-references",
        "Gardener",
        "a profile, binding or exposure class that is missing is a warning or not read",
        rf"{_SHOOT}\.(?:cloudProfile\.\w+|credentialsBindingName|secretBindingName)"
        r"|spec\.exposureClassName",
        _SHOOTS,
    ),
    Difference(
        "shoot-domains",
        "Gardener",
        "domains of shoots are served by Gardener",
        rf"{_SHOOT}\.dns\b.*",
        _SHOOTS,
    ),
    Difference(
        "shoot-words",
        "Gardener",
        "purpose, scheduler, type and region of a shoot are free words here, the region as long "
        "as its zones are known",
        rf"{_SHOOT}\.(?:purpose|schedulerName|region|provider\.type)",
        _SHOOTS,
    ),
    Difference(
        "node-details",
        "Gardener",
        "labels, taints and update strategies of nodes are the provider's",
        rf"{_POOL}\.(?:labels|taints\b.*|updateStrategy)",
        _SHOOTS,
    ),
    Difference(
        "misspelt",
        "Gardener",
        "Gardener writes `spec.providers.workers` where it means `spec.provider.workers`, and "
        "`name` for `metadata.name`",
        r"spec\.providers\.workers|name",
        ("Shoot",),
    ),
    Difference(
        "twin-annotations",
        "Espalier",
        "annotations that stand in for fields of documents 000, 002 and 003",
        r"(?:spec\.shootTemplate\.)?metadata\.annotations\[espalier\.gardener\.cloud/.*\]",
        _SHOOTS,
    ),
    Difference(
        "multi-zonal",
        "Espalier",
        "a multi-zonal seed stays multi-zonal, in use or not (document 003)",
        r"(?:.*\.)?metadata\.labels\[seed\.gardener\.cloud/multi-zonal\]|spec\.provider\.zones",
        _SEEDS,
    ),
    Difference(
        "replica-names",
        "Espalier",
        "replicas are named after their set and must be able to exist (document 000)",
        r"metadata\.name",
        ("ManagedSeedSet",),
    ),
    Difference(
        "availability-of-replicas",
        "Espalier",
        "an unknown failure tolerance in a template would be found out replica by replica "
        "(document 003)",
        r"spec\.shootTemplate\.spec\.controlPlane\.highAvailability\.failureTolerance\.type",
        ("ManagedSeedSet",),
    ),
)
