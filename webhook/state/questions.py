"""What a decision may ask of the API server when memory does not suffice."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias

from webhook.api.meta import Object, ObjectKey


class User(Protocol):
    """Whoever sent a request, as the API server knows them."""

    @property
    def username(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def groups(self) -> tuple[str, ...]: ...
    @property
    def extra(self) -> Mapping[str, tuple[str, ...]]: ...


class Get(NamedTuple):
    """Is there such an object, and what is it?"""

    model: type[Object]
    key: ObjectKey


class Find(NamedTuple):
    """Which objects of a kind that is not followed carry a label in a namespace?"""

    model: type[Object]
    namespace: str
    label: str
    value: str

    def matches(self, obj: Object) -> bool:
        """Tell whether an object is one of those that are asked for."""
        return (
            isinstance(obj, self.model)
            and obj.namespace == self.namespace
            and obj.metadata.labels.get(self.label) == self.value
        )


class MayI(NamedTuple):
    """May this user do that?"""

    username: str
    uid: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str


Question: TypeAlias = Get | Find | MayI
Answer: TypeAlias = Object | tuple[Object, ...] | bool | None
Answers: TypeAlias = Mapping[Question, Answer]
"""An object (or None for one that is truly absent) for `Get`, those there are for `Find`, yes or
no for `MayI`."""
