"""Waits until no server leads any more: a leader would write again what is removed."""

import asyncio
from collections.abc import Callable

from webhook.api.core import Lease
from webhook.api.kinds import kind_of_model
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError, UnavailableError
from webhook.kube.meta import ObjectKey, Raw


class LeaseObserver:
    """Observes a Lease by the local clock: a holder that does not renew it in time is gone."""

    def __init__(self) -> None:
        self._record = ("", "")
        self._since = 0.0

    def leader(self, lease: Raw, now: float) -> str:
        """Return the holder of a valid Lease; empty if it has none or has expired."""
        spec = lease.get("spec") or {}
        record = (spec.get("holderIdentity") or "", spec.get("renewTime") or "")
        if record != self._record:
            self._record, self._since = record, now
        is_expired = now - self._since >= (spec.get("leaseDurationSeconds") or 0)
        return "" if is_expired else record[0]


async def wait_until_lease_expires(
    client: Client, key: ObjectKey, report: Callable[[str], None], timeout: float
) -> list[str]:
    """Poll a Lease until it is free; return a problem if it is not in time."""
    observer, leader, last_error = LeaseObserver(), "", ""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout
    while loop.time() < end:
        try:
            lease = await client.get(kind_of_model(Lease), key)
        except NotFoundError:
            return []
        except UnavailableError as error:
            last_error = str(error)
            await asyncio.sleep(0.5)
            continue
        found = observer.leader(lease, loop.time())
        if not found:
            return []
        if found != leader:
            leader = found
            report(f"waiting until {leader} no longer leads")
        await asyncio.sleep(0.5)
    if not leader:
        return [f"the leader is not known, run this again: {last_error}"]
    remedy = "stop that server and run this again"
    return [f"{leader} still leads and may write again what was removed: {remedy}"]
