"""The closed list of differences between our admission and Gardener's, with reasons."""

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from tests.behaviour.comparison.verdicts import Case, Verdict

_ALL: Final = ("Shoot", "Seed", "ManagedSeed", "ManagedSeedSet")
_SHOOTS: Final = ("Shoot", "ManagedSeedSet")
_SEEDS: Final = ("Seed", "ManagedSeed", "ManagedSeedSet")
_CONFIG: Final = r"spec(?:\.template\.spec)?\.gardenlet\.config"
_SHOOT: Final = r"spec(?:\.shootTemplate\.spec)?"
_POOL: Final = rf"{_SHOOT}\.provider\.workers\[\d+\]"
_UNCHANGEABLE: Final = r"field is immutable"
_REQUIRED: Final = r"^Required value"
_UNSUPPORTED: Final = r"Unsupported value"
_LABEL: Final = r"name part must|a valid label (?:key )?must"
_NAME: Final = r"lowercase RFC 1123"


class Departure(NamedTuple):
    """A field by which only one of the two refuses a request."""

    who: str
    field: str
    case: Case
    messages: Collection[str]
    """The messages about that field, one for each fault."""
    ours: Verdict


class Shape(NamedTuple):
    """A pattern of requests: the field, every message about it, and the change."""

    fields: str
    message_pattern: str
    kinds: tuple[str, ...] = ("Shoot",)
    changed: str = r".*"
    """The field that was changed, and how."""
    instead: str = ""
    """A field by which we must refuse the same request, if set."""

    def fits(self, departure: Departure) -> bool:
        case, named = departure.case, departure.ours.fields
        return (
            case.kind in self.kinds
            and re.fullmatch(self.fields, departure.field) is not None
            and re.fullmatch(self.changed, f"{case.field} {case.change}") is not None
            and all(re.search(self.message_pattern, each) for each in departure.messages)
            and (not self.instead or any(re.fullmatch(self.instead, each) for each in named))
        )


class Difference(NamedTuple):
    """A rule that only one of the two has."""

    name: str
    who: str
    """Who refuses."""
    why: str
    shapes: tuple[Shape, ...]

    def explains(self, departure: Departure) -> bool:
        return departure.who == self.who and any(each.fits(departure) for each in self.shapes)


def _gardeners(name: str, why: str, *shapes: Shape) -> Difference:
    return Difference(name, "Gardener", why, shapes)


def _ours(name: str, why: str, *shapes: Shape) -> Difference:
    return Difference(name, "Espalier", why, shapes)


