"""`espalier manifests`: prints, writes or removes the objects of an installation."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from webhook.api.crds import definable
from webhook.api.kinds import Kind, Origin, kind_of_model
from webhook.api.scaling import Tortoise
from webhook.cli import connection
from webhook.cli.install import server_settings
from webhook.cli.install.flags import add_api_servers, add_features, add_own, add_removal
from webhook.cli.install.generate import bundle, tortoise, webhooks
from webhook.cli.install.layout import Layout
from webhook.cli.install.uninstall.uninstaller import PendingShootsError, Uninstaller
from webhook.cluster import config, discovery, gardener_marker
from webhook.cluster.discovery import InstalledApis
from webhook.cluster.errors import ApiError
from webhook.domain.features import FEATURE_NAMES, closure
from webhook.kube.meta import Raw
from webhook.settings import require_https_url
from webhook.settingsfile import SettingsError

_DESCRIPTION: Final = """\
Print the objects that install Espalier. The cluster of the kubeconfig decides whether there is a
Gardener, unless --standalone or --beside-gardener does. Definitions that others serve or manage in
the cluster are left out and listed on stderr; --offline does not read a cluster.
"""
_LANDSCAPES: Final = "--standalone or --beside-gardener"
_PROJECTS: Final[Mapping[Origin, str]] = {
    "gardener": "Gardener",
    "extension": "an extension of Gardener",
    "dns": "a DNS controller",
    "machine": "machine-controller-manager",
    "druid": "etcd-druid",
    "tortoise": "Tortoise",
}
"""The projects whose kinds an installation may define."""
_UNUSABLE: Final = 2
_OWN_ALONE: Final = "--own is for clusters with a Gardener, elsewhere Espalier owns all: omit it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = _DESCRIPTION
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--standalone", action="store_true", help="for a cluster without Gardener: define all kinds"
    )
    where.add_argument(
        "--beside-gardener",
        action="store_true",
        help="for a cluster with Gardener: define only our own kinds",
    )
    connection.add_flags(parser)
    add_features(parser)
    add_own(parser)
    parser.add_argument(
        "--offline",
        action="store_true",
        help="with --standalone or --beside-gardener: read no cluster, leave out no definition",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the settings file of the server, for its pods and for everything that depends on it",
    )
    parser.add_argument(
        "--part",
        choices=("garden", "runtime", "all"),
        default="all",
        help="for a virtual garden: the objects of the garden, or those of its runtime cluster",
    )
    parser.add_argument("--namespace", metavar="NAME", help=f"default: {Layout().namespace}")
    parser.add_argument(
        "--garden-namespace", metavar="NAME", help=f"default: {Layout().garden_namespace}"
    )
    parser.add_argument("--image", default=Layout().image, help="default: %(default)s")
    parser.add_argument("--replicas", type=int, default=Layout().replicas, metavar="N")
    parser.add_argument(
        "--advertise-url",
        default="",
        metavar="URL",
        help="URL of a server that runs outside the cluster",
    )
    add_api_servers(parser)
    parser.add_argument(
        "--monitoring", action="store_true", help="add PrometheusRule, ServiceMonitor, dashboard"
    )
    parser.add_argument(
        "--webhooks",
        action="store_true",
        help="print only the webhook configurations that the leader will create",
    )
    parser.add_argument("--write", type=Path, metavar="DIR", help="write files for kustomize")
    parser.add_argument(
        "--tortoise-crd-patch",
        action="store_true",
        help="print the patch that adds the fields of scheduled scaling to Tortoise's CRD",
    )
    add_removal(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print, write or remove; 1 if something was not removed, 2 if the cluster cannot be read."""
    try:
        if conflict := _flag_conflict(arguments):
            return _fail(conflict)
        if arguments.uninstall:
            return asyncio.run(_uninstall(arguments))
        if arguments.tortoise_crd_patch:
            return _print_tortoise_patch(arguments)
        return _install(arguments)
    except SettingsError as error:
        return _fail("\n  ".join(str(error).splitlines()))
    except (config.ConfigError, ApiError, tortoise.NoSuchVersionError, OSError) as error:
        return _fail(str(error))


def _flag_conflict(arguments: argparse.Namespace) -> str:
    """Describe flags that cannot be combined; empty if there are none."""
    if arguments.standalone and _layout(arguments).own:
        return _OWN_ALONE
    if (arguments.crds or arguments.force) and not arguments.uninstall:
        return "--crds and --force need --uninstall"
    if arguments.offline and not (arguments.standalone or arguments.beside_gardener):
        return f"--offline needs {_LANDSCAPES}"
    try:
        require_https_url(arguments.advertise_url)
    except ValueError as error:
        return f"--advertise-url: {error}"
    if arguments.advertise_url and arguments.part == "runtime":
        return "--advertise-url is for a server outside, --part=runtime for pods: choose one"
    if arguments.monitoring and not _layout(arguments).has_pods:
        return "--monitoring needs pods: omit it, or choose --part runtime or all"
    if arguments.api_servers and not _layout(arguments).has_pods:
        return "--api-servers needs pods: omit it, or choose --part runtime or all"
    return ""


