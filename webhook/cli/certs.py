"""`espalier certs`: create, show and renew certificates, in files or in the server's Secret."""

import argparse
import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from webhook.cli import clientcerts, connection
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.controllers.installation.certificates import CertificateStore
from webhook.kube.clock import SystemClock
from webhook.kube.meta import ObjectKey
from webhook.settings import Settings
from webhook.tls.authority import Authority, KeyPair
from webhook.tls.bundle import (
    Bundle,
    BundleError,
    parse_certificates,
    validate_bundle,
    write_directory,
    write_file,
)
from webhook.tls.material import CertificateProfile, Material

_FILES: Final = Path("certs")
_KEY_FILES: Final = ("authority.crt", "authority.key")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create a CA and a serving certificate")
    show = actions.add_parser("show", help="list the certificates and when they expire")
    rotate = actions.add_parser("rotate", help="renew the certificate now")
    for each in (create, show, rotate):
        _add_location(each)
    create.add_argument(
        "--name",
        action="append",
        default=[],
        help="DNS name or address of the server, repeatable; default: localhost, 127.0.0.1",
    )
    create.add_argument(
        "--client",
        metavar="USER",
        help="also create a client certificate for a user, in files only",
    )
    create.add_argument("--group", action="append", default=[], help="a group of that user")
    create.add_argument(
        "--nodegroups",
        metavar="NAMESPACE",
        help="only create a client certificate for the cluster-autoscaler of a shoot",
    )
    for each in (create, rotate):
        each.add_argument(
            "--days", type=float, default=90.0, help="lifetime of the certificate (default 90)"
        )
    rotate.add_argument(
        "--authority",
        action="store_true",
        help="also replace the CA: the leader publishes the new one first",
    )


def run(args: argparse.Namespace) -> int:
    """Run one action; 2 if that is not possible."""
    try:
        if not args.secret and (args.directory is not None or args.action == "create"):
            return _in_files(args, args.directory or _FILES)
        return asyncio.run(_in_cluster(args))
    except (BundleError, ConfigError, ApiError, OSError, ValueError) as error:
        print(f"espalier certs: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


def _add_location(parser: argparse.ArgumentParser) -> None:
    defaults = Settings.model_fields
    parser.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="use files in this folder instead of a cluster",
    )
    parser.add_argument("--secret", action="store_true", help="use the Secret of a cluster")
    connection.add_flags(parser)
    for name in ("namespace", "certificate_secret"):
        default = defaults[name].default
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, dest=name, default=default, help=f"default: {default}")


def _in_files(args: argparse.Namespace, directory: Path) -> int:
    now = datetime.now(UTC)
    if args.action == "create" and not (args.nodegroups and _has_authority(directory)):
        profile = CertificateProfile(
            args.name or ("localhost", "127.0.0.1"), timedelta(days=args.days)
        )
        return _create_files(args, directory, Material.create(profile, now), now)
    authority = Authority(_read_pair(directory, *_KEY_FILES))
    leaf = _read_pair(directory, "tls.crt", "tls.key")
    trusted = _read(directory / "ca.crt")
    if args.action == "create":
        return _create_client(args, directory, Material(authority, leaf, trusted), now)
    if args.action == "rotate":
        if args.authority:
            raise BundleError("the CA of files cannot be rotated: remove them and create new ones")
        names = tuple(_names(parse_certificates(leaf.certificate)[0]))
        leaf = authority.sign_server(names, now, timedelta(days=args.days))
        write_directory(directory, Bundle(leaf, trusted))
    return _show(Material(authority, leaf, trusted), now)


def _create_files(
    args: argparse.Namespace, directory: Path, material: Material, now: datetime
) -> int:
    if _has_authority(directory):
        raise BundleError(
            f"{directory} holds a CA already: rotate the certificate, or remove the files first"
        )
    write_directory(directory, material.bundle)
    for name, content in material.encode().items():
        write_file(directory / name, content)
    if args.client:
        lifetime = timedelta(days=args.days)
        pair = material.authority.sign_client(args.client, now, args.group, lifetime)
        write_file(directory / "client.crt", pair.certificate)
        write_file(directory / "client.key", pair.key)
    print(f"wrote {directory}/")
    if args.nodegroups:
        return _create_client(args, directory, material, now)
    return _show(material, now)


def _create_client(
    args: argparse.Namespace, directory: Path, material: Material, now: datetime
) -> int:
    """Create the client certificate of a cluster-autoscaler for the groups of one namespace."""
    folder = clientcerts.write(material, args.nodegroups, directory, now, args.days)
    print(f"wrote {folder}/; espalier nodegroups config {args.nodegroups} prints how to use it")
    return 0


def _has_authority(directory: Path) -> bool:
    return (directory / _KEY_FILES[1]).exists()


async def _in_cluster(args: argparse.Namespace) -> int:
    key = ObjectKey(args.namespace, args.certificate_secret)
    now = datetime.now(UTC)
    async with connection.connect(args) as client:
        days = timedelta(days=getattr(args, "days", 90.0))
        names = tuple(getattr(args, "name", ())) or _service_names(args.namespace)
        store = CertificateStore(client, key, CertificateProfile(names, days), SystemClock())
        if args.action == "create":
            material = await store.obtain()
            if args.nodegroups:
                where = args.directory or _FILES
                return await asyncio.to_thread(_create_client, args, where, material, now)
            return _show(material, now)
        try:
            material, secret = await store.read()
        except NotFoundError:
            raise BundleError(f"there is no Secret {key}: espalier serve creates it") from None
        if args.action == "rotate":
            kept = CertificateProfile(
                tuple(_names(parse_certificates(material.leaf.certificate)[0])), days
            )
            material = (
                material.with_successor(kept, now)
                if args.authority
                else material.with_leaf(kept, now)
            )
            await store.write(material, secret)
        return _show(material, now)


def _show(material: Material, now: datetime) -> int:
    """Print a line for each certificate; 1 if the serving certificate is not valid now."""
    parts = [("certificate", material.leaf.certificate)]
    parts.append(("authority", material.authority.certificate))
    if material.successor is not None:
        parts.append(("successor", material.successor.certificate))
    for title, pem in parts:
        print(_line(title, parse_certificates(pem)[0], now))
    try:
        validate_bundle(material.bundle, now)
    except BundleError as error:
        print(f"not usable: {error}")
        return 1
    return 0


def _line(title: str, certificate: x509.Certificate, now: datetime) -> str:
    days = (certificate.not_valid_after_utc - now) / timedelta(days=1)
    names = ", ".join(_names(certificate))
    fingerprint = certificate.fingerprint(hashes.SHA256()).hex()[:16]
    expires = f"expires {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC (in {days:.0f} days)"
    return f"{title:<12} {fingerprint}  {expires}" + (f"  {names}" if names else "")


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return [str(name.value) for name in extension.value]


def _service_names(namespace: str) -> tuple[str, ...]:
    service = f"{Settings.model_fields['service_name'].default}.{namespace}"
    return (f"{service}.svc", service, f"{service}.svc.cluster.local")


def _read_pair(directory: Path, certificate: str, key: str) -> KeyPair:
    return KeyPair(_read(directory / certificate), _read(directory / key))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BundleError(f"cannot read {path}: {error.strerror}") from error
