"""A certificate for loopback, and the authority that vouches for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


def make_certificate(folder: Path) -> tuple[Path, Path, Path]:
    """The server's certificate, its key, and the authority's certificate. Some clients refuse one that vouches for
    itself."""
    authority_key, server_key = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    authority_name, server_name = _name("Snowmelt tests"), _name("localhost")
    public = authority_key.public_key()
    authority = (
        _begun(authority_name, authority_name, public)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    server = (
        _begun(server_name, authority_name, server_key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    files = folder / "server.pem", folder / "server.key", folder / "authority.pem"
    private = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem = serialization.Encoding.PEM
    for path, content in zip(files, (server.public_bytes(pem), private, authority.public_bytes(pem)), strict=True):
        path.write_bytes(content)
    return files


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _begun(subject: x509.Name, issuer: x509.Name, key: rsa.RSAPublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2))
    )
