"""`espalier nodegroups config NAMESPACE`: what to tell a cluster-autoscaler, and why."""

import argparse
import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from webhook.api.machines import MachineDeployment
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError
from webhook.domain.pools import discover, discoveries
from webhook.nodegroups.crews import live_list
from webhook.nodegroups.template import differing
from webhook.settings import Settings

NAME: Final = "nodegroups"
HELP: Final = "print what a cluster-autoscaler needs to use this server's node groups"

_FOLDER: Final = "/etc/espalier-nodegroups"


class Flag(NamedTuple):
    """A flag of cluster-autoscaler, and why it should be as it is."""

    text: str
    why: str


FLAGS: Final = (
    Flag("--cloud-provider=externalgrpc", "groups and sizes come from Espalier, at every scan"),
    Flag(f"--cloud-config={_FOLDER}/cloud-config.yaml", "the file above"),
    Flag(
        "--balance-similar-node-groups=true",
        "otherwise everything is put into one zone; sizes are spread over the zones of a pool",
    ),
    Flag(
        "--enforce-node-group-min-size=false",
        "Espalier raises pools to their minimum itself; this flag ignores maximums",
    ),
    Flag("--max-node-provision-time=20m", "as long as machines may take to become Nodes"),
    Flag(
        "--node-info-cache-expire-time=10m",
        "a changed machine type is otherwise seen only after a restart",
    ),
    Flag("--expander=least-waste", "prices are not known here, so the expander price is of no use"),
)
PERHAPS: Final = (
    Flag(
        "--capacity-quotas-enabled=true",
        "holds the maximum of a pool within one loop already; only where the shoot serves"
        " CapacityQuotas (autoscaling.x-k8s.io) and Espalier has the shoot's kubeconfig",
    ),
)
NEVER: Final = (
    Flag("--nodes", "ignored with this provider; remove it so that nobody is misled"),
    Flag("--node-group-auto-discovery", "ignored here too; Espalier has it as its own flag"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("config", help="print cloud-config and flags, with the reasons")
    show.add_argument("namespace", metavar="NAMESPACE", help="the namespace of the shoot")
    show.add_argument("--address", default="", help="host:port of the server, if not its Service")
    show.add_argument("--kubeconfig", help="a seed to look for labels in that differ by zone")
    show.add_argument("--context", help="the kubeconfig's context to use")
    show.add_argument("--offline", action="store_true", help="ask no cluster")


def run(args: argparse.Namespace) -> int:
    """Print; 2 if a cluster was to be asked and could not be."""
    labels: Sequence[str] = ()
    if not args.offline:
        try:
            labels = asyncio.run(_labels(args))
        except (ConfigError, ApiError) as error:
            why = " ".join(str(error).split())
            print(f"espalier nodegroups: {why}; or use --offline", file=sys.stderr)
            return 2
    address = args.address or _service_address()
    print("\n".join(_lines(args.namespace, address, labels)))
    return 0


def _service_address() -> str:
    fields = Settings.model_fields
    name, namespace = fields["service_name"].default, fields["namespace"].default
    return f"{name}.{namespace}.svc:{fields['nodegroups_port'].default}"


def _lines(namespace: str, address: str, labels: Iterable[str]) -> Iterator[str]:
    yield f"# cloud-config.yaml: the certificate names {namespace}, and shows no other namespace."
    yield f"# Make it with: espalier certs create --secret --nodegroups {namespace}"
    yield f'address: "{address}"'
    yield f'cert: "{_FOLDER}/tls.crt"'
    yield f'key: "{_FOLDER}/tls.key"'
    yield f'cacert: "{_FOLDER}/ca.crt"'
    yield "# The files are read once: restart cluster-autoscaler after the certificate was renewed."
    yield ""
    yield "# Flags of cluster-autoscaler (1.35 or newer):"
    ignored = [
        Flag(f"--balancing-ignore-label={label}", "differs from zone to zone of a pool")
        for label in labels
    ]
    for flag in (*FLAGS, *ignored):
        yield f"{flag.text}  # {flag.why}"
    yield ""
    yield "# Of use in some shoots:"
    for flag in PERHAPS:
        yield f"# {flag.text}: {flag.why}"
    yield ""
    yield "# Not to be set:"
    for flag in NEVER:
        yield f"# {flag.text}: {flag.why}"


async def _labels(args: argparse.Namespace) -> Sequence[str]:
    """Find the labels by which an autoscaler would take zones of a pool for different groups."""
    access = await config.load(args.kubeconfig, args.context)
    async with Client(access) as client:
        items = await live_list(client, MachineDeployment, args.namespace)
    by_name = {each.name: each for each in items}
    pools, _ = discover(items, discoveries(()))
    found = [differing([by_name[zone.name] for zone in pool.zones]) for pool in pools]
    return sorted(frozenset().union(*found))
