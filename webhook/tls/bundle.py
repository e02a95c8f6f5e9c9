"""A serving key pair with its CA certificates: load, validate and write it."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from webhook.tls.authority import KeyPair

CERTIFICATE_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"
AUTHORITIES_FILE: Final = "ca.crt"
FILES: Final = (CERTIFICATE_FILE, KEY_FILE, AUTHORITIES_FILE)

DATA_SYMLINK: Final = "..data"
"""The symlink by which kubelets replace all files of a mounted Secret at once."""


class BundleError(Exception):
    """Certificates that cannot be served; the message names the file and the fault."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The key pair of a server, and the CA certificates that its clients trust."""

    pair: KeyPair
    authorities: bytes = b""
    """Concatenated PEM; empty if clients trust the issuer anyway."""


def validate_bundle(bundle: Bundle, now: datetime) -> None:
    """Raise BundleError unless key and certificate match, are valid now and issued by the CA.

    The files of a Secret may be read in the middle of a change, so each is checked against the
    others.
    """
    chain = parse_certificates(bundle.pair.certificate, CERTIFICATE_FILE)
    leaf = chain[0]
    if _public_key(bundle.pair.key) != leaf.public_key().public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    ):
        raise BundleError(f"{KEY_FILE} does not belong to {CERTIFICATE_FILE}")
    if now >= leaf.not_valid_after_utc:
        raise BundleError(f"{CERTIFICATE_FILE} expired at {leaf.not_valid_after_utc.isoformat()}")
    if bundle.authorities and not is_issued_by(bundle.pair.certificate, bundle.authorities):
        raise BundleError(f"{CERTIFICATE_FILE} was not issued by {AUTHORITIES_FILE}")


def is_issued_by(certificate: bytes, authorities: bytes) -> bool:
    """Return whether a certificate chains up to one of the authorities."""
    try:
        chain, trusted = parse_certificates(certificate), parse_certificates(authorities)
    except BundleError:
        return False
    current, rest = chain[0], chain[1:]
    while True:
        if any(_issued(current, authority) for authority in trusted):
            return True
        issuer = next((other for other in rest if _issued(current, other)), None)
        if issuer is None:
            return False
        rest = [other for other in rest if other is not issuer]
        current = issuer


def share_issuer(one: bytes, other: bytes, authorities: bytes) -> bool:
    """Return whether both certificates chain up to the same authority."""
    if not authorities:
        return False
    pems = [encode_certificates([authority]) for authority in parse_certificates(authorities)]
    return any(is_issued_by(one, pem) and is_issued_by(other, pem) for pem in pems)


def parse_certificates(pem: bytes, what: str = "the bundle") -> list[x509.Certificate]:
    """Parse all certificates of a PEM text; raises BundleError if there is none or a broken one."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise BundleError(f"{what} holds no readable certificate") from error


def merge_certificates(*texts: bytes) -> bytes:
    """Merge PEM texts into one, each certificate once, in their order."""
    return encode_certificates(
        certificate for text in texts if text for certificate in parse_certificates(text)
    )


def encode_certificates(certificates: Iterable[x509.Certificate]) -> bytes:
    """Encode certificates as PEM, each once, in their order."""
    known = dict.fromkeys(certificates)
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in known)


def not_after(pem: bytes) -> datetime:
    """Return when the first certificate of a PEM text expires."""
    return parse_certificates(pem)[0].not_valid_after_utc


def load_directory(directory: Path) -> Bundle:
    """Load a key pair and, if it exists, the CA bundle from files named as in a TLS Secret."""
    data = directory / DATA_SYMLINK
    if data.is_dir():
        directory = data.resolve()  # so that all files are of one version of the Secret
    try:
        pair = KeyPair(
            (directory / CERTIFICATE_FILE).read_bytes(), (directory / KEY_FILE).read_bytes()
        )
        authorities = directory / AUTHORITIES_FILE
        return Bundle(pair, authorities.read_bytes() if authorities.exists() else b"")
    except OSError as error:
        raise BundleError(f"cannot read {error.filename}: {error.strerror}") from error


def write_directory(directory: Path, bundle: Bundle) -> None:
    """Write each file atomically, readable by its owner only."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, content in (
        (AUTHORITIES_FILE, bundle.authorities),
        (KEY_FILE, bundle.pair.key),
        (CERTIFICATE_FILE, bundle.pair.certificate),
    ):
        write_file(directory / name, content)


def write_file(path: Path, content: bytes) -> None:
    """Replace a file atomically, readable by its owner only."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _public_key(pem: bytes) -> bytes:
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BundleError(f"{KEY_FILE} holds no readable private key") from error
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
