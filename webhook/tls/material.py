"""The certificates in the Secret of the webhook server, and their rotation; pure.

authority ──signs──▶ leaf                      trusted = authority
    │ needs renewal
    ▼
authority, successor                           trusted = authority + successor
    │ trusted has been published for a minute
    ▼
successor becomes the authority, signs a leaf  trusted = both, the old one for one more hour
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final, Self

from cryptography import x509

from webhook.tls.authority import Authority, KeyPair, needs_renewal
from webhook.tls.bundle import (
    AUTHORITIES_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    Bundle,
    BundleError,
    encode_certificates,
    is_issued_by,
    merge_certificates,
    not_after,
    parse_certificates,
    validate_bundle,
)

AUTHORITY_NAME: Final = "espalier"
OVERLAP: Final = timedelta(hours=1)
"""How long an authority stays trusted after its last leaf certificate was replaced."""

_AUTHORITY_FILES: Final = ("authority.crt", "authority.key")
_SUCCESSOR_FILES: Final = ("successor.crt", "successor.key")


@dataclass(frozen=True, slots=True)
class CertificateProfile:
    """The names of leaf certificates, and the lifetimes."""

    names: Sequence[str]
    leaf_lifetime: timedelta = timedelta(days=90)
    authority_lifetime: timedelta = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Material:
    """The authority that signs, the leaf that is served, the CA bundle that clients trust."""

    authority: Authority
    leaf: KeyPair
    trusted: bytes
    successor: Authority | None = field(default=None)

    @classmethod
    def create(cls, profile: CertificateProfile, now: datetime) -> Self:
        """Create an authority and a leaf certificate."""
        authority = Authority.create(AUTHORITY_NAME, now, profile.authority_lifetime)
        leaf = authority.sign_server(profile.names, now, profile.leaf_lifetime)
        return cls(authority, leaf, authority.certificate)

    @classmethod
    def decode(cls, data: Mapping[str, bytes]) -> Self:
        """Decode the result of `encode`; raises BundleError if a file is missing."""
        successor = _pair(data, *_SUCCESSOR_FILES) if _SUCCESSOR_FILES[0] in data else None
        return cls(
            Authority(_pair(data, *_AUTHORITY_FILES)),
            _pair(data, CERTIFICATE_FILE, KEY_FILE),
            _file(data, AUTHORITIES_FILE),
            Authority(successor) if successor else None,
        )

    def encode(self) -> dict[str, bytes]:
        """Encode the material as files, with the names of a TLS Secret where those exist."""
        pairs = [(CERTIFICATE_FILE, KEY_FILE, self.leaf)]
        pairs.append((*_AUTHORITY_FILES, self.authority.pair))
        if self.successor is not None:
            pairs.append((*_SUCCESSOR_FILES, self.successor.pair))
        files = {AUTHORITIES_FILE: self.trusted}
        for certificate, key, pair in pairs:
            files[certificate], files[key] = pair.certificate, pair.key
        return files

    @property
    def bundle(self) -> Bundle:
        """The part that a replica serves."""
        return Bundle(self.leaf, self.trusted)

    def with_successor(self, profile: CertificateProfile, now: datetime) -> Self:
        """Start the rotation of the authority: the new one is trusted before it signs."""
        successor = Authority.create(AUTHORITY_NAME, now, profile.authority_lifetime)
        return replace(
            self,
            successor=successor,
            trusted=merge_certificates(self.trusted, successor.certificate),
        )

    def with_leaf(self, profile: CertificateProfile, now: datetime) -> Self:
        """Sign a new leaf certificate."""
        leaf = self.authority.sign_server(profile.names, now, profile.leaf_lifetime)
        return replace(self, leaf=leaf)


def advance(
    material: Material, profile: CertificateProfile, now: datetime, *, published: bool
) -> Material:
    """Return the material as it should be now; the same object if nothing needs renewal.

    `published` is true if the successor has been in every published bundle for long enough.
    """
    if now >= not_after(material.authority.certificate):
        # No client accepts an expired authority, so there is nothing to overlap with.
        return Material.create(profile, now)
    if material.successor is None:
        if needs_renewal(material.authority.certificate, now):
            material = material.with_successor(profile, now)
    elif published:
        material = replace(material, authority=material.successor, successor=None)
    if _needs_leaf(material, profile, now):
        return material.with_leaf(profile, now)
    return _without_former(material, now)


def _needs_leaf(material: Material, profile: CertificateProfile, now: datetime) -> bool:
    if not is_issued_by(material.leaf.certificate, material.authority.certificate):
        return True
    try:
        validate_bundle(material.bundle, now)
    except BundleError:
        return True
    covers = set(profile.names) <= _names(material.leaf)
    return not covers or needs_renewal(material.leaf.certificate, now)


def _without_former(material: Material, now: datetime) -> Material:
    """Stop trusting former authorities once the new leaf has existed for OVERLAP."""
    present = [material.authority, *([material.successor] if material.successor else [])]
    wanted = {authority.certificate for authority in present}
    trusted = parse_certificates(material.trusted)
    kept = [certificate for certificate in trusted if encode_certificates([certificate]) in wanted]
    age = now - parse_certificates(material.leaf.certificate)[0].not_valid_before_utc
    if len(kept) == len(trusted) or age < OVERLAP:
        return material
    return replace(material, trusted=encode_certificates(kept))


def _names(leaf: KeyPair) -> set[str]:
    extension = parse_certificates(leaf.certificate)[0].extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    addresses = extension.value.get_values_for_type(x509.IPAddress)
    return {
        *extension.value.get_values_for_type(x509.DNSName),
        *(str(ip_address(str(address))) for address in addresses),
    }


def _pair(data: Mapping[str, bytes], certificate: str, key: str) -> KeyPair:
    return KeyPair(_file(data, certificate), _file(data, key))


def _file(data: Mapping[str, bytes], name: str) -> bytes:
    content = data.get(name)
    if not content:
        raise BundleError(f"{name} is missing")
    return content
