"""`espalier check`: validates manifests offline with the policies of the server."""

import argparse
import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from webhook import settings
from webhook.admission.table import POLICIES
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.kinds import kind_of_model
from webhook.api.projects import CredentialsBinding, Project, Quota, SecretBinding
from webhook.cli import connection, manifestfiles
from webhook.cli.check import evaluation, reports
from webhook.cli.manifestfiles import Manifest, ManifestError
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import Selection
from webhook.kube.meta import Object
from webhook.settingsfile import SettingsError

_REFUSED: Final = 1
_UNUSABLE: Final = 2
_READ: Final[tuple[type[Object], ...]] = (
    *(CloudProfile, NamespacedCloudProfile, Project, Quota, SecretBinding, CredentialsBinding),
)
_WRITERS: Final = {"text": reports.as_text, "json": reports.as_json, "sarif": reports.as_sarif}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Validate manifests as the webhooks would. Without PATH, --cluster validates the stored "
        "objects. Exit code 1 means that something is refused."
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders")
    against = parser.add_mutually_exclusive_group()
    against.add_argument(
        "--against", type=Path, metavar="DIR", help="manifests of the stored objects"
    )
    against.add_argument(
        "--cluster", action="store_true", help="take the stored objects from a cluster"
    )
    connection.add_flags(parser)
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the settings file of the server, with modes of policies and exceptions "
        "[ESPALIER_CONFIG]",
    )
    parser.add_argument(
        "-o", "--output", choices=tuple(_WRITERS), default="text", help="default: %(default)s"
    )


def run(args: argparse.Namespace) -> int:
    """Print all findings; 1 if one is a refusal, 2 if the input cannot be read."""
    if not args.paths and not args.cluster:
        return _fail("name files or folders, or use --cluster for the stored objects")
    try:
        options = settings.load({"config": args.config} if args.config else {}).options()
        wanted = [*manifestfiles.load(args.paths)]
        stored = [*manifestfiles.load([args.against])] if args.against else []
        if args.cluster:
            stored = asyncio.run(_from_cluster(args))
    except (SettingsError, ManifestError, ConfigError, ApiError, OSError) as error:
        return _fail(str(error))
    if not args.paths:
        # As creations: in an update, a violation that is stored already is only a warning.
        wanted, stored = stored, []
    found = asyncio.run(evaluation.evaluate(wanted, stored, datetime.now(UTC), options))
    written = _WRITERS[args.output](found)
    if written:
        print(written)
    refused = sum(each.finding.fatal for each in found)
    print(
        f"{len(wanted)} objects checked: {refused} refusals, {len(found) - refused} warnings",
        file=sys.stderr,
    )
    return _REFUSED if refused else 0


async def _from_cluster(args: argparse.Namespace) -> list[Manifest]:
    validated: list[type[Object]] = [model for policy in POLICIES for model in policy.models]
    models = dict.fromkeys((*validated, *_READ))
    found = []
    async with connection.connect(args) as client:
        for kind in map(kind_of_model, models):
            try:
                listed = await client.list(Selection(kind))
            except NotFoundError:
                continue  # the kind is not served
            for raw in listed:
                raw |= {"apiVersion": kind.api_version, "kind": kind.name}
                found.append(Manifest(client.server, kind, raw))
    return found


def _fail(message: str) -> int:
    print(f"espalier check: {message}", file=sys.stderr)
    return _UNUSABLE
