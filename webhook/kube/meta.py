"""What all objects share: keys, metadata, references, and the base class of Structs."""

from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, dataclass_transform

import msgspec
from msgspec import Meta
from typing_extensions import override

Raw: TypeAlias = Mapping[str, Any]
"""A decoded JSON object, read-only."""

Draft: TypeAlias = dict[str, Any]
"""A copy of a JSON object that may be edited."""

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

IntOrString: TypeAlias = int | str
"""A number, or a percentage such as `25%`."""

Quantity: TypeAlias = int | str
"""An unparsed Kubernetes quantity; `webhook.kube.quantity` parses it. Decoding does not parse it,
because one malformed quantity must not make the whole object unreadable: admission rejects it and
names the valid notation."""


def describe(description: str, *, required: bool = False, **schema: Any) -> Meta:
    """Return the description of a field for `kubectl explain`, with further schema keywords.

    The API server enforces the schema on writes. Decoding does not, so that objects which were
    stored in another way can still be read.
    """
    return Meta(description=description, extra={"required": required, "schema": schema})


_NOTHING: Final[dict[str, Any]] = {}

empty_map: Final[Callable[[], Any]] = repeat(_NOTHING).__next__
"""Returns the one empty mapping that all objects share: absent maps cost no memory, and this C
function costs less than a Python one; objects have a dozen such fields."""


class ObjectKey(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    @override
    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


# Without this, type checkers require every Struct to repeat that it is frozen.
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Model(
    msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel", omit_defaults=True
):
    """The base class of all Structs: read-only, camelCase in JSON, tuples for lists.

    Structs have only the fields that some code reads. The garbage collector does not track them,
    which is safe because decoded objects have no cycles.
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
    labels: Mapping[str, str] = msgspec.field(default_factory=empty_map)
    annotations: Mapping[str, str] = msgspec.field(default_factory=empty_map)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class TemplateMetadata(Model):
    """The part of the metadata that a template may give to the objects made from it."""

    name: Annotated[str, describe("the name, where a template may give one")] = ""
    namespace: Annotated[str, describe("the namespace, where a template may give one")] = ""
    labels: Annotated[Mapping[str, str], describe("labels of what is made")] = msgspec.field(
        default_factory=empty_map
    )
    annotations: Annotated[Mapping[str, str], describe("annotations of what is made")] = (
        msgspec.field(default_factory=empty_map)
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


KindKey: TypeAlias = tuple[type[Object], ObjectKey]
"""One object of any kind: its Struct and its key."""


class SelectorTerm(Model):
    """One condition on a label."""

    key: Annotated[str, describe("the label")] = ""
    operator: Annotated[str, describe("In, NotIn, Exists or DoesNotExist")] = ""
    values: Annotated[tuple[str, ...], describe("values, for In and NotIn")] = ()


class Selector(Model):
    """A selector of objects by their labels."""

    match_labels: Annotated[Mapping[str, str], describe("labels that an object must have")] = (
        msgspec.field(default_factory=empty_map)
    )
    match_expressions: tuple[SelectorTerm, ...] = ()


class LocalReference(Model):
    """A reference to an object by name, in the same namespace or cluster-scoped."""

    name: Annotated[str, describe("the name of the object")] = ""


class NamespacedReference(Model):
    """A reference to an object by name and namespace."""

    name: Annotated[str, describe("the name of the object")] = ""
    namespace: Annotated[str, describe("its namespace")] = ""


class ObjectReference(Model):
    """A reference to an object of any kind."""

    api_version: Annotated[str, describe("group and version of the object")] = ""
    kind: Annotated[str, describe("its kind")] = ""
    name: Annotated[str, describe("its name")] = ""
    namespace: Annotated[str, describe("its namespace")] = ""
    uid: Annotated[str, describe("its uid")] = ""


class LastOperation(Model):
    """What a controller did last to an object, and how it went."""

    type: Annotated[str, describe("Create, Reconcile, Delete, Migrate or Restore")] = ""
    state: Annotated[str, describe("Processing, Succeeded, Error, Failed, Pending or Aborted")] = ""
    progress: Annotated[Int32, describe("percent that is done")] = 0
    description: Annotated[str, describe("what is going on")] = ""
    last_update_time: Annotated[str, describe("when this was written")] = ""


class LastError(Model):
    """An error that a controller met."""

    description: Annotated[str, describe("what went wrong")] = ""
    codes: Annotated[tuple[str, ...], describe("well-known kinds of errors")] = ()
    last_update_time: Annotated[str | None, describe("when this was written")] = None
    task_id: Annotated[str, describe("the step that failed")] = msgspec.field(
        name="taskID", default=""
    )
