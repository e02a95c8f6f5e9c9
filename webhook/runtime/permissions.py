"""Missing permissions: each is logged once and counted every time."""

import logging

from webhook.cluster.errors import ForbiddenError, Permission
from webhook.runtime.metrics import Metrics

logger = logging.getLogger(__name__)


def find_missing(error: BaseException | None) -> Permission | None:
    """Return the missing permission that caused an error, if there is one."""
    while error is not None:
        if isinstance(error, ForbiddenError):
            return error.missing_permission
        error = error.__cause__
    return None


def report_missing(metrics: Metrics, error: BaseException) -> bool:
    """Log and count the missing permission behind an error; False if there is none.

    The same permission is missing for every object and every attempt, so only the first error is
    logged as a warning.
    """
    permission = find_missing(error)
    if permission is None:
        return False
    level = logging.WARNING if metrics.count_missing(permission) else logging.DEBUG
    fields = {"permission": str(permission), "error": str(error)}
    logger.log(level, "a permission is missing: apply the manifests of this version", extra=fields)
    return True
