"""`espalier explain`: why each seed is refused, or what it scores, for one shoot."""

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
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
from webhook.api.meta import Object, ObjectKey
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.documents import read
from webhook.cluster.errors import ApiError, ForbiddenError, NotFoundError
from webhook.cluster.requests import Selection
from webhook.domain.options import Options
from webhook.scheduling import explain
from webhook.scheduling.explain import Explanation
from webhook.scheduling.landscape import Landscape
from webhook.settings import load
from webhook.settingsfile import SettingsError
from webhook.state.memory import Memory
from webhook.state.snapshot import Snapshot

NAME: Final = "explain"
HELP: Final = "say why each seed is refused, or what it scores, for a shoot"

_UNUSABLE: Final = 2
_MODELS: Final[tuple[type[Object], ...]] = (
    Seed,
    Shoot,
    CloudProfile,
    NamespacedCloudProfile,
    ManagedSeed,
    Project,
)
_NEEDED: Final = frozenset({Seed, Shoot, CloudProfile})
_GARDENER: Final = ObjectKey("", "v1beta1.core.gardener.cloud")


class UnexplainableError(Exception):
    """What was asked cannot be answered; the message says why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = (
        "Decide about a shoot as the scheduler would, from what the cluster holds now and with "
        "your own rights, and tell about every seed. With -f the shoot need not be in the cluster."
    )
    parser.add_argument("shoot", nargs="?", metavar="NAMESPACE/SHOOT", help="the shoot")
    parser.add_argument(
        "-f", "--filename", metavar="FILE", help="a Shoot manifest instead; - reads from stdin"
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    parser.add_argument("--config", metavar="FILE", help="the settings that the server runs with")
    parser.add_argument("--kubeconfig", metavar="FILE", help="the cluster to look at")
    parser.add_argument("--context", metavar="NAME", help="the kubeconfig's context to use")


def run(arguments: argparse.Namespace) -> int:
    """Explain; 1 if no seed fits, 2 if it cannot be told."""
    try:
        found = asyncio.run(_explain(arguments))
    except (UnexplainableError, SettingsError, config.ConfigError) as error:
        print(error, file=sys.stderr)
        return _UNUSABLE
    except ApiError as error:
        print(f"the cluster cannot be asked: {error}", file=sys.stderr)
        return _UNUSABLE
    if arguments.output == "json":
        print(json.dumps(explain.encode(found), indent=2))
    else:
        print(explain.to_text(found), end="")
    return 0 if found.seed is not None else 1


async def _explain(arguments: argparse.Namespace) -> Explanation:
    subject = _subject(arguments)
    options = load({"config": arguments.config} if arguments.config else {}).options()
    access = await config.load(arguments.kubeconfig, arguments.context)
    async with Client(access) as client:
        snapshot = await gather(client, options)
    shoot = subject if isinstance(subject, Shoot) else snapshot.get(Shoot, subject)
    if shoot is None:
        raise UnexplainableError(f"there is no shoot {subject}")
    return explain.explain(shoot, Landscape(), snapshot)


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


async def gather(client: Client, options: Options) -> Snapshot:
    """Read all that a decision looks at, once, as the API server has it."""
    memory = Memory((*_MODELS, ConfigMap, APIService), options=options)
    selections = [Selection(kind_of_model(model)) for model in _MODELS]
    tables = f"{names.REGION_CONFIG_PURPOSE}={names.REGION_CONFIG}"
    namespace = options.scheduling.garden_namespace
    selections.append(Selection(kind_of_model(ConfigMap), namespace, labels=tables))
    await _find_gardener(client, memory)
    for selection in selections:
        try:
            async for document in _list(client, selection):
                found = read(selection.kind, document)
                memory.observe(selection.kind.model, found.key, found.entry, found.version)
        except ForbiddenError as error:
            if selection.kind.model in _NEEDED:
                raise
            print(f"note: judged without {selection.kind.plural}: {error}", file=sys.stderr)
    return Snapshot(memory, datetime.now(UTC))


async def _find_gardener(client: Client, memory: Memory) -> None:
    try:
        raw = await client.get(kind_of_model(APIService), _GARDENER)
    except ApiError:
        return
    beside = bool((raw.get("spec") or {}).get("service"))
    memory.configure(replace(memory.options, beside_gardener=beside))


async def _list(client: Client, selection: Selection) -> AsyncIterator[msgspec.Raw]:
    token = ""
    while True:
        try:
            page = await client.page(selection, token)
        except NotFoundError:
            return  # a kind that is not served has no objects
        for item in page.items:
            yield item
        if not page.token:
            return
        token = page.token
