"""Chooses free loopback ports for servers that need a port before they start."""

import random
import socket
from typing import Final

_RANGE: Final = range(20_000, 32_768)
"""Below the ports of outgoing connections, so that a restarted server finds its port free."""
_TRIES: Final = 500

_given: set[int] = set()
"""The ports that this process has handed out."""


def free_port() -> int:
    """Return a port that is free and that was not returned before."""
    for port in random.sample(_RANGE, k=_TRIES):
        if port not in _given and _is_free(port):
            _given.add(port)
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        chosen: int = probe.getsockname()[1]
    return chosen


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
