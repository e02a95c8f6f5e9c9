"""A replica that schedules shoots, with a cache that lags behind the fake API server."""

from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.fake_api_server import FakeApiServer
from tests.support.fake_cluster import FakeCluster
from webhook.api.core import ConfigMap
from webhook.domain.options import Options
from webhook.kube.meta import Draft, Object
from webhook.placement import decision


class LaggingReplica(FakeCluster):
    """Watches what placement reads; of ConfigMaps only the tables of regions."""

    def __init__(self, server: FakeApiServer, clock: FakeClock, options: Options) -> None:
        models = decision.WATCHED_KINDS
        super().__init__(clock, *models, server=server, live=False, options=options)

    @override
    def selects(self, model: type[Object], body: Draft | None) -> bool:
        labels = (body or {}).get("metadata", {}).get("labels") or {}
        return model is not ConfigMap or "scheduling.gardener.cloud/purpose" in labels
