"""What a Lease says: who holds it, for how long, since when; in the API's own spelling."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

from webhook.api.meta import Draft, Raw

API_VERSION = "coordination.k8s.io/v1"


class LockError(Exception):
    """The lease could not be read or written; nothing is known about what happened."""


class LockTakenError(LockError):
    """The lease was changed by someone else since we read it."""


class Lock(Protocol):
    """The one Lease that candidates compete for."""

    async def read(self) -> Raw | None:
        """Fetch the Lease; None if there is none."""

    async def create(self, spec: Draft) -> Raw:
        """Create the Lease with this spec; LockTakenError if there is one."""

    async def replace(self, lease: Draft) -> Raw:
        """Write the whole Lease back; LockTakenError unless its resourceVersion is current."""


@dataclass(frozen=True, slots=True)
class Record:
    """The spec of a Lease, as far as an election reads it."""

    holder: str = ""
    duration: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0

    @classmethod
    def decode(cls, lease: Raw) -> Self:
        spec: dict[str, Any] = lease.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            duration=spec.get("leaseDurationSeconds") or 0,
            acquired=spec.get("acquireTime") or "",
            renewed=spec.get("renewTime") or "",
            transitions=spec.get("leaseTransitions") or 0,
        )

    def encode(self) -> Draft:
        """Spell the record as a Lease spec."""
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }

    def on(self, lease: Raw) -> Draft:
        """Put the record into a Lease, and leave all else that the Lease says."""
        return {**lease, "spec": {**(lease.get("spec") or {}), **self.encode()}}
