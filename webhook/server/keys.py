"""What an application carries for its handlers, each under a key that knows its type."""

from typing import Final

from aiohttp import web

from webhook.runtime.health import Checks
from webhook.runtime.metrics import Metrics
from webhook.server.traffic import Traffic

LIVE: Final = web.AppKey("live", Checks)
READY: Final = web.AppKey("ready", Checks)
METRICS: Final = web.AppKey("metrics", Metrics)
TRAFFIC: Final = web.AppKey("traffic", Traffic)
ADMISSION_AUTHORITIES: Final = web.AppKey("admission_authorities", bytes)
"""If there are any, reviews are taken only from clients with a certificate of one of them."""
