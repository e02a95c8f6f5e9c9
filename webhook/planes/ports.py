"""Choose loopback ports for servers that must be told theirs before they start."""

import random
import socket

# Below what Linux and the others take for outgoing connections: a server that is stopped and
# started again must find its port still free.
_ROOM = range(20_000, 32_768)
_TRIES = 500

_given: set[int] = set()


def free_port() -> int:
    """Choose a port that nobody listens on and that this process was not given before."""
    for port in random.sample(_ROOM, k=_TRIES):
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
