"""The typed keys of what an application holds for its handlers."""

from typing import Final

from aiohttp import web

from webhook.runtime.health import Checks
from webhook.runtime.metrics import Metrics
from webhook.server.traffic import Traffic

LIVE: Final = web.AppKey("live", Checks)
READY: Final = web.AppKey("ready", Checks)
METRICS: Final = web.AppKey("metrics", Metrics)
TRAFFIC: Final = web.AppKey("traffic", Traffic)
