"""The cluster that a command works on: its flags, the client, and whether it has a Gardener."""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from webhook.api.core import APIService
from webhook.api.kinds import kind_of_model
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.discovery import GARDENER_API
from webhook.cluster.errors import NotFoundError
from webhook.kube.meta import ObjectKey

_GARDENER: Final = ObjectKey("", GARDENER_API)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare --kubeconfig and --context."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig file to use")
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig to use")


@asynccontextmanager
async def connect(args: argparse.Namespace) -> AsyncIterator[Client]:
    """Open a client of the chosen cluster; raises ConfigError if there is no kubeconfig."""
    async with Client(await config.load(args.kubeconfig or None, args.context or None)) as client:
        yield client


async def has_gardener(client: Client) -> bool:
    """Return whether an aggregated API server serves Gardener's kinds."""
    try:
        found = await client.get(kind_of_model(APIService), _GARDENER)
    except NotFoundError:
        return False
    return bool((found.get("spec") or {}).get("service"))