def _install(arguments: argparse.Namespace) -> int:
    layout = _layout(arguments)
    if _reads_cluster(arguments, layout):
        try:
            found, beside = asyncio.run(_read_apis(arguments, layout))
        except (config.ConfigError, ApiError, OSError) as error:
            return _fail(f"{error}; without a cluster add --offline to {_LANDSCAPES}")
        if covered := [kind.resource for kind in found.covered()]:
            return _fail(f"an aggregated API covers our definitions of {', '.join(covered)}")
        if layout.own and not beside:
            return _fail(_OWN_ALONE)
        kinds = list(found.to_define(beside_gardener=beside))
        if layout.has_garden:
            _report_left_out(found, beside, layout)
        is_chosen = arguments.standalone or arguments.beside_gardener
        monitoring = layout.monitoring or (found.has_prometheus and not is_chosen)
        layout = replace(
            layout, beside_gardener=beside, monitoring=monitoring, claimed=found.aggregated
        )
    else:
        kinds = list(definable(beside_gardener=layout.beside_gardener))
        if layout.has_garden:
            _report_unchecked(filter(layout.defines, kinds))
    kinds = list(filter(layout.defines, kinds))
    if arguments.write is not None:
        _write(arguments.write, bundle.files(layout, kinds))
        return 0
    items = webhooks.preview(layout) if arguments.webhooks else bundle.objects(layout, kinds)
    sys.stdout.write(bundle.to_yaml(items))
    return 0


def _reads_cluster(arguments: argparse.Namespace, layout: Layout) -> bool:
    """Return whether a cluster decides what is printed: always, unless nobody names one.

    The objects for pods alone contain nothing that others may have.
    """
    if not (arguments.standalone or arguments.beside_gardener):
        return True
    if arguments.offline or not layout.has_garden:
        return False
    return config.is_configured(arguments.kubeconfig)


def _report_left_out(found: InstalledApis, beside: bool, layout: Layout) -> None:
    left = [
        f"{kind.resource} ({claimant})"
        for kind, claimant in found.left_out(beside_gardener=beside)
        if layout.defines(kind)
    ]
    if left:
        _note(f"left out, because others serve or manage them: {', '.join(left)}")


def _report_unchecked(kinds: Iterable[Kind]) -> None:
    others = dict.fromkeys(_PROJECTS[kind.origin] for kind in kinds if kind.origin in _PROJECTS)
    if others:
        remedy = f"where {', '.join(others)} is installed, name the cluster with --kubeconfig"
        _note(f"no cluster was read, so no definition was left out; {remedy}")


async def _read_apis(arguments: argparse.Namespace, layout: Layout) -> tuple[InstalledApis, bool]:
    """Read the APIs and whether there is a Gardener, also one that the server saw earlier."""
    async with connection.connect(arguments) as client:
        found = await discovery.read_installed_apis(client)
        if arguments.standalone and found.has_gardener:
            _note("--standalone, although the cluster has a Gardener: use --beside-gardener")
        if arguments.standalone or arguments.beside_gardener:
            return found, arguments.beside_gardener
        if found.has_gardener:
            return found, True
        if not await gardener_marker.marker_exists(client, layout.namespace):
            return found, False
    _note("a Gardener was seen here before, use --standalone if it was removed for good")
    return found, True


def _layout(arguments: argparse.Namespace) -> Layout:
    """Return the layout of the flags and of the settings file; raises SettingsError."""
    layout = Layout(
        beside_gardener=arguments.beside_gardener,
        own=arguments.own,
        features=closure(arguments.features or FEATURE_NAMES),
        part=arguments.part,
        namespace=arguments.namespace or Layout().namespace,
        garden_namespace=arguments.garden_namespace or Layout().garden_namespace,
        image=arguments.image,
        replicas=arguments.replicas,
        advertise_url=arguments.advertise_url.rstrip("/"),
        api_servers=arguments.api_servers,
        monitoring=arguments.monitoring,
    )
    if arguments.config is None:
        return layout
    shared = ("namespace", "garden_namespace", "advertise_url", "own", "features")
    given = {name: getattr(arguments, name) for name in shared}
    return server_settings.with_settings(layout, arguments.config, given)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files, and delete CRDs that are not among them; other files stay."""
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
        definition = asyncio.run(_read_tortoise_definition(arguments))
    print(json.dumps(tortoise.crd_patch(definition), indent=2))
    return 0


async def _read_tortoise_definition(arguments: argparse.Namespace) -> Raw | None:
    async with connection.connect(arguments) as client:
        found = await discovery.read_installed_apis(client)
    return found.definitions.get(kind_of_model(Tortoise).resource)


async def _uninstall(arguments: argparse.Namespace) -> int:
    def report(line: str) -> None:
        print(line, flush=True)

    try:
        async with connection.connect(arguments) as client:
            uninstaller = Uninstaller(client, _layout(arguments), report)
            problems = await uninstaller.run(with_definitions=arguments.crds, force=arguments.force)
    except PendingShootsError as error:
        print(error, file=sys.stderr)
        return 1
    except TimeoutError:
        return _fail("a server creates its webhooks again: stop it, then run this again")
    for problem in problems:
        print(f"not removed: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _note(message: str) -> None:
    print(f"espalier manifests: {message}", file=sys.stderr)


def _fail(message: str) -> int:
    _note(message)
    return _UNUSABLE
