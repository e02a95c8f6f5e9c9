"""Read lists from the API server where memory is not enough."""

from typing import TypeVar

from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import Object
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.domain.groups import Member, members_of

T = TypeVar("T", bound=Object)


async def live_members(client: Client, deployment: MachineDeployment) -> tuple[Member, ...]:
    """List a zone's machines as the API server has them now."""
    sets = {
        each.uid
        for each in await live_list(client, MachineSet, deployment.namespace)
        if each.controller is not None and each.controller.uid == deployment.uid
    }
    machines = [
        each
        for each in await live_list(client, Machine, deployment.namespace)
        if each.controller is not None and each.controller.uid in sets
    ]
    return members_of(deployment, machines)


async def live_list(client: Client, model: type[T], namespace: str) -> list[T]:
    """List the objects of a kind in a namespace, all pages of it."""
    selection = Selection(kind_of_model(model), namespace)
    found: list[T] = []
    token = ""
    while True:
        page = await client.page(selection, token)
        found += [decode(model, item) for item in page.items]
        token = page.token
        if not token:
            return found
