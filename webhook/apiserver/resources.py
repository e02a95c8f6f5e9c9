"""A served resource: one kind at one version, with all that the verbs need to know of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from webhook.api.schema import Schema
from webhook.api.status import Qualified
from webhook.apiserver.builtin.kinds import Builtin, Subresource

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
    """Where a custom resource keeps what its scale subresource shows."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True, eq=False)
class Resource:
    """One kind at one version; all versions of a kind share the same storage."""

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
    """What is stored instead, where that differs in more than the version's name."""
    generation: bool = True
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()
    scale: ScalePaths | None = None
    builtin: Builtin | None = None
    raw_schema: Mapping[str, Any] = field(default_factory=dict)
    definition: str = ""
    """The name of the CustomResourceDefinition; empty for built-in kinds."""
    warning: str = ""
    """What clients of a deprecated version are told."""
    load_schema: Callable[[], Schema] | None = None

    @cached_property
    def schema(self) -> Schema:
        """The compiled schema; compiled on first use, since most built-ins never are."""
        return self.load_schema() if self.load_schema is not None else Schema(self.raw_schema)

    @cached_property
    def has_embedded(self) -> bool:
        """Whether objects may hold others; most kinds need not be searched for them."""
        return "x-kubernetes-embedded-resource" in repr(self.raw_schema)

    @cached_property
    def has_rules(self) -> bool:
        """Whether its schema holds rules of its own; most kinds need not be searched for them."""
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
        """The name of the kind in the tables about kinds."""
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
        """Whether a create is a question that is answered and not stored."""
        return self.verbs == ("create",)
