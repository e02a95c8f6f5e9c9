"""The record of a leader election in a Lease, and the lock that candidates compete for."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

from webhook.kube.meta import Draft, Raw


class LockError(Exception):
    """The Lease could not be read or written; the result of a write is unknown."""


class LockTakenError(LockError):
    """Another replica changed the Lease since it was read."""


class Lock(Protocol):
    """The one Lease that candidates compete for."""

    async def read(self) -> Raw | None:
        """Read the Lease; None if it does not exist."""

    async def create(self, spec: Draft) -> Raw:
        """Create the Lease with this spec; raises LockTakenError if it exists."""

    async def replace(self, lease: Draft) -> Raw:
        """Replace the Lease; raises LockTakenError unless its resourceVersion is current."""


@dataclass(frozen=True, slots=True)
class LeaderElectionRecord:
    """The fields of a Lease spec that the election uses."""

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
        """Encode the record as a Lease spec."""
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }

    def on(self, lease: Raw) -> Draft:
        """Return a Lease with this record and all its other fields unchanged."""
        return {**lease, "spec": {**(lease.get("spec") or {}), **self.encode()}}
