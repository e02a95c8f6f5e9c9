"""Objects behind the client's calls, in memory."""

from webhook.api.kinds import Kind
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.cluster.errors import AlreadyExistsError, ConflictError, NotFoundError
from webhook.cluster.requests import Request


class FakeApi:
    def __init__(self) -> None:
        self.objects: dict[tuple[str, ObjectKey], Draft] = {}
        self.paths: dict[str, Draft] = {}
        self.version = 0
        self.writes: list[str] = []

    def put(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft:
        self.version += 1
        metadata = {
            **draft.get("metadata", {}),
            "namespace": key.namespace,
            "name": key.name,
            "resourceVersion": str(self.version),
        }
        self.objects[kind.name, key] = {**draft, "metadata": metadata}
        return self.objects[kind.name, key]

    async def get(self, kind: Kind, key: ObjectKey) -> Draft:
        try:
            return self.objects[kind.name, key]
        except KeyError:
            raise NotFoundError(404, "NotFound", f"{key} not found") from None

    async def create(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft:
        if (kind.name, key) in self.objects:
            raise AlreadyExistsError(409, "AlreadyExists", "exists")
        self.writes.append(f"create {kind.name}")
        return self.put(kind, key, draft)

    async def update(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft:
        current = await self.get(kind, key)
        if current["metadata"]["resourceVersion"] != draft["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "changed")
        self.writes.append(f"update {kind.name}")
        return self.put(kind, key, draft)

    async def apply(self, kind: Kind, key: ObjectKey, draft: Raw, *, manager: str) -> Draft:
        self.writes.append(f"apply {kind.name} as {manager}")
        return self.put(kind, key, draft)

    async def document(self, request: Request) -> Draft:
        try:
            return self.paths[request.path]
        except KeyError:
            raise NotFoundError(404, "NotFound", request.path) from None
