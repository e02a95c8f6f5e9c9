"""Knowing that an API server calls our webhooks: it refuses what we refuse."""

from tests.builders import make_shoot, make_worker
from tests.waiting import eventually
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, InvalidError

BAD = make_shoot("bad", "default", workers=[make_worker(zones="abc", maximum=1)])


async def until_registered(api: Client) -> None:
    """Wait until the leader has made the configurations and the API server heeds them."""

    async def heeds() -> bool:
        try:
            await api.create(
                kind_of_model(Shoot), ObjectKey("default", ""), BAD, query={"dryRun": "All"}
            )
        except InvalidError:
            return True
        except ApiError:
            return False
        return False

    await eventually(heeds, 120)
