"""What every object has: keys, metadata, references, and the base of all Structs."""

from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, dataclass_transform

import msgspec
from msgspec import Meta
from typing_extensions import override

Raw: TypeAlias = Mapping[str, Any]
"""An object as it came off the wire; nobody edits it."""

Draft: TypeAlias = dict[str, Any]
"""A copy of an object that its holder may edit."""

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

IntOrString: TypeAlias = int | str
"""A number, or a percentage such as `25%`."""

Quantity: TypeAlias = int | str
"""A Kubernetes quantity as written; `webhook.api.quantity` reads it."""


def says(description: str, *, required: bool = False, **schema: Any) -> Meta:
    """Describe a field for `kubectl explain`, and say what its schema asks beyond the type.

    What is asked here binds writers through the API server; reading stays lenient, so that an
    object which got in another way can still be judged.
    """
    return Meta(description=description, extra={"required": required, "schema": schema})


_NOTHING: Final[dict[str, Any]] = {}

nothing: Final[Callable[[], Any]] = repeat(_NOTHING).__next__
"""Gives the one empty mapping that all objects share, so that absent maps cost no memory; and
hardly any time: objects have a dozen of them, and a call of Python's own takes as long as a field.
"""


class ObjectKey(NamedTuple):
    """Where an object lives; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    @override
    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


# Without this type checkers ask every single Struct to repeat that it is frozen.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Model(
    msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True
):
    """The base of all Structs: read-only, camelCase on the wire, tuples for lists.

    Structs hold only the fields that somebody reads. They are outside the garbage collector's
    sight, which is safe because a decoded object has no cycles.
    """


class OwnerReference(Model):
    """The object that another one belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class Metadata(Model):
    """Name, identity and bookkeeping of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: Mapping[str, str] = msgspec.field(default_factory=nothing)
    annotations: Mapping[str, str] = msgspec.field(default_factory=nothing)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class TemplateMetadata(Model):
    """The part of the metadata that a template may give to the objects made from it."""

    name: Annotated[str, says("the name, where a template may give one")] = ""
    namespace: Annotated[str, says("the namespace, where a template may give one")] = ""
    labels: Annotated[Mapping[str, str], says("labels of what is made")] = msgspec.field(
        default_factory=nothing
    )
    annotations: Annotated[Mapping[str, str], says("annotations of what is made")] = msgspec.field(
        default_factory=nothing
    )


class Object(Model):
    """The base of every kind."""

    metadata: Metadata = Metadata()

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def resource_version(self) -> str:
        return self.metadata.resource_version

    @property
    def is_deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls this object, if it has one."""
        for reference in self.metadata.owner_references:
            if reference.controller:
                return reference
        return None


class SelectorTerm(Model):
    """One condition on a label."""

    key: Annotated[str, says("the label")] = ""
    operator: Annotated[str, says("In, NotIn, Exists or DoesNotExist")] = ""
    values: Annotated[tuple[str, ...], says("values, for In and NotIn")] = ()


class Selector(Model):
    """A label selector as written; `webhook.api.selectors` matches it."""

    match_labels: Annotated[Mapping[str, str], says("labels that an object must have")] = (
        msgspec.field(default_factory=nothing)
    )
    match_expressions: tuple[SelectorTerm, ...] = ()


class LocalReference(Model):
    """A reference to an object by name, in the same namespace or cluster-scoped."""

    name: Annotated[str, says("the name of the object")] = ""


class NamespacedReference(Model):
    """A reference to an object by name and namespace."""

    name: Annotated[str, says("the name of the object")] = ""
    namespace: Annotated[str, says("its namespace")] = ""


class ObjectReference(Model):
    """A reference to an object of any kind."""

    api_version: Annotated[str, says("group and version of the object")] = ""
    kind: Annotated[str, says("its kind")] = ""
    name: Annotated[str, says("its name")] = ""
    namespace: Annotated[str, says("its namespace")] = ""
    uid: Annotated[str, says("its uid")] = ""


class LastOperation(Model):
    """What a controller did last to an object, and how it went."""

    type: Annotated[str, says("Create, Reconcile, Delete, Migrate or Restore")] = ""
    state: Annotated[str, says("Processing, Succeeded, Error, Failed, Pending or Aborted")] = ""
    progress: Annotated[Int32, says("percent that is done")] = 0
    description: Annotated[str, says("what is going on")] = ""
    last_update_time: Annotated[str, says("when this was written")] = ""


class LastError(Model):
    """An error that a controller met."""

    description: Annotated[str, says("what went wrong")] = ""
    codes: Annotated[tuple[str, ...], says("well-known kinds of errors")] = ()
    last_update_time: Annotated[str | None, says("when this was written")] = None
    task_id: Annotated[str, says("the step that failed")] = msgspec.field(name="taskID", default="")
