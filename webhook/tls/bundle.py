"""A serving pair with the authorities behind it: load it, judge whether it is whole, write it."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from webhook.tls.authority import KeyPair

CERTIFICATE_FILE = "tls.crt"
KEY_FILE = "tls.key"
AUTHORITIES_FILE = "ca.crt"
FILES = (CERTIFICATE_FILE, KEY_FILE, AUTHORITIES_FILE)

SWAPPED = "..data"
"""The symlink through which kubelets exchange all files of a mounted Secret at once."""


class BundleError(Exception):
    """Certificates that cannot be served; the message says what is wrong with which file."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a server presents, and the authorities that its clients are told to trust."""

    pair: KeyPair
    authorities: bytes = b""
    """PEM, one after another; empty if clients trust the issuer anyway."""


def check(bundle: Bundle, now: datetime) -> None:
    """Raise unless the pair is whole, of its time, and issued by the authorities beside it.

    Files of one Secret can be read in the middle of a change, so each is checked against the
    others and nothing is concluded from one alone.
    """
    chain = split(bundle.pair.certificate, CERTIFICATE_FILE)
    leaf = chain[0]
    if _public_key(bundle.pair.key) != leaf.public_key().public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    ):
        raise BundleError(f"{KEY_FILE} does not belong to {CERTIFICATE_FILE}")
    if now >= leaf.not_valid_after_utc:
        raise BundleError(f"{CERTIFICATE_FILE} expired at {leaf.not_valid_after_utc.isoformat()}")
    if bundle.authorities and not is_vouched_for(bundle.pair.certificate, bundle.authorities):
        raise BundleError(f"{CERTIFICATE_FILE} was not issued by {AUTHORITIES_FILE}")


def is_vouched_for(certificate: bytes, authorities: bytes) -> bool:
    """Say whether a certificate leads, through the chain that comes with it, to an authority."""
    try:
        chain, trusted = split(certificate), split(authorities)
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


def have_one_issuer(one: bytes, other: bytes, authorities: bytes) -> bool:
    """Say whether a single one of the authorities vouches for both certificates."""
    if not authorities:
        return False
    each = [encode([authority]) for authority in split(authorities)]
    return any(is_vouched_for(one, pem) and is_vouched_for(other, pem) for pem in each)


def split(pem: bytes, what: str = "the bundle") -> list[x509.Certificate]:
    """Read all certificates of a PEM text; raises if there is none or one is broken."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise BundleError(f"{what} holds no readable certificate") from error


def join(*texts: bytes) -> bytes:
    """Put the certificates of several PEM texts into one, each once, in their order."""
    return encode(certificate for text in texts if text for certificate in split(text))


def encode(certificates: Iterable[x509.Certificate]) -> bytes:
    """Write certificates as PEM, each once, in their order."""
    known = dict.fromkeys(certificates)
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in known)


def not_after(pem: bytes) -> datetime:
    """Say when the first certificate of a PEM text expires."""
    return split(pem)[0].not_valid_after_utc


def load_directory(directory: Path) -> Bundle:
    """Read a pair and, if it is there, the authorities from files named as in a TLS Secret."""
    swapped = directory / SWAPPED
    if swapped.is_dir():
        directory = swapped.resolve()  # all files of one state, even if it is exchanged just now
    try:
        pair = KeyPair(
            (directory / CERTIFICATE_FILE).read_bytes(), (directory / KEY_FILE).read_bytes()
        )
        authorities = directory / AUTHORITIES_FILE
        return Bundle(pair, authorities.read_bytes() if authorities.exists() else b"")
    except OSError as error:
        raise BundleError(f"cannot read {error.filename}: {error.strerror}") from error


def write_directory(directory: Path, bundle: Bundle) -> None:
    """Write the files so that no reader ever sees half of one, the key for its owner only."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, content in (
        (AUTHORITIES_FILE, bundle.authorities),
        (KEY_FILE, bundle.pair.key),
        (CERTIFICATE_FILE, bundle.pair.certificate),
    ):
        write_file(directory / name, content)


def write_file(path: Path, content: bytes) -> None:
    """Put a file in the place of another in one step, readable by its owner only."""
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
