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


Question: TypeAlias = Get | MayI
Answers: TypeAlias = Mapping[Question, Object | bool | None]
"""An object (or None for one that is truly absent) for `Get`, yes or no for `MayI`."""
