"""Admission requests, findings and decisions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET

from webhook.api import decode
from webhook.api.kinds import Kind
from webhook.domain.pools.discovery import PoolKey
from webhook.kube.meta import Draft, Object, ObjectKey, Raw
from webhook.state.live_reads import LiveRead

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
Verdict: TypeAlias = Literal["allow", "mutate", "warn", "deny"]
M = TypeVar("M", bound=Object)

REQUIRED: Final = "Required"
INVALID: Final = "Invalid"
FORBIDDEN: Final = "Forbidden"
DUPLICATE: Final = "Duplicate"
NOT_SUPPORTED: Final = "NotSupported"
TOO_LONG: Final = "TooLong"
TYPE_INVALID: Final = "TypeInvalid"
DENIED: Final = "Denied"
"""Denied because of other objects or of the user, not because of the object itself."""

DECODE_ERRORS: Final = (
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
)
"""What decoding arbitrary bytes may raise; msgspec's ValidationError is a DecodeError."""


class UserInfo(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The user that sent the request."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class Finding(NamedTuple):
    """One finding about one field: a denial if it is fatal, else a warning."""

    field: str
    message: str
    reason: str = INVALID
    value: Any = UNSET
    fatal: bool = True
    policy: str = ""

    @classmethod
    def required(cls, field: str, message: str) -> Self:
        return cls(field, message, REQUIRED)

    @classmethod
    def invalid(cls, field: str, value: Any, message: str) -> Self:
        return cls(field, message, INVALID, value)

    @classmethod
    def forbidden(cls, field: str, message: str) -> Self:
        return cls(field, message, FORBIDDEN)

    @classmethod
    def duplicate(cls, field: str, value: Any, message: str) -> Self:
        return cls(field, message, DUPLICATE, value)

    @classmethod
    def not_supported(cls, field: str, value: Any, supported: Sequence[str]) -> Self:
        listed = ", ".join(supported)
        return cls(field, f"supported values: {listed}", NOT_SUPPORTED, value)

    @classmethod
    def immutable(cls, field: str, value: Any, message: str = "") -> Self:
        return cls(field, message or "field is immutable, set it back", INVALID, value)

    @classmethod
    def denied(cls, message: str, field: str = "") -> Self:
        return cls(field, message, DENIED)

    @classmethod
    def warning(cls, field: str, message: str) -> Self:
        return cls(field, message, INVALID, UNSET, False)

    def as_warning(self) -> Self:
        """Return the same finding as a warning."""
        return self._replace(fatal=False)


ObjectBytes: TypeAlias = tuple[bytes | None, bytes | None]
"""The bytes of the new object and of the stored one."""


class DecodedObjects(NamedTuple):
    """Objects that were decoded together with their review; `cut` returns their bytes."""

    new: Object | None
    old: Object | None
    cut: Callable[[], ObjectBytes]


class Request:
    """One operation on one object; the objects are decoded when they are read."""

    __slots__ = (
        "_cut", "_new", "_new_bytes", "_new_raw", "_old", "_old_bytes", "_old_is_readable",
        "_old_raw", "dry_run", "faults", "has_object", "is_shape_checked", "key", "kind",
        "operation", "subresource", "uid", "user",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 -- an AdmissionReview has that many parts
        self,
        *,
        uid: str,
        kind: Kind | None,
        operation: Operation,
        key: ObjectKey,
        subresource: str = "",
        user: UserInfo = UserInfo(),  # noqa: B008 -- frozen
        dry_run: bool = False,
        new: bytes | None = None,
        old: bytes | None = None,
        decoded: DecodedObjects | None = None,
        faults: tuple[Finding, ...] = (),
    ) -> None:
        self.uid = uid
        self.kind = kind
        self.operation = operation
        self.key = key
        self.subresource = subresource
        self.user = user
        self.dry_run = dry_run
        self.faults = faults
        """What exceeds the limits of JSON and is missing in the new object."""
        self._new_bytes = new
        self._old_bytes = old
        self._old_is_readable = old is not None
        self._new: Object | None = None
        self._old: Object | None = None
        self._new_raw: Raw | None = None
        self._old_raw: Raw | None = None
        self._cut: Callable[[], ObjectBytes] | None = None
        self.has_object = new is not None
        self.is_shape_checked = decoded is not None
        """Whether the shape of the objects was checked already, without a finding."""
        if decoded is not None:
            self._new, self._old, self._cut = decoded
            self.has_object = decoded.new is not None

    @property
    def object_bytes(self) -> bytes | None:
        return self._bytes()[0]

    def _bytes(self) -> ObjectBytes:
        if self._cut is not None:
            self._new_bytes, self._old_bytes = self._cut()
            self._cut = None
        return self._new_bytes, self._old_bytes

    def object_as(self, model: type[M]) -> M:
        """Decode the new object; raises one of DECODE_ERRORS if that fails."""
        found = self._new
        if found is None:
            found = self._new = decode.decode(model, self._bytes()[0] or b"{}")
        return found  # type: ignore[return-value]  # a request has one kind, hence one model

    def old_as(self, model: type[M]) -> M | None:
        """Decode the stored object; None if there is none, or none that can be decoded.

        An update that repairs an object stored before its schema existed must be allowed.
        """
        if self._old is None and self._old_is_readable:
            try:
                self._old = decode.decode(model, self._old_bytes or b"")
            except DECODE_ERRORS:
                self._old_is_readable = False
        return self._old  # type: ignore[return-value]  # as above

    def raw(self) -> Raw:
        """Return the new object with every field, known or not."""
        if self._new_raw is None:
            self._new_raw = _mapping(self._bytes()[0])
        return self._new_raw

    def old_raw(self) -> Raw | None:
        """Return the stored object with every field; None if there is none that can be decoded."""
        if self._old_raw is None and (old := self._bytes()[1]) is not None:
            try:
                self._old_raw = _mapping(old)
            except DECODE_ERRORS:
                return None
        return self._old_raw

    def with_object(self, data: bytes) -> "Request":
        """Return the same request for another object."""
        return Request(
            uid=self.uid,
            kind=self.kind,
            operation=self.operation,
            key=self.key,
            subresource=self.subresource,
            user=self.user,
            dry_run=self.dry_run,
            new=data,
            old=self._bytes()[1],
        )

    def draft(self) -> Draft:
        """Return a copy of the new object that mutators may edit."""
        return _mapping(self._bytes()[0])


def _mapping(data: bytes | None) -> Draft:
    return msgspec.json.decode(data, type=dict[str, Any]) if data else {}


class PolicyOutcome(NamedTuple):
    """The verdict of one policy on one request."""

    policy: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a request: findings, warnings, and the patch of the mutators."""

    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()
    outcomes: tuple[PolicyOutcome, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.findings or not any(finding.fatal for finding in self.findings)

    @property
    def audit(self) -> dict[str, str]:
        """Annotations for the audit log: the policies with a verdict other than allow."""
        annotations: dict[str, str] = {}
        for policy, verdict in self.outcomes:
            if verdict != "allow":
                fields = ", ".join(
                    finding.field for finding in self.findings if finding.policy == policy
                )
                annotations[policy] = f"{verdict}: {fields}"[:1024] if fields else verdict
        return annotations


@dataclass(frozen=True, slots=True)
class Needs:
    """Live reads that the decision needs: the caller does each once and decides again."""

    live_reads: tuple[LiveRead, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """A number of machines that is limited by the permits or the maximum of a pool.

    The caller takes it by compare-and-swap on the pool's record, and completes the decision with
    the number it got; on dry-run it takes nothing.
    """

    pool: PoolKey
    deployment: str
    """The MachineDeployment that is scaled, or that owns the MachineSet."""
    uid: str
    """The MachineSet that is scaled; empty for the MachineDeployment itself."""
    old: int
    """The present number of replicas, 0 on creation."""
    size: int
    """The requested number of replicas."""
    version: str = ""
    """The resource version of the object that the write replaces."""
    policy: str = ""
    decision: Decision = Decision()
    """The decision on the rest of the request."""

    def complete(self, size: int) -> Decision:
        """Return the decision with the number of replicas that was granted."""
        decision = self.decision
        if size == self.size:
            return decision
        # `add` sets a member whether or not it exists.
        patch = {"op": "add", "path": "/spec/replicas", "value": size}
        outcomes = tuple(
            PolicyOutcome(self.policy, "mutate") if outcome.policy == self.policy else outcome
            for outcome in decision.outcomes
        )
        return Decision(decision.findings, decision.warnings, (*decision.patch, patch), outcomes)
