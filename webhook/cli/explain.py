"""`espalier explain`: why the scheduler filters out each seed for a shoot, or its score."""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from webhook.api import names
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import APIService, ConfigMap
from webhook.api.decode import decode
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cli import connection
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.documents import read
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError
from webhook.cluster.requests import Selection
from webhook.domain.options import Options
from webhook.kube.meta import Object, ObjectKey
from webhook.scheduling import explain
from webhook.scheduling.explain import Explanation
from webhook.scheduling.seed_table import SeedTable
from webhook.settings import load
from webhook.settingsfile import SettingsError
from webhook.state.cluster_state import ClusterState
from webhook.state.snapshot import Snapshot

_UNUSABLE: Final = 2
_MODELS: Final[tuple[type[Object], ...]] = (
    Seed,
    Shoot,
    CloudProfile,
    NamespacedCloudProfile,
    ManagedSeed,
    Project,
)
_REQUIRED: Final = frozenset({Seed, Shoot, CloudProfile})


class UnexplainableError(Exception):
    """The shoot cannot be explained; the message states why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Place a shoot as the scheduler would, with the present objects of the cluster and your "
        "own permissions, and list every seed. With -f the shoot need not be in the cluster."
    )
    parser.add_argument("shoot", nargs="?", metavar="NAMESPACE/SHOOT", help="the shoot")
    parser.add_argument(
        "-f", "--filename", metavar="FILE", help="a Shoot manifest instead; - for stdin"
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    parser.add_argument("--config", metavar="FILE", help="the settings file of the server")
    connection.add_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation; 1 if no seed fits, 2 if the shoot cannot be explained."""
    try:
        found = asyncio.run(_explain(arguments))
    except (UnexplainableError, SettingsError, ConfigError) as error:
        print(error, file=sys.stderr)
        return _UNUSABLE
    except ApiError as error:
        print(f"the cluster cannot be read: {error}", file=sys.stderr)
        return _UNUSABLE
    if arguments.output == "json":
        print(json.dumps(explain.encode(found), indent=2))
    else:
        print(explain.to_text(found), end="")
    return 0 if found.seed is not None else 1


async def _explain(arguments: argparse.Namespace) -> Explanation:
    subject = _subject(arguments)
    options = load({"config": arguments.config} if arguments.config else {}).options()
    async with connection.connect(arguments) as client:
        snapshot = await _read_snapshot(client, options)
    shoot = subject if isinstance(subject, Shoot) else snapshot.get(Shoot, subject)
    if shoot is None:
        raise UnexplainableError(f"there is no shoot {subject}")
    return explain.explain(shoot, SeedTable(), snapshot)


def _subject(arguments: argparse.Namespace) -> Shoot | ObjectKey:
    if arguments.filename:
        return _read_manifest(arguments.filename)
    namespace, _, name = (arguments.shoot or "").partition("/")
    if not namespace or not name or "/" in name:
        raise UnexplainableError("name a shoot as NAMESPACE/SHOOT, or a manifest with -f")
    return ObjectKey(namespace, name)


def _read_manifest(filename: str) -> Shoot:
    try:
        text = sys.stdin.read() if filename == "-" else Path(filename).read_text(encoding="utf-8")
        documents = [found for found in yaml.safe_load_all(text) if found]
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise UnexplainableError(f"{filename} cannot be read: {error}") from error
    shoots = [found for found in documents if _is_shoot(found)]
    if len(shoots) != 1:
        raise UnexplainableError(f"{filename} must hold one Shoot, found {len(shoots)}")
    try:
        return decode(Shoot, msgspec.json.encode(shoots[0]))
    except (msgspec.MsgspecError, TypeError) as error:
        raise UnexplainableError(f"{filename} holds no valid Shoot: {error}") from error


def _is_shoot(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") == "Shoot"


async def _read_snapshot(client: Client, options: Options) -> Snapshot:
    """Read all objects that a placement depends on."""
    state = ClusterState((*_MODELS, ConfigMap, APIService), options=options)
    selections = [Selection(kind_of_model(model)) for model in _MODELS]
    tables = f"{names.REGION_CONFIG_PURPOSE}={names.REGION_CONFIG}"
    namespace = options.garden_namespace
    selections.append(Selection(kind_of_model(ConfigMap), namespace, labels=tables))
    with suppress(ApiError):
        beside = await connection.has_gardener(client)
        state.configure(replace(options, beside_gardener=beside))
    for selection in selections:
        try:
            async for document in _list(client, selection):
                found = read(selection.kind, document)
                state.observe(selection.kind.model, found.key, found.entry, found.version)
        except ForbiddenError as error:
            if selection.kind.model in _REQUIRED:
                raise
            print(f"note: decided without {selection.kind.plural}: {error}", file=sys.stderr)
    return Snapshot(state, datetime.now(UTC))


async def _list(client: Client, selection: Selection) -> AsyncIterator[msgspec.Raw]:
    try:
        async for page in client.pages(selection):
            for item in page.items:
                yield item
    except NotFoundError:
        return  # the kind is not served
