"""Which namespace a caller may see and scale: the one that its certificate names."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

GROUP: Final = "espalier:nodegroups"
"""The organization of client certificates whose common name is a namespace."""

_PEM: Final = "x509_pem_cert"


def namespace_of(auth: Mapping[str, Iterable[bytes]]) -> str:
    """Read the namespace from what gRPC knows of a caller; empty if it names none."""
    for certificate in auth.get(_PEM, ()):
        return named_by(certificate)
    return ""


@lru_cache(maxsize=4096)
def named_by(certificate: bytes) -> str:
    """Read the namespace that a client certificate names; empty if it was made for another use."""
    try:
        subject = x509.load_pem_x509_certificate(certificate).subject
    except ValueError:
        return ""
    organizations = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    if GROUP not in [each.value for each in organizations]:
        return ""
    names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else ""
