"""How long a server takes to stop, which the grace period of its pod must allow."""

from typing import Final

from webhook.runtime.leader_election import LeaseTiming
from webhook.server.listeners import IN_FLIGHT_SECONDS, PROBE_SECONDS

CHILD_STOP_SECONDS: Final = 5.0
"""How long a further process for node groups may take to stop."""
CALL_STOP_SECONDS: Final = 1.0
"""How long calls of autoscalers in progress may take."""
_SLACK_SECONDS: Final = 4.0
"""For what has no timeout of its own, such as the exit of the interpreter."""


def longest_stop(drain_longest: float, timing: LeaseTiming) -> float:
    """Return the seconds from a signal to the exit at most, in the order of `Program.run`."""
    node_groups = CHILD_STOP_SECONDS + CALL_STOP_SECONDS
    lease_release = timing.call_timeout
    requests = drain_longest + IN_FLIGHT_SECONDS + PROBE_SECONDS
    return node_groups + lease_release + requests + _SLACK_SECONDS
