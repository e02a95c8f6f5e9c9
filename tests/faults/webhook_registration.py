"""Whether an API server calls our webhooks: it then refuses what we refuse."""

from tests.support.builders import make_shoot, make_worker
from tests.support.waits import eventually
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, InvalidError
from webhook.kube.meta import ObjectKey

BAD = make_shoot("bad", "default", workers=[make_worker(zones="abc", maximum=1)])


async def until_registered(api: Client) -> None:
    """Wait until the leader has created the configurations and the API server uses them."""

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