DIFFERENCES: Final = (
    _gardeners(
        "unread",
        "settings of components, maintenance, health and logs that no rule of ours reads",
        Shape(
            r"spec\.kubernetes\.(?:kube\w+|verticalPodAutoscaler)\.(?!enabled)[\w.]+"
            r"|spec\.maintenance\.[\w./]+",
            rf"{_UNSUPPORTED}|must be |must not be greater|less than|cannot (?:set|be changed)"
            rf"|could not parse|configuration incorrect|{_UNCHANGEABLE}",
        ),
        Shape(
            r"spec\.settings\.excessCapacityReservation\.[\w.\[\]]+",
            rf"must be greater|{_REQUIRED}",
            ("Seed",),
        ),
        Shape(r"logLevel|logFormat", _UNSUPPORTED, ("ManagedSeed", "ManagedSeedSet")),
    ),
    _gardeners(
        "undecodable",
        "durations, amounts and types of fields that no rule of ours reads",
        Shape(
            r"spec\.(?:kubernetes|maintenance|systemComponents|provider\.workersSettings)\.[\w.]+"
            rf"|spec\.settings\.[\w.\[\]]+|{_CONFIG}\.(?:server|resources\.capacity\.shoots)"
            r"|spec\.gardenlet\.deployment\.enableHealthProbes",
            r"cannot be handled as a \w+: (?:time|quantities|json)",
            _ALL,
        ),
    ),
    _gardeners(
        "workerless",
        "fields that have no effect without workers may be set",
        Shape(
            r".*",
            r"should not be set for workerless",
            _SHOOTS,
            rf"(?:{_SHOOT}\.provider(?:\.workers)?|spec\.shootTemplate(?:\.spec)?) .*",
        ),
    ),
    _gardeners(
        "labels",
        "labels are validated by the API server that stores the object, and Gardener derives some "
        "from types",
        Shape(r"metadata\.labels", _LABEL, ("Shoot", "Seed")),
    ),
    _gardeners(
        "shoot-operations",
        "only Gardener knows the operations on shoots",
        Shape(r"metadata\.annotations\[gardener\.cloud/operation\]", _UNSUPPORTED),
    ),
    _gardeners(
        "extension-types",
        "without Gardener no extension has to be registered for a type",
        Shape(
            r"spec\.(?:provider|networking|dns\.provider|extensions\[\d+\])\.type"
            r"|spec\.backup\.provider",
            r"uses non-registered",
            ("Shoot", "Seed"),
        ),
    ),
    _gardeners(
        "offers",
        "machine types, images, volumes and restrictions that a CloudProfile does not list are "
        "warnings here; what one of its zones lacks is refused",
        Shape(
            rf"{_POOL}\.(?:machine|volume)\.type",
            rf"{_UNSUPPORTED}|is unusable|does not support CPU",
            changed=r"(?!.*= '(?:scarce|rare)').*",
        ),
        Shape(rf"{_POOL}(?:\.machine\.image\.version)?", rf"{_UNSUPPORTED}|image is not|semantic"),
        Shape(rf"{_POOL}\.machine\.image\.name", _REQUIRED, _SHOOTS),
        Shape(rf"{_POOL}\.(?:machine\.architecture|cri\.name)", _UNSUPPORTED, _SHOOTS),
        Shape(r"spec\.accessRestrictions\[\d+\]", _UNSUPPORTED),
    ),
    _gardeners(
        "versions",
        "Kubernetes versions, and fields that exist only in some of them",
        Shape(
            rf"{_SHOOT}\.kubernetes\.version|{_POOL}\.kubernetes\.version",
            rf"{_UNSUPPORTED}|semantic version|cannot skip|must not be empty|is unset",
            _SHOOTS,
        ),
        Shape(r"spec\.cloudProfileName", r"no longer supported"),
    ),
    _gardeners(
        "shoot-networks",
        "a shoot's own networks are validated when it gets a seed",
        Shape(
            rf"{_SHOOT}\.networking\.(?:nodes|pods|services)",
            r"invalid CIDR|must be a valid IPv|canonical CIDR|intersects with",
            _SHOOTS,
            r"(?!.* = '24\d\.).*",
        ),
        Shape(
            rf"{_SHOOT}\.networking(?:\.(?:pods|services|type))?",
            rf"{_UNCHANGEABLE}|invalid CIDR|must be a valid IPv|canonical CIDR|{_REQUIRED}|label",
            _SHOOTS,
        ),
        Shape(
            r"spec\.networking\.ipFamilies(?:\[\d+\])?",
            rf"{_UNSUPPORTED}|unsupported IP family|Duplicate value",
        ),
    ),
    _gardeners(
        "optional-references",
        "a shoot may name no profile or binding; one that it names anew must exist",
        Shape(rf"{_SHOOT}\.cloudProfile\.(?:name|kind)", rf"{_REQUIRED}|{_UNSUPPORTED}", _SHOOTS),
        Shape(
            rf"{_SHOOT}\.(?:credentials|secret)BindingName",
            rf"{_REQUIRED}|cannot be unset|incompatible|no longer supported|{_UNCHANGEABLE}",
            _SHOOTS,
        ),
    ),
    _gardeners(
        "shoot-domains",
        "domains of shoots are served by Gardener",
        Shape(
            rf"{_SHOOT}\.dns(?:\.domain)?",
            rf"expected scheme|RFC 1123|{_REQUIRED}|{_UNCHANGEABLE}",
            _SHOOTS,
        ),
        Shape(rf"{_SHOOT}\.dns\.providers\[\d+\]\.credentialsRef", _REQUIRED, _SHOOTS),
    ),
    _gardeners(
        "shoot-words",
        "purpose, scheduler, type and region of a shoot are not restricted here, the region as"
        " long as its zones are known",
        Shape(rf"{_SHOOT}\.purpose", _UNSUPPORTED, _SHOOTS),
        Shape(r"spec\.schedulerName", rf"{_NAME}|{_UNCHANGEABLE}"),
        Shape(
            rf"{_SHOOT}\.(?:region|provider\.type)",
            rf"{_UNCHANGEABLE}|{_REQUIRED}|{_NAME}|must equal",
            _SHOOTS,
        ),
    ),
    _gardeners(
        "node-details",
        "labels, taints and update strategies of nodes are the provider's",
        Shape(
            rf"{_POOL}\.(?:labels|taints\[\d+\](?:\.\w+)?|updateStrategy)",
            rf"{_LABEL}|{_UNSUPPORTED}|Duplicate value|{_REQUIRED}",
            _SHOOTS,
        ),
    ),
    _gardeners(
        "misspelt",
        "Gardener writes `spec.providers.workers` where it means `spec.provider.workers`, and "
        "`name` for `metadata.name`",
        Shape(
            r"spec\.providers\.workers",
            r"must not be removed as long as registered",
            instead=r"spec\.provider\.workers",
        ),
        Shape(r"name", r"must not exceed 21", instead=r"metadata\.(?:name|generateName)"),
    ),
    _gardeners(
        "noted-confirmation",
        "Gardener records in an annotation who confirmed a deletion, and then refuses that"
        " annotation if the seed is being deleted",
        Shape(
            r"metadata\.annotations\.confirmation\.gardener\.cloud/deletion",
            r"only the .* annotation can be changed",
            changed=r".* = 'true'",
        ),
    ),
    _ours(
        "twin-annotations",
        "annotations that replace fields of documents 000, 002 and 003",
        Shape(
            r"(?:spec\.shootTemplate\.)?metadata\.annotations\[espalier\.gardener\.cloud/[\w-]+\]",
            r"must be|supported values|write a number",
            _SHOOTS,
        ),
    ),
    _ours(
        "multi-zonal",
        "a multi-zonal seed stays multi-zonal, in use or not (document 003)",
        Shape(
            r"(?:.*\.)?metadata\.labels\[seed\.gardener\.cloud/multi-zonal\]|spec\.provider\.zones",
            r"^a multi-zonal seed stays multi-zonal",
            _SEEDS,
        ),
    ),
    _ours(
        "multi-zonal-label",
        'a seed labelled `multi-zonal: "false"` takes no multi-zone control plane, whatever its '
        "zones (document 003)",
        Shape(r"spec\.seedName", r"is not multi-zonal, it has 3 zones"),
    ),
    _ours(
        "seeds-at-once",
        "a seed that hosts shoots is not deleted with the collection of all seeds; Gardener"
        " checks only single deletions",
        Shape(r"", r"still hosts", ("Seed",), r" deleted with all others"),
    ),
    _ours(
        "own-selector",
        "a shoot is bound only to a seed that its own `seedSelector` matches; Gardener checks"
        " that only when the selector changes",
        Shape(r"spec\.seedName", r"does not match spec\.seedSelector"),
    ),
    _ours(
        "pinned-zones",
        "zones that a shoot pins must be zones of the seed; Gardener does not compare them",
        Shape(r"spec\.seedName", r"lacks zones .* of spec\.controlPlane\.zones"),
    ),
    _ours(
        "replica-names",
        "replicas are named after their set, so the names must be valid (document 000)",
        Shape(r"metadata\.name", r"^replicas are named|^replica \S+ would", ("ManagedSeedSet",)),
    ),
    _ours(
        "availability-of-replicas",
        "an unknown failure tolerance in a template would only be found replica by replica"
        " (document 003)",
        Shape(
            r"spec\.shootTemplate\.spec\.controlPlane\.highAvailability\.failureTolerance\.type",
            r"^supported values: node, zone$",
            ("ManagedSeedSet",),
        ),
    ),
)
