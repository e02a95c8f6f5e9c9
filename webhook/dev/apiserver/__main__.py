"""python -m webhook.dev.apiserver: runs the API server in its own process."""

import argparse
import asyncio
import logging
import sys
from functools import partial
from pathlib import Path

from webhook.dev.apiserver import bigstack
from webhook.dev.apiserver.server import Options, serving
from webhook.dev.apiserver.storage.store import HISTORY


def parse(arguments: list[str]) -> Options:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m webhook.dev.apiserver", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="folder of data and certificates")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument(
        "--history", type=int, default=HISTORY, help="changes kept per resource for watches"
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
    parser.add_argument(
        "--admission-control-config-file",
        type=Path,
        metavar="FILE",
        help="AdmissionConfiguration with client certificates for webhooks, as of kube-apiserver",
    )
    given = parser.parse_args(arguments)
    services = dict(mapping.split("=", 1) for mapping in given.service)
    return Options(
        given.dir,
        given.host,
        given.port,
        given.history,
        tuple(given.address),
        services,
        given.admission_control_config_file,
    )


async def run(options: Options, stop: asyncio.Event) -> None:
    """Serve until `stop` is set."""
    async with serving(options) as running:
        sys.stdout.write(f"ready {running.url} kubeconfig {running.kubeconfig}\n")
        sys.stdout.flush()
        await stop.wait()


def main() -> None:
    """Run the server."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    bigstack.run(partial(run, parse(sys.argv[1:])))


if __name__ == "__main__":
    main()
