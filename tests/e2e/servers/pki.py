"""The certificates of a cluster: one authority, which signs for its servers and its users.

    authority = Authority(folder)
    authority.server("kube-apiserver", ["127.0.0.1", "kubernetes.default.svc"])
    authority.user("alice", groups=["ml-engineers"])

To Kubernetes a certificate's common name is the user, and its organisations are the user's groups:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

LIFE = datetime.timedelta(days=7)
"""The lifetime of a certificate, which is longer than that of any cluster."""


@dataclass(frozen=True)
class KeyPair:
    """Two PEM files: a certificate or a bare public key, and its private key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority whose files are in one folder.

    Attributes:
        certificate: the certificate that verifies its signatures.
    """

    def __init__(self, folder: Path) -> None:
        """Create the authority, in a folder that only this user can read."""
        folder.mkdir(mode=0o700, parents=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tfgen-test-ca")])
        builder = self._builder(self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def server(self, name: str, hosts: Iterable[str]) -> KeyPair:
        """Return a certificate for a server with these addresses and names."""
        names = x509.SubjectAlternativeName([_host(host) for host in hosts])
        return self._sign(name, (), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def user(self, name: str, groups: Sequence[str] = ()) -> KeyPair:
        """Return a certificate that identifies a client as this user, in these groups."""
        return self._sign(name, groups, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def signing_key(self, name: str) -> KeyPair:
        """Return a bare pair of keys, for signing tokens."""
        key = ec.generate_private_key(ec.SECP256R1())
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return self._write(name, public, key)

    def _sign(
        self, name: str, groups: Sequence[str], usage: ObjectIdentifier, hosts: x509.SubjectAlternativeName | None
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
                x509.NameAttribute(NameOID.COMMON_NAME, name),
            ]
        )
        builder = self._builder(subject, key).add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if hosts:
            builder = builder.add_extension(hosts, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        return self._write(name, certificate, key)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + LIFE)
        )

    def _write(self, name: str, public: bytes, key: ec.EllipticCurvePrivateKey) -> KeyPair:
        stem = name.replace(":", "-").replace("/", "-")
        pair = KeyPair(self._folder / f"{stem}.crt", self._folder / f"{stem}.key")
        pair.certificate.write_bytes(public)
        pair.key.touch(mode=0o600)
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return pair


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
