"""python -m webhook.apiserver: the API server as a process of its own."""

import argparse
import asyncio
import logging
import sys
from functools import partial
from pathlib import Path

from webhook.apiserver import stack
from webhook.apiserver.server import Options, serving
from webhook.apiserver.storage import HISTORY


def parse(arguments: list[str]) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m webhook.apiserver", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="where data and certificates live")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument(
        "--history", type=int, default=HISTORY, help="changes remembered for watches, per resource"
    )
    parser.add_argument(
        "--address",
        action="append",
        default=[],
        help="further names or addresses for the serving certificate",
    )
    parser.add_argument(
        "--service",
        action="append",
        default=[],
        metavar="NAMESPACE/NAME=HOST:PORT",
        help="where the webhook behind a Service listens",
    )
    given = parser.parse_args(arguments)
    services = dict(mapping.split("=", 1) for mapping in given.service)
    return Options(given.dir, given.host, given.port, given.history, tuple(given.address), services)


async def run(options: Options, stop: asyncio.Event) -> None:
    """Serve until someone ends it."""
    async with serving(options) as running:
        sys.stdout.write(f"ready {running.url} kubeconfig {running.kubeconfig}\n")
        sys.stdout.flush()
        await stop.wait()


def main() -> None:
    """Run the server."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    stack.run(partial(run, parse(sys.argv[1:])))


if __name__ == "__main__":
    main()
