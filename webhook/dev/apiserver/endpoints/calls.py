"""A parsed request for a resource, and the options of writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from webhook.dev.apiserver.endpoints.requestinfo import RequestInfo, is_true
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.entries import key_of
from webhook.kube import fielderrors, status
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Draft
from webhook.kube.status import Qualified

META_GROUP: Final = "meta.k8s.io"
STRICT: Final = "Strict"
WARN: Final = "Warn"
IGNORE: Final = "Ignore"
MANAGER_LIMIT: Final = 128
_UNKNOWN_MANAGER: Final = "unknown"
"""The field manager of a client that gives neither a manager nor its own name."""


@dataclass(frozen=True, slots=True)
class User:
    """The authenticated user of a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Call:
    """A request for a resource; `warnings` collects the warnings of its response."""

    resource: Resource
    info: RequestInfo
    verb: str
    user: User
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""
    user_agent: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def namespace(self) -> str:
        """The namespace of the objects; Namespaces are in none, although their path names one."""
        return self.info.namespace if self.resource.namespaced else ""

    @property
    def key(self) -> str:
        """The key of the object that the path names."""
        return key_of(self.namespace, self.info.name)

    def warn(self, text: str) -> None:
        """Add a warning once."""
        if text not in self.warnings:
            self.warnings.append(text)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """CreateOptions, UpdateOptions or PatchOptions, whichever the verb takes."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = WARN
    force: bool = False

    def to_object(self, kind: str) -> Draft:
        """Return the options as webhooks receive them."""
        options: Draft = {"kind": kind, "apiVersion": f"{META_GROUP}/v1"}
        if self.dry_run:
            options["dryRun"] = ["All"]
        if self.field_manager:
            options["fieldManager"] = self.field_manager
        if self.field_validation != WARN:
            options["fieldValidation"] = self.field_validation
        return options


def write_options(call: Call, kind: str, *, applying: bool = False) -> WriteOptions:
    """Parse and validate the options of a write."""
    query = call.query
    manager = query.get("fieldManager", "")
    errors: list[FieldError] = []
    if applying and not manager:
        errors.append(fielderrors.required("fieldManager", "is required for apply patch"))
    if not applying and kind == "PatchOptions" and "force" in query:
        errors.append(fielderrors.forbidden("force", "may not be specified for non-apply patch"))
    errors += field_manager_errors(manager, "fieldManager")
    dry_run = [query["dryRun"]] if query.get("dryRun") else []
    errors += dry_run_errors(dry_run)
    validation = query.get("fieldValidation", "")
    if validation not in ("", STRICT, WARN, IGNORE):
        known = ["", IGNORE, STRICT, WARN]
        errors.append(fielderrors.not_supported("fieldValidation", validation, known))
    if errors:
        raise status.invalid(Qualified(META_GROUP, kind), "", errors)
    return WriteOptions(bool(dry_run), manager, validation or WARN, is_true(query.get("force", "")))


def field_manager_errors(manager: str, path: str) -> list[FieldError]:
    """Validate the name of a field manager."""
    errors = []
    if len(manager.encode()) > MANAGER_LIMIT:
        errors.append(fielderrors.too_long(path, MANAGER_LIMIT))
    for position, char in enumerate(manager):
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            errors.append(fielderrors.invalid(path, manager, detail))
    return errors


def dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    """Validate dryRun, whose only value is All."""
    if all(value == "All" for value in values):
        return []
    return [fielderrors.not_supported("dryRun", list(values), ["All"])]


def field_manager_of(options: WriteOptions, user_agent: str) -> str:
    """Return the field manager of a write: the requested one, else the name of the client."""
    if options.field_manager:
        return options.field_manager
    name = "".join(char for char in user_agent.split("/")[0] if char.isprintable())
    return name.encode()[:MANAGER_LIMIT].decode(errors="ignore") or _UNKNOWN_MANAGER
