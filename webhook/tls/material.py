"""What the Secret of the webhook server holds, and how it changes over its life; all pure.

authority ──signs──▶ leaf                      trusted = authority
    │ due
    ▼
authority, successor                           trusted = authority + successor
    │ trusted was published for a minute
    ▼
successor becomes the authority, signs a leaf  trusted = both, the old one for another hour
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Self

from cryptography import x509

from webhook.tls.authority import Authority, KeyPair, is_due
from webhook.tls.bundle import (
    AUTHORITIES_FILE,
    CERTIFICATE_FILE,
    KEY_FILE,
    Bundle,
    BundleError,
    check,
    encode,
    is_vouched_for,
    join,
    not_after,
    split,
)

AUTHORITY_NAME = "espalier"
OVERLAP = timedelta(hours=1)
"""How long an authority stays trusted after its last leaf was replaced."""

_AUTHORITY_FILES = ("authority.crt", "authority.key")
_SUCCESSOR_FILES = ("successor.crt", "successor.key")


@dataclass(frozen=True, slots=True)
class Profile:
    """What leaves are made for, and how long things live."""

    names: Sequence[str]
    leaf_lifetime: timedelta = timedelta(days=90)
    authority_lifetime: timedelta = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Material:
    """The authority that signs, the leaf that is served, the bundle that clients are given."""

    authority: Authority
    leaf: KeyPair
    trusted: bytes
    successor: Authority | None = field(default=None)

    @classmethod
    def create(cls, profile: Profile, now: datetime) -> Self:
        """Make everything new."""
        authority = Authority.create(AUTHORITY_NAME, now, profile.authority_lifetime)
        leaf = authority.sign_server(profile.names, now, profile.leaf_lifetime)
        return cls(authority, leaf, authority.certificate)

    @classmethod
    def decode(cls, data: Mapping[str, bytes]) -> Self:
        """Read what `encode` wrote; raises BundleError if something is missing or torn."""
        successor = _pair(data, *_SUCCESSOR_FILES) if _SUCCESSOR_FILES[0] in data else None
        return cls(
            Authority(_pair(data, *_AUTHORITY_FILES)),
            _pair(data, CERTIFICATE_FILE, KEY_FILE),
            _file(data, AUTHORITIES_FILE),
            Authority(successor) if successor else None,
        )

    def encode(self) -> dict[str, bytes]:
        """Lay the material out as files, named as in a TLS Secret where that has names."""
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
        """What a replica serves of this."""
        return Bundle(self.leaf, self.trusted)

    def with_successor(self, profile: Profile, now: datetime) -> Self:
        """Begin to replace the authority: the new one is trusted before it signs."""
        successor = Authority.create(AUTHORITY_NAME, now, profile.authority_lifetime)
        return replace(self, successor=successor, trusted=join(self.trusted, successor.certificate))

    def with_leaf(self, profile: Profile, now: datetime) -> Self:
        """Sign a new leaf."""
        leaf = self.authority.sign_server(profile.names, now, profile.leaf_lifetime)
        return replace(self, leaf=leaf)


def advance(material: Material, profile: Profile, now: datetime, *, published: bool) -> Material:
    """Take the material as far as it should be now; the same object if nothing is due.

    `published` says that the successor was in every published bundle for long enough.
    """
    if now >= not_after(material.authority.certificate):
        # Nobody can be served any more with what there is: no overlap helps.
        return Material.create(profile, now)
    if material.successor is None:
        if is_due(material.authority.certificate, now):
            material = material.with_successor(profile, now)
    elif published:
        material = replace(material, authority=material.successor, successor=None)
    if _wants_leaf(material, profile, now):
        return material.with_leaf(profile, now)
    return _without_past(material, now)


def _wants_leaf(material: Material, profile: Profile, now: datetime) -> bool:
    if not is_vouched_for(material.leaf.certificate, material.authority.certificate):
        return True
    try:
        check(material.bundle, now)
    except BundleError:
        return True
    covers = set(profile.names) <= _names(material.leaf)
    return not covers or is_due(material.leaf.certificate, now)


def _without_past(material: Material, now: datetime) -> Material:
    """Stop trusting former authorities once every replica has long had the new leaf."""
    present = [material.authority, *([material.successor] if material.successor else [])]
    wanted = {authority.certificate for authority in present}
    trusted = split(material.trusted)
    kept = [certificate for certificate in trusted if encode([certificate]) in wanted]
    age = now - split(material.leaf.certificate)[0].not_valid_before_utc
    if len(kept) == len(trusted) or age < OVERLAP:
        return material
    return replace(material, trusted=encode(kept))


def _names(leaf: KeyPair) -> set[str]:
    extension = split(leaf.certificate)[0].extensions.get_extension_for_class(
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
