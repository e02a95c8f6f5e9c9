"""`espalier nodegroups config NAMESPACE`: the configuration of a cluster-autoscaler."""

import argparse
import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from webhook.api.machines import MachineDeployment
from webhook.cli import connection
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError
from webhook.domain.pools.discovery import discover, discoveries
from webhook.nodegroups.template import differing_labels
from webhook.settings import Settings

_FOLDER: Final = "/etc/espalier-nodegroups"


class Flag(NamedTuple):
    """A flag of cluster-autoscaler, and the reason for its value."""

    text: str
    why: str


FLAGS: Final = (
    Flag("--cloud-provider=externalgrpc", "groups and sizes come from Espalier at every scan"),
    Flag(f"--cloud-config={_FOLDER}/cloud-config.yaml", "the file above"),
    Flag(
        "--balance-similar-node-groups=true",
        "spreads the size of a pool over its zones; otherwise one zone gets all nodes",
    ),
    Flag(
        "--enforce-node-group-min-size=false",
        "Espalier raises pools to their minimum itself; this feature ignores maximums",
    ),
    Flag("--max-node-provision-time=20m", "the time within which machines become Nodes"),
    Flag(
        "--node-info-cache-expire-time=10m",
        "otherwise a changed machine type takes effect only after a restart",
    ),
    Flag("--expander=least-waste", "Espalier has no prices, so the expander price does not work"),
)
OPTIONAL_FLAGS: Final = (
    Flag(
        "--capacity-quotas-enabled=true",
        "enforces the maximum of a pool within one loop, too; only if the shoot serves"
        " CapacityQuotas (autoscaling.x-k8s.io) and Espalier has the shoot's kubeconfig",
    ),
)
UNUSED_FLAGS: Final = (
    Flag("--nodes", "ignored with this cloud provider"),
    Flag(
        "--node-group-auto-discovery",
        "ignored with this cloud provider; it is a flag of espalier serve",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("config", help="print cloud-config and flags, with reasons")
    show.add_argument("namespace", metavar="NAMESPACE", help="the namespace of the shoot")
    show.add_argument(
        "--address", default="", help="host:port of the server (default: its Service)"
    )
    connection.add_flags(show)
    show.add_argument(
        "--offline",
        action="store_true",
        help="read no cluster: omit the flags for labels that differ by zone",
    )


def run(args: argparse.Namespace) -> int:
    """Print the configuration; 2 if the cluster cannot be read."""
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
    yield f"# cloud-config.yaml: the certificate gives access to the namespace {namespace} only."
    yield f"# Create it with: espalier certs create --secret --nodegroups {namespace}"
    yield f'address: "{address}"'
    yield f'cert: "{_FOLDER}/tls.crt"'
    yield f'key: "{_FOLDER}/tls.key"'
    yield f'cacert: "{_FOLDER}/ca.crt"'
    yield "# The files are read once: restart cluster-autoscaler after the certificate is renewed."
    yield ""
    yield "# Flags of cluster-autoscaler (1.35 or newer):"
    ignored = [
        Flag(f"--balancing-ignore-label={label}", "differs from zone to zone of a pool")
        for label in labels
    ]
    for flag in (*FLAGS, *ignored):
        yield f"{flag.text}  # {flag.why}"
    yield ""
    yield "# Useful in some shoots:"
    for flag in OPTIONAL_FLAGS:
        yield f"# {flag.text}: {flag.why}"
    yield ""
    yield "# Not to be set:"
    for flag in UNUSED_FLAGS:
        yield f"# {flag.text}: {flag.why}"


async def _labels(args: argparse.Namespace) -> Sequence[str]:
    """Return the labels with which the zones of a pool look different to an autoscaler.

    Templates omit them, but real Nodes have them.
    """
    async with connection.connect(args) as client:
        items = await client.list_objects(MachineDeployment, args.namespace)
    by_name = {each.name: each for each in items}
    pools, _ = discover(items, discoveries(()))
    found = [differing_labels([by_name[zone.name] for zone in pool.zones]) for pool in pools]
    return sorted(frozenset().union(*found))
