"""Flags that several commands about installations share."""

import argparse
from ipaddress import ip_network
from typing import get_args

from webhook.domain.features import FEATURE_NAMES, Feature
from webhook.settings import Owned


def add_own(parser: argparse.ArgumentParser) -> None:
    """Declare --own, which means what it means to `espalier serve`."""
    parser.add_argument(
        "--own",
        type=_parse_owned,
        default=(),
        metavar="CONTROLLERS",
        help="beside a Gardener: controllers that replace Gardener's, separated by commas: "
        + ", ".join(get_args(Owned)),
    )


def add_api_servers(parser: argparse.ArgumentParser) -> None:
    """Declare --api-servers, the sources that the NetworkPolicy admits to the webhooks."""
    parser.add_argument(
        "--api-servers",
        type=_parse_blocks,
        default=(),
        metavar="CIDRS",
        help="ip blocks from which API servers call, separated by commas; default: any source",
    )


def add_removal(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that remove an installation."""
    removal = parser.add_argument_group("removal")
    removal.add_argument(
        "--uninstall",
        action="store_true",
        help="remove the webhooks, then everything that Espalier wrote",
    )
    removal.add_argument(
        "--crds", action="store_true", help="with --uninstall: also our CRDs and all their objects"
    )
    removal.add_argument(
        "--force",
        action="store_true",
        help="with --uninstall: even if shoots wait to be placed by Espalier",
    )


def _parse_blocks(text: str) -> tuple[str, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        # A NetworkPolicy has no bare addresses, but people do.
        return tuple(str(ip_network(part)) for part in parts)
    except ValueError as error:
        remedy = "use blocks like 10.0.0.0/28 or addresses like 10.0.0.1"
        raise argparse.ArgumentTypeError(f"{error}; {remedy}") from error


def add_features(parser: argparse.ArgumentParser) -> None:
    """Declare --features, which means what it means to `espalier serve`."""
    parser.add_argument(
        "--features",
        type=_parse_features,
        default=(),
        metavar="FEATURES",
        help="only these parts and what they require, separated by commas (default: all): "
        + ", ".join(FEATURE_NAMES),
    )


def _parse_features(text: str) -> tuple[Feature, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in parts if part not in FEATURE_NAMES]:
        known = ", ".join(FEATURE_NAMES)
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is unknown, known are {known}")
    return tuple(each for each in FEATURE_NAMES if each in parts)


def _parse_owned(text: str) -> tuple[Owned, ...]:
    known: tuple[Owned, ...] = get_args(Owned)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in parts if part not in known]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is unknown, use {' or '.join(known)}")
    return tuple(each for each in known if each in parts)
