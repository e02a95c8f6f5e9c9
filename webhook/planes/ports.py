"""Choose loopback ports for servers that must be told theirs before they start."""

import random
import socket
from pathlib import Path

_LOWEST = 20_000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")

_given: set[int] = set()


def free_port() -> int:
    """Choose a port that nobody listens on and that this process was not given before.

    It lies below the range from which the system takes the ports of outgoing connections, where
    there is such room: a server that is stopped and started again must find its port still free.
    """
    room = range(_LOWEST, _first_ephemeral())
    for port in random.sample(room, k=min(len(room), 200)):
        if port not in _given and _is_free(port):
            _given.add(port)
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        chosen: int = probe.getsockname()[1]
    return chosen


def _first_ephemeral() -> int:
    try:
        return max(int(_EPHEMERAL.read_text().split()[0]), _LOWEST)
    except (OSError, ValueError, IndexError):
        return 32_768


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
