"""A certificate authority, the certificates that it signs, and when they need renewal."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFETIME: Final = timedelta(days=3650)
LEAF_LIFETIME: Final = timedelta(days=365)

# The clock of a client may be behind ours when it verifies a new certificate.
_CLOCK_SKEW: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both as PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority with its key pair."""

    pair: KeyPair

    @classmethod
    def create(cls, name: str, now: datetime, lifetime: timedelta = AUTHORITY_LIFETIME) -> Self:
        """Create a self-signed authority."""
        key = _new_key()
        subject = _subject(name)
        builder = (
            _builder(subject, key, now, lifetime)
            .issuer_name(subject)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(certifies=True), critical=True)
        )
        return cls(KeyPair(_sign(builder, key), _encode_key(key)))

    @property
    def certificate(self) -> bytes:
        """The certificate that clients trust, as PEM."""
        return self.pair.certificate

    def sign_server(
        self, names: Sequence[str], now: datetime, lifetime: timedelta = LEAF_LIFETIME
    ) -> KeyPair:
        """Sign a serving certificate for these DNS names and IP addresses."""
        if not names:
            raise ValueError("a serving certificate needs at least one name")
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
        # X.509 limits a common name to 64 characters; clients only read the alternative names.
        return self._leaf(
            _subject(names[0][:64]),
            [ExtendedKeyUsageOID.SERVER_AUTH],
            (now, lifetime),
            alternatives,
        )

    def sign_client(
        self,
        user: str,
        now: datetime,
        groups: Sequence[str] = (),
        lifetime: timedelta = LEAF_LIFETIME,
    ) -> KeyPair:
        """Sign a client certificate; for Kubernetes CN is the user and each O a group."""
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._leaf(_subject(user, groups), usages, (now, lifetime))

    def sign_peer(
        self, names: Sequence[str], now: datetime, lifetime: timedelta = LEAF_LIFETIME
    ) -> KeyPair:
        """Sign a certificate for both server and client authentication, as etcd members need it."""
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._leaf(_subject(names[0][:64]), usages, (now, lifetime), alternatives)

    def _leaf(
        self,
        subject: x509.Name,
        usages: Sequence[x509.ObjectIdentifier],
        validity: tuple[datetime, timedelta],
        alternatives: x509.SubjectAlternativeName | None = None,
    ) -> KeyPair:
        issuer = x509.load_pem_x509_certificate(self.pair.certificate)
        identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        key = _new_key()
        builder = (
            _builder(subject, key, *validity)
            .issuer_name(issuer.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(certifies=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
                critical=False,
            )
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        return KeyPair(_sign(builder, decode_key(self.pair.key)), _encode_key(key))


def needs_renewal(certificate: bytes, now: datetime) -> bool:
    """Return whether two thirds of the lifetime of a certificate have passed."""
    decoded = x509.load_pem_x509_certificate(certificate)
    start, end = decoded.not_valid_before_utc, decoded.not_valid_after_utc
    return now >= start + (end - start) * 2 / 3


def decode_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Decode an elliptic curve private key."""
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("not an elliptic curve key")  # noqa: TRY004  the bytes are wrong
    return key


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _subject(name: str, groups: Sequence[str] = ()) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    # The skew must not exceed a short lifetime, as in tests of rotation.
    skew = min(_CLOCK_SKEW, lifetime / 10)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - skew)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, certifies: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=certifies,
        crl_sign=certifies,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _sign(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> bytes:
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
