"""Wait until nobody leads any more: a leader would write again what is taken off."""

import asyncio
from collections.abc import Callable

from webhook.api.core import Lease
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey, Raw
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError, UnavailableError


class Onlooker:
    """Follows a lease by a clock of its own: whose record stays the same for too long is gone."""

    def __init__(self) -> None:
        self._record = ("", "")
        self._since = 0.0

    def leader(self, lease: Raw, now: float) -> str:
        """Name who leads by what the lease says at a moment; empty if nobody does."""
        spec = lease.get("spec") or {}
        record = (spec.get("holderIdentity") or "", spec.get("renewTime") or "")
        if record != self._record:
            self._record, self._since = record, now
        is_over = now - self._since >= (spec.get("leaseDurationSeconds") or 0)
        return "" if is_over else record[0]


async def wait_until_nobody_leads(
    client: Client, key: ObjectKey, say: Callable[[str], None], patience: float
) -> list[str]:
    """Follow a lease until it is free; return what is to be done if it never is."""
    onlooker, leader, silence = Onlooker(), "", ""
    loop = asyncio.get_running_loop()
    end = loop.time() + patience
    while loop.time() < end:
        try:
            lease = await client.get(kind_of_model(Lease), key)
        except NotFoundError:
            return []
        except UnavailableError as error:
            silence = str(error)
            await asyncio.sleep(0.5)
            continue
        found = onlooker.leader(lease, loop.time())
        if not found:
            return []
        if found != leader:
            leader = found
            say(f"waiting until {leader} no longer leads")
        await asyncio.sleep(0.5)
    if not leader:
        return [f"nobody could tell who leads, run this again: {silence}"]
    remedy = "stop that server and run this again"
    return [f"{leader} leads on and may write again what was taken off: {remedy}"]
