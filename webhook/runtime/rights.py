"""Name a right that we lack, once, however often it is missed."""

import logging

from webhook.cluster.errors import ForbiddenError, Right
from webhook.runtime.metrics import Metrics

logger = logging.getLogger(__name__)


def missing(error: BaseException | None) -> Right | None:
    """Find the right whose lack is behind an error, if that is what it comes from."""
    while error is not None:
        if isinstance(error, ForbiddenError):
            return error.missing
        error = error.__cause__
    return None


def complain(metrics: Metrics, error: BaseException) -> bool:
    """Tell what an error says of our rights; False if it is about something else.

    A missing right is missed at every object and every attempt: only the first time is worth a
    line, the rest is counted.
    """
    right = missing(error)
    if right is None:
        return False
    level = logging.WARNING if metrics.miss(right) else logging.DEBUG
    fields = {"right": str(right), "error": str(error)}
    logger.log(level, "a right is missing: what needs it waits, apply the manifests", extra=fields)
    return True
