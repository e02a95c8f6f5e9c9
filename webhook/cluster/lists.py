"""Lists of objects, read page by page."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.cluster.errors import DECODE_ERRORS, UnreadableError, excerpt
from webhook.cluster.requests import PAGE_SIZE, Selection
from webhook.kube.meta import Draft, Object
from webhook.kube.nesting import decode_shallow

T = TypeVar("T", bound=Object)

# In the class below `list` is a method.
_Documents: TypeAlias = list[Draft]
_Objects: TypeAlias = list[T]


class Page(NamedTuple):
    """One page of a list: its objects as bytes, its version, and the token of the next page."""

    items: Sequence[msgspec.Raw]
    version: str
    token: str


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_LIST: Final = msgspec.json.Decoder(_List)


def decode_page(body: bytes) -> Page:
    """Decode the body of a list; raises UnreadableError for anything else."""
    try:
        answer = decode_shallow(_LIST, body)
    except DECODE_ERRORS as error:
        raise UnreadableError(200, f"no list but {excerpt(body)}") from error
    return Page(answer.items or (), answer.metadata.resource_version, answer.metadata.next)


class ListReader(ABC):
    """Reads lists of any length through a method that reads one page."""

    @abstractmethod
    async def page(self, selection: Selection, token: str = "", limit: int = PAGE_SIZE) -> Page:
        """Read one page of a list, its items not yet decoded."""

    async def pages(self, selection: Selection, limit: int = PAGE_SIZE) -> AsyncIterator[Page]:
        """Read a list page by page."""
        page = await self.page(selection, limit=limit)
        yield page
        while page.token:
            page = await self.page(selection, page.token, limit)
            yield page

    async def list(self, selection: Selection) -> _Documents:
        """Read all selected objects as JSON documents."""
        return [
            msgspec.json.decode(item, type=dict[str, Any])
            async for page in self.pages(selection)
            for item in page.items
        ]

    async def list_objects(
        self, model: type[T], namespace: str = "", labels: str = ""
    ) -> _Objects[T]:
        """Read all objects of a kind, of one namespace or with some labels, as Structs."""
        selection = Selection(kind_of_model(model), namespace, labels)
        return [decode(model, item) async for page in self.pages(selection) for item in page.items]
