"""`espalier manifests`: everything to install, or to take away again."""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from webhook.api.crds import definable
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import Tortoise
from webhook.cli.install import bundle, tortoise, webhooks
from webhook.cli.install.layout import Layout
from webhook.cli.install.uninstall import StillNeededError, Uninstall
from webhook.cluster import config, landscape, remembrance
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError
from webhook.cluster.landscape import Landscape
from webhook.settings import callable_url

NAME: Final = "manifests"
HELP: Final = "print everything to install, for kubectl apply -f -"
_DESCRIPTION: Final = """\
Print the objects that install Espalier. Without --standalone or --beside-gardener the cluster
of the kubeconfig is asked whether a Gardener is there and which kinds somebody else serves.
"""
_UNUSABLE: Final = 2

T = TypeVar("T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = _DESCRIPTION
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--standalone", action="store_true", help="there is no Gardener: define all kinds"
    )
    where.add_argument(
        "--beside-gardener", action="store_true", help="there is one: define only our own kinds"
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="the cluster to ask, or to leave")
    parser.add_argument("--context", metavar="NAME", help="the kubeconfig's context to use")
    parser.add_argument(
        "--part",
        choices=("garden", "runtime", "all"),
        default="all",
        help="for a virtual garden that runs no pods: what goes there, or what runs elsewhere",
    )
    parser.add_argument("--namespace", default=Layout().namespace, help="default: %(default)s")
    parser.add_argument(
        "--garden-namespace", default=Layout().garden_namespace, help="default: %(default)s"
    )
    parser.add_argument("--image", default=Layout().image, help="default: %(default)s")
    parser.add_argument("--replicas", type=int, default=Layout().replicas, metavar="N")
    parser.add_argument(
        "--advertise-url", default="", metavar="URL", help="the server runs outside, at this URL"
    )
    parser.add_argument(
        "--monitoring", action="store_true", help="add PrometheusRule, ServiceMonitor, dashboard"
    )
    parser.add_argument(
        "--webhooks",
        action="store_true",
        help="print only the webhook configurations that the leader will make",
    )
    parser.add_argument("--write", type=Path, metavar="DIR", help="write files for kustomize")
    parser.add_argument(
        "--tortoise-crd-patch",
        action="store_true",
        help="print the patch that gives Tortoise's definition the fields of scheduled scaling",
    )
    leave = parser.add_argument_group("leaving")
    leave.add_argument(
        "--uninstall", action="store_true", help="remove webhooks, then all that we wrote"
    )
    leave.add_argument(
        "--crds", action="store_true", help="with --uninstall: our definitions and their objects"
    )
    leave.add_argument(
        "--force", action="store_true", help="with --uninstall: even if shoots wait for us"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print, write or remove; 2 if the cluster cannot be asked."""
    if complaint := _contradiction(arguments):
        return _fail(complaint)
    try:
        if arguments.uninstall:
            return asyncio.run(_uninstall(arguments))
        if arguments.tortoise_crd_patch:
            return _print_tortoise_patch(arguments)
        return _install(arguments)
    except (config.ConfigError, ApiError, tortoise.NoSuchVersionError, OSError) as error:
        return _fail(str(error))


def _contradiction(arguments: argparse.Namespace) -> str:
    """Name flags that would do nothing, or harm, together; empty if all is well."""
    if (arguments.crds or arguments.force) and not arguments.uninstall:
        return "--crds and --force go with --uninstall"
    try:
        callable_url(arguments.advertise_url)
    except ValueError as error:
        return f"--advertise-url: {error}"
    if arguments.advertise_url and arguments.part == "runtime":
        return "--advertise-url is for a server outside, --part=runtime for pods: choose one"
    if arguments.monitoring and not _layout(arguments).has_pods:
        return "--monitoring goes with the pods: leave it out, or choose --part runtime or all"
    return ""


def _install(arguments: argparse.Namespace) -> int:
    layout = _layout(arguments)
    if arguments.standalone or arguments.beside_gardener:
        kinds = list(definable(beside_gardener=layout.beside_gardener))
    else:
        try:
            found, beside = asyncio.run(_with_client(arguments, partial(_ask, arguments)))
        except (config.ConfigError, ApiError, OSError) as error:
            return _fail(f"{error}; without a cluster say --standalone or --beside-gardener")
        if displaced := [kind.resource for kind in found.displaced()]:
            return _fail(f"an aggregated API covers our definitions: {', '.join(displaced)}")
        kinds = list(found.to_define(beside_gardener=beside))
        layout = replace(
            layout,
            beside_gardener=beside,
            monitoring=layout.monitoring or found.has_prometheus,
            claimed=found.aggregated,
        )
    if arguments.write is not None:
        _write(arguments.write, bundle.files(layout, kinds))
        return 0
    items = webhooks.preview(layout) if arguments.webhooks else bundle.objects(layout, kinds)
    sys.stdout.write(bundle.write(items))
    return 0


async def _ask(arguments: argparse.Namespace, client: Client) -> tuple[Landscape, bool]:
    """Look at the cluster; one that had a Gardener counts as having it, as the server sees it."""
    found = await landscape.ask(client)
    if found.has_gardener or not await remembrance.is_kept(client, arguments.namespace):
        return found, found.has_gardener
    remedy = "say --standalone if it left for good"
    print(f"espalier manifests: a Gardener was seen here before, {remedy}", file=sys.stderr)
    return found, True


def _layout(arguments: argparse.Namespace) -> Layout:
    return Layout(
        beside_gardener=arguments.beside_gardener,
        part=arguments.part,
        namespace=arguments.namespace,
        garden_namespace=arguments.garden_namespace,
        image=arguments.image,
        replicas=arguments.replicas,
        advertise_url=arguments.advertise_url.rstrip("/"),
        monitoring=arguments.monitoring,
    )


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Make the folder hold exactly these files of ours; others are left alone."""
    for old in folder.glob("crds/*.yaml"):
        if str(old.relative_to(folder)) not in files:
            old.unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _print_tortoise_patch(arguments: argparse.Namespace) -> int:
    definition = None
    if not (arguments.standalone or arguments.beside_gardener):
        found = asyncio.run(_with_client(arguments, landscape.ask))
        definition = found.definitions.get(kind_of_model(Tortoise).resource)
    print(json.dumps(tortoise.addition(definition), indent=2))
    return 0


async def _uninstall(arguments: argparse.Namespace) -> int:
    def say(line: str) -> None:
        print(line, flush=True)

    async def leave(client: Client) -> list[str]:
        removal = Uninstall(client, _layout(arguments), say)
        return await removal.run(with_definitions=arguments.crds, force=arguments.force)

    try:
        problems = await _with_client(arguments, leave)
    except StillNeededError as error:
        print(error, file=sys.stderr)
        return 1
    except TimeoutError:
        return _fail("a server still makes its webhooks anew: stop it, then try again")
    for problem in problems:
        print(f"not removed: {problem}", file=sys.stderr)
    return 1 if problems else 0


async def _with_client(arguments: argparse.Namespace, work: Callable[[Client], Awaitable[T]]) -> T:
    access = await config.load(arguments.kubeconfig, arguments.context)
    async with Client(access) as client:
        return await work(client)


def _fail(message: str) -> int:
    print(f"espalier manifests: {message}", file=sys.stderr)
    return _UNUSABLE
