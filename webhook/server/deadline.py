"""The deadline of a request, from the timeout in its query."""

import re
from functools import lru_cache
from typing import Final

from webhook.kube.durations import parse_seconds

MAX_SECONDS: Final = 30.0
DEFAULT_SECONDS: Final = 10.0
"""The default timeout of Kubernetes' webhooks."""

_TIMEOUT: Final = re.compile(r"(?:^|&)timeout=([^&]*)")


@lru_cache(maxsize=256)
def time_budget(query: str) -> float:
    """Return the seconds for a response; a timeout that cannot be parsed counts as absent.

    API servers send the rest of their own deadline, rounded up to whole seconds. A tenth of it, at
    most a quarter of a second, is reserved for the transfer of the response.
    """
    found = _TIMEOUT.search(query)
    seconds = parse_seconds(found.group(1)) if found else None
    if seconds is None or seconds <= 0:
        seconds = DEFAULT_SECONDS
    seconds = min(seconds, MAX_SECONDS)
    return seconds - min(0.25, seconds / 10)
