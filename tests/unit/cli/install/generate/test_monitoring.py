import json
import re

import pytest

from tests.support.fake_cache import FakeCache
from webhook.cli.install.generate import alerts, dashboard
from webhook.cli.install.layout import Layout
from webhook.controllers.managedseedset.collector import ManagedSeedSetCollector
from webhook.controllers.scheduledscaling.collector import ScheduledScalingCollector
from webhook.controllers.seedautoscaler.collector import SeedAutoscalerCollector
from webhook.runtime.metrics import CacheCollector, Metrics


class Unsynced(FakeCache):
    def statuses(self):
        return ()


def exported() -> set[str]:
    metrics = Metrics()
    metrics.registry.register(CacheCollector(Unsynced(synced=False)))
    metrics.registry.register(ManagedSeedSetCollector(Unsynced(synced=False)))
    metrics.registry.register(SeedAutoscalerCollector(Unsynced(synced=False)))
    metrics.registry.register(ScheduledScalingCollector(Unsynced(synced=False)))
    names = set()
    for family in metrics.registry.collect():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
        names |= {family.name + suffix for suffix in suffixes.get(family.type, [""])}
    return names


QUERIES = [
    *(pytest.param(alert.expression, id=alert.name) for alert in alerts.ALERTS),
    *(pytest.param(panel.query, id=panel.title) for _, row in dashboard.ROWS for panel in row),
]


@pytest.mark.parametrize("query", QUERIES)
def test_queries_use_exported_metrics(query: str):
    assert set(re.findall(r"espalier_[a-z_]+", query)) <= exported()
    assert query.count("(") == query.count(")")


@pytest.mark.parametrize("alert", alerts.ALERTS, ids=lambda alert: alert.name)
def test_every_alert_has_a_remedy(alert: alerts.Alert):
    assert alert.remedy
    assert alert.severity in {"info", "warning", "critical"}


def test_panels_do_not_overlap():
    places = [panel["gridPos"] for panel in dashboard.dashboard()["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    ids = [panel["id"] for panel in dashboard.dashboard()["panels"]]
    assert len(ids) == len(set(ids))


def test_the_config_map_holds_the_dashboard():
    data = dashboard.config_map(Layout())["data"]
    assert json.loads(data["espalier.json"]) == dashboard.dashboard()
