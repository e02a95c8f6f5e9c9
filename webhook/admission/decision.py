"""The words of admission: requests, findings and decisions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET

from webhook.api import decode
from webhook.api.kinds import Kind
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.domain.pools import PoolKey
from webhook.state.questions import Question

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
"""Refused by the state of the landscape or by who asks, not by what the object says."""

UNREADABLE: Final = (
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
)
"""What decoding hostile bytes may raise; msgspec's ValidationError is a DecodeError."""


class UserInfo(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Who sent the request."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class Finding(NamedTuple):
    """One objection to one field; not fatal, it is a warning."""

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

    def softened(self) -> Self:
        """Return the same objection as a warning."""
        return self._replace(fatal=False)


Pair: TypeAlias = tuple[bytes | None, bytes | None]
"""The bytes of the object that shall be stored, and of the one that is."""


class Read(NamedTuple):
    """Objects that were read together with their review, whose bytes are cut out if wanted."""

    new: Object | None
    old: Object | None
    cut: Callable[[], Pair]


class Request:
    """One operation on one object, decoded as far as somebody reads it."""

    __slots__ = (
        "_cut", "_new", "_new_bytes", "_new_raw", "_old", "_old_bytes", "_old_is_readable",
        "_old_raw", "dry_run", "has_object", "is_sound", "key", "kind", "operation", "subresource",
        "uid", "user",
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
        read: Read | None = None,
    ) -> None:
        self.uid = uid
        self.kind = kind
        self.operation = operation
        self.key = key
        self.subresource = subresource
        self.user = user
        self.dry_run = dry_run
        self._new_bytes = new
        self._old_bytes = old
        self._old_is_readable = old is not None
        self._new: Object | None = None
        self._old: Object | None = None
        self._new_raw: Raw | None = None
        self._old_raw: Raw | None = None
        self._cut: Callable[[], Pair] | None = None
        self.has_object = new is not None
        self.is_sound = read is not None
        """Whether the shape of the objects was judged already, and nothing found."""
        if read is not None:
            self._new, self._old, self._cut = read
            self.has_object = read.new is not None

    @property
    def object_bytes(self) -> bytes | None:
        return self._bytes()[0]

    def _bytes(self) -> Pair:
        if self._cut is not None:
            self._new_bytes, self._old_bytes = self._cut()
            self._cut = None
        return self._new_bytes, self._old_bytes

    def object_as(self, model: type[M]) -> M:
        """Read the object that shall be stored; raises one of UNREADABLE if it does not decode."""
        found = self._new
        if found is None:
            found = self._new = decode.decode(model, self._bytes()[0] or b"{}")
        return found  # type: ignore[return-value]  # a request has one kind, hence one model

    def old_as(self, model: type[M]) -> M | None:
        """Read the stored object; None where there is none, or none that can be read.

        Whoever mends an object that was stored before its rules existed must get through.
        """
        if self._old is None and self._old_is_readable:
            try:
                self._old = decode.decode(model, self._old_bytes or b"")
            except UNREADABLE:
                self._old_is_readable = False
        return self._old  # type: ignore[return-value]  # as above

    def raw(self) -> Raw:
        """Read the object with every field, known or not."""
        if self._new_raw is None:
            self._new_raw = _mapping(self._bytes()[0])
        return self._new_raw

    def old_raw(self) -> Raw | None:
        """Read the stored object with every field; None where there is none that can be read."""
        if self._old_raw is None and (old := self._bytes()[1]) is not None:
            try:
                self._old_raw = _mapping(old)
            except UNREADABLE:
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
        """Give a copy of the object that mutators may edit."""
        return _mapping(self._bytes()[0])


def _mapping(data: bytes | None) -> Draft:
    return msgspec.json.decode(data, type=dict[str, Any]) if data else {}


class Outcome(NamedTuple):
    """What one policy said to one request."""

    policy: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a request: objections, warnings, and the patch that mutators ask for."""

    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @property
    def allowed(self) -> bool:
        return not self.findings or not any(finding.fatal for finding in self.findings)

    @property
    def audit(self) -> dict[str, str]:
        """Annotations for the audit log: the policies that said anything, and what."""
        said: dict[str, str] = {}
        for policy, verdict in self.outcomes:
            if verdict != "allow":
                fields = ", ".join(
                    finding.field for finding in self.findings if finding.policy == policy
                )
                said[policy] = f"{verdict}: {fields}"[:1024] if fields else verdict
        return said


@dataclass(frozen=True, slots=True)
class Needs:
    """What the snapshot lacks: the edge finds it out, each thing once, and asks again."""

    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """A number of machines that may be had only as far as a pool's permits or its maximum go.

    The edge takes it by compare-and-swap on the pool's record, and finishes the decision with what
    it got; on dry-run it takes nothing.
    """

    pool: PoolKey
    deployment: str
    """The MachineDeployment whose replicas are meant, or whose set is."""
    uid: str
    """The MachineSet whose size is meant; empty for the MachineDeployment itself."""
    old: int
    """What there is now, 0 for what is being made."""
    size: int
    """What is asked for."""
    version: str = ""
    """The version of the object that the write replaces."""
    policy: str = ""
    besides: Decision = Decision()
    """What else was decided about the same request."""

    def given(self, size: int) -> Decision:
        """Finish the decision with what was got, which may be less than was asked for."""
        decided = self.besides
        if size == self.size:
            return decided
        # `add` sets a member whether or not it is there.
        patch = {"op": "add", "path": "/spec/replicas", "value": size}
        outcomes = tuple(
            Outcome(self.policy, "mutate") if outcome.policy == self.policy else outcome
            for outcome in decided.outcomes
        )
        return Decision(decided.findings, decided.warnings, (*decided.patch, patch), outcomes)
