"""The certificates of the server and its administrator, and the administrator's kubeconfig."""

import base64
import datetime
import ipaddress
import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME: Final = datetime.timedelta(days=3650)
_SKEW: Final = datetime.timedelta(minutes=5)
_NAMES: Final = (
    "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyPairFiles:
    """The paths of a certificate and its key."""

    certificate: Path
    key: Path

    @classmethod
    def at(cls, folder: Path, name: str) -> "KeyPairFiles":
        return cls(folder / f"{name}.crt", folder / f"{name}.key")

    @property
    def exists(self) -> bool:
        return self.certificate.exists() and self.key.exists()

    def write(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        """Write both files; the key is created readable by its owner only."""
        encoded = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        descriptor = os.open(self.key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(encoded)
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


@dataclass(frozen=True, slots=True)
class Keyring:
    """The CA of one server in a folder; certificates are created once and kept."""

    folder: Path

    @property
    def authority(self) -> KeyPairFiles:
        """The CA certificate and its key."""
        pair = KeyPairFiles.at(self.folder, "apiserver-ca")
        if not pair.exists:
            self.folder.mkdir(parents=True, exist_ok=True)
            key = ec.generate_private_key(ec.SECP256R1())
            name = _subject("espalier-apiserver-ca")
            builder = _builder(name, name, key).add_extension(
                x509.BasicConstraints(ca=True, path_length=0), critical=True
            )
            pair.write(builder.sign(key, hashes.SHA256()), key)
        return pair

    def server(self, addresses: Sequence[str]) -> KeyPairFiles:
        """Return the serving certificate, valid for loopback and the given addresses."""
        pair = KeyPairFiles.at(self.folder, "apiserver")
        wanted = [*_NAMES, "127.0.0.1", "::1", *addresses]
        if not pair.exists or not set(_names_of(pair)) >= set(wanted):
            alternatives = x509.SubjectAlternativeName(list(map(_general_name, wanted)))
            self._sign(
                pair, _subject("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH, alternatives
            )
        return pair

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPairFiles:
        """Return the client certificate of a user."""
        pair = KeyPairFiles.at(
            self.folder, "client-" + "".join(c if c.isalnum() else "-" for c in user)
        )
        if not pair.exists:
            self._sign(pair, _subject(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH)
        return pair

    def _sign(
        self,
        pair: KeyPairFiles,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None = None,
    ) -> None:
        authority = self.authority
        issuer = x509.load_pem_x509_certificate(authority.certificate.read_bytes())
        signer = serialization.load_pem_private_key(authority.key.read_bytes(), None)
        if not isinstance(signer, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{authority.key} is not an elliptic curve key")
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, issuer.subject, key).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        pair.write(builder.sign(signer, hashes.SHA256()), key)


def _subject(name: str, groups: Sequence[str] = ()) -> x509.Name:
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFETIME)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names_of(pair: KeyPairFiles) -> list[str]:
    certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in found]


def server_context(serving: KeyPairFiles, authority: KeyPairFiles) -> ssl.SSLContext:
    """Return the TLS context of the server; client certificates are optional."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(serving.certificate, serving.key)
    context.load_verify_locations(authority.certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def write_kubeconfig(path: Path, url: str, authority: KeyPairFiles, client: KeyPairFiles) -> None:
    """Write a self-contained kubeconfig that only its owner can read."""
    cluster = {"server": url, "certificate-authority-data": _encoded(authority.certificate)}
    user = {
        "client-certificate-data": _encoded(client.certificate),
        "client-key-data": _encoded(client.key),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "espalier", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "espalier", "context": {"cluster": "espalier", "user": "admin"}}],
        "current-context": "espalier",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        yaml.safe_dump(config, file, sort_keys=False)


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
