"""A served resource: one kind in one version, with everything that verbs need."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from webhook.dev.apiserver.builtin.kinds import Builtin, Subresource
from webhook.kube.meta import Raw
from webhook.kube.schema import Schema
from webhook.kube.status import Qualified

STATUS: Final = "status"
SCALE: Final = "scale"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of server-side printing."""

    name: str
    type: str
    description: str = ""
    format: str = ""
    priority: int = 0
    json_path: str = ""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """The paths of a custom resource's scale subresource."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True, eq=False)
class Resource:
    """One kind in one version; all versions of a kind share one collection."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    storage_version: str = ""
    stored: "Resource | None" = None
    """The stored version, if it differs in more than its name."""
    generation: bool = True
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()
    scale: ScalePaths | None = None
    builtin: Builtin | None = None
    raw_schema: Raw = field(default_factory=dict)
    definition: str = ""
    """The name of the CustomResourceDefinition; empty for built-in kinds."""
    warning: str = ""
    """The warning for clients of a deprecated version."""
    load_schema: Callable[[], Schema] | None = None

    @cached_property
    def schema(self) -> Schema:
        """The compiled schema, compiled on first use."""
        return self.load_schema() if self.load_schema is not None else Schema(self.raw_schema)

    @cached_property
    def has_embedded(self) -> bool:
        """Whether the schema has embedded resources."""
        return "x-kubernetes-embedded-resource" in repr(self.raw_schema)

    @cached_property
    def has_rules(self) -> bool:
        """Whether the schema has validation rules in CEL."""
        return self.is_custom and "x-kubernetes-validations" in repr(self.raw_schema)

    @property
    def is_custom(self) -> bool:
        return self.builtin is None

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def api_version_bytes(self) -> bytes:
        return self.api_version.encode()

    @property
    def stored_api_version(self) -> str:
        version = self.storage_version or self.version
        return f"{self.group}/{version}" if self.group else version

    @cached_property
    def identity(self) -> str:
        """`plural.group`, the key of this resource in tables of kinds."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def storage(self) -> str:
        """The name of the collection that holds the objects."""
        return self.builtin.storage if self.builtin is not None else self.identity

    @cached_property
    def qualified(self) -> Qualified:
        return Qualified(self.group, self.plural)

    @cached_property
    def qualified_kind(self) -> Qualified:
        return Qualified(self.group, self.kind)

    @property
    def has_status(self) -> bool:
        return STATUS in self.subresources

    @property
    def is_virtual(self) -> bool:
        """Whether a create is answered and not stored, as for reviews."""
        return self.verbs == ("create",)
