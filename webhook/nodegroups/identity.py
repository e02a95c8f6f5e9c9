"""The namespace that a caller may read and scale: the one that its certificate names."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

GROUP: Final = "espalier:nodegroups"
"""The organization of the client certificates; their common name is the namespace. A certificate of
the same authority for a user who is named like a namespace gives no access. A prefix of the common
name would not fit into its 64 characters."""

_PEM: Final = "x509_pem_cert"


def namespace_of(auth: Mapping[str, Iterable[bytes]]) -> str:
    """Return the namespace of a caller from gRPC's auth context; empty if there is none."""
    for certificate in auth.get(_PEM, ()):
        return namespace_in_certificate(certificate)
    return ""


@lru_cache(maxsize=4096)
def namespace_in_certificate(certificate: bytes) -> str:
    """Return the namespace that a client certificate names; empty if it has another use."""
    try:
        subject = x509.load_pem_x509_certificate(certificate).subject
    except ValueError:
        return ""
    organizations = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    if GROUP not in [each.value for each in organizations]:
        return ""
    names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else ""
