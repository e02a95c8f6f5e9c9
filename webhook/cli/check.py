"""`espalier check`: judge manifests offline with the policies of the server."""

import argparse
import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from webhook import settings
from webhook.admission.table import POLICIES
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Object
from webhook.api.projects import CredentialsBinding, Project, Quota, SecretBinding
from webhook.cli.checking import judging, manifests, reports
from webhook.cli.checking.manifests import Manifest, ManifestError
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import Selection
from webhook.settingsfile import SettingsError

NAME: Final = "check"
HELP: Final = "judge manifests offline with the policies of the server"
_REFUSED: Final = 1
_UNUSABLE: Final = 2
_READ: Final[tuple[type[Object], ...]] = (
    *(CloudProfile, NamespacedCloudProfile, Project, Quota, SecretBinding, CredentialsBinding),
)
_WRITERS: Final = {"text": reports.text, "json": reports.as_json, "sarif": reports.sarif}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Judge manifests as the webhooks would. Without PATH, --cluster lists what is stored and "
        "would be refused today. Exit code 1 means that something is refused."
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders")
    against = parser.add_mutually_exclusive_group()
    against.add_argument(
        "--against", type=Path, metavar="DIR", help="manifests of what is stored already"
    )
    against.add_argument(
        "--cluster", action="store_true", help="what the cluster of the kubeconfig has stored"
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="with --cluster: which cluster")
    parser.add_argument("--context", metavar="NAME", help="with --cluster: the context to use")
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the server's settings, for the modes of policies, exceptions and other choices "
        "[ESPALIER_CONFIG]",
    )
    parser.add_argument(
        "-o", "--output", choices=tuple(_WRITERS), default="text", help="default: %(default)s"
    )


def run(args: argparse.Namespace) -> int:
    """Print every objection; 1 if one of them is a refusal, 2 if nothing could be judged."""
    if not args.paths and not args.cluster:
        return _fail("name files or folders to judge, or --cluster for what is stored")
    try:
        options = settings.load({"config": args.config} if args.config else {}).options()
        wanted = [*manifests.load(args.paths)]
        stored = [*manifests.load([args.against])] if args.against else []
        if args.cluster:
            stored = asyncio.run(_from_cluster(args))
    except (SettingsError, ManifestError, config.ConfigError, ApiError, OSError) as error:
        return _fail(str(error))
    if not args.paths:
        # As if created anew: an old violation would only be warned about.
        wanted, stored = stored, []
    found = [*judging.judge(wanted, stored, datetime.now(UTC), options)]
    written = _WRITERS[args.output](found)
    if written:
        print(written)
    refused = sum(objection.finding.fatal for objection in found)
    print(
        f"{len(wanted)} objects judged: {refused} refusals, {len(found) - refused} warnings",
        file=sys.stderr,
    )
    return _REFUSED if refused else 0


async def _from_cluster(args: argparse.Namespace) -> list[Manifest]:
    access = await config.load(args.kubeconfig or None, args.context or None)
    judged: list[type[Object]] = [model for row in POLICIES for model in row.models]
    models = dict.fromkeys((*judged, *_READ))
    found = []
    async with Client(access) as client:
        for kind in map(kind_of_model, models):
            token = ""
            while True:
                try:
                    page = await client.page(Selection(kind), token)
                except NotFoundError:
                    break  # a kind that is not served has no objects
                for item in page.items:
                    raw = json.loads(bytes(item))
                    raw |= {"apiVersion": kind.api_version, "kind": kind.name}
                    found.append(Manifest(client.server, kind, raw))
                token = page.token
                if not token:
                    break
    return found


def _fail(message: str) -> int:
    print(f"espalier check: {message}", file=sys.stderr)
    return _UNUSABLE
