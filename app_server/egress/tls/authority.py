"""Creates the certificates that the egress proxy uses to decrypt TLS. The proxy shows such a certificate to a
sandbox in place of the real certificate of a host. A certificate authority of this installation signs the
certificates.

Only sandboxes trust this authority. Its private key is stored encrypted in the app server's data folder
(`config.home`). The authority may sign certificates for all hosts, because it is created before the hosts
with credentials are known.
"""

import datetime as dt
import os
import ssl
import tempfile
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from app_server.core.addresses import is_address
from app_server.core.config import Config
from app_server.core.encryption import Cipher
from app_server.core.errors import ConfigurationError
from app_server.http.sandbox_authority import certificate_file

AUTHORITY_LIFETIME = dt.timedelta(days=3650)
LEAF_LIFETIME = dt.timedelta(days=2)
_CLOCKS_DIFFER = dt.timedelta(hours=1)
_RENEWED_BEFORE = dt.timedelta(days=1)
MAX_LEAVES = 500


@dataclass(frozen=True)
class _Leaf:
    context: ssl.SSLContext
    renewed_at: dt.datetime


class Authority:
    """The certificate authority of this installation. It creates the certificates that the egress proxy shows
    to sandboxes in place of the real certificates of hosts, and stores these certificates in memory. There is
    one Authority for each process.
    """

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key
        self._leaves: dict[str, _Leaf] = {}

    def context_for(self, host: str) -> ssl.SSLContext:
        """Returns the TLS context for connections in which the egress proxy takes the place of this host. The
        context contains a certificate for the host, which sandboxes trust. It supports only HTTP/1.1.

        host: a host name or an IP address.
        """
        moment = dt.datetime.now(dt.UTC)
        leaf = self._leaves.get(host)
        if leaf is None or leaf.renewed_at <= moment:
            if len(self._leaves) >= MAX_LEAVES:
                self._leaves.clear()
            leaf = self._leaves[host] = _Leaf(self._make_context(host, moment), moment + _RENEWED_BEFORE)
        return leaf.context

    def _make_context(self, host: str, moment: dt.datetime) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        alternative = x509.IPAddress(ip_address(host)) if is_address(host) else x509.DNSName(host)
        builder = _builder(_name("Slipway"), self._certificate.subject, key, moment, LEAF_LIFETIME)
        certificate = (
            builder.add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        # The TLS library reads keys only from files. Only this user can read this file, and it is removed at
        # once.
        with tempfile.NamedTemporaryFile() as file:
            file.write(_private(key) + certificate.public_bytes(serialization.Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)
        return context


def private_key_file(config: Config) -> Path:
    """Returns the path of the file that contains the encrypted private key of the certificate authority."""
    return config.home / "egress-authority.key"


def renew_encryption(config: Config, cipher: Cipher) -> int:
    """Encrypts the private key of the certificate authority again if it is not encrypted with the newest
    encryption key. Returns the number of changed files: 1, or 0 if nothing was changed or the file does not
    exist. Blocks the thread while it reads and writes the file.
    """
    file = private_key_file(config)
    if not file.exists() or cipher.is_newest(file.read_text()):
        return 0
    _write(file, cipher.renew(file.read_text()).encode())
    return 1


def load_authority(config: Config, cipher: Cipher) -> Authority:
    """Reads the certificate authority of this installation from its files and returns it. Creates the files
    if they do not exist or if the authority expires within four days. Blocks briefly.

    Raises ConfigurationError if the files are damaged or do not belong together.
    """
    public, private = certificate_file(config), private_key_file(config)
    try:
        if not (public.exists() and private.exists()):
            _make(public, private, cipher)
        certificate = x509.load_pem_x509_certificate(public.read_bytes())
        if certificate.not_valid_after_utc - dt.datetime.now(dt.UTC) < 2 * LEAF_LIFETIME:
            _make(public, private, cipher)
            certificate = x509.load_pem_x509_certificate(public.read_bytes())
        key = serialization.load_pem_private_key(cipher.decrypt(private.read_text()).encode(), password=None)
    except ValueError as error:
        raise ConfigurationError(f"{public} or {private.name} beside it is broken: remove both") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise ConfigurationError(f"{public} and {private.name} beside it do not belong together: remove both")
    return Authority(certificate, key)


def _make(public: Path, private: Path, cipher: Cipher) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("Slipway sandboxes")
    certificate = (
        _builder(name, name, key, dt.datetime.now(dt.UTC), AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    # The certificate is written last. So if it exists, the key exists, too.
    _write(private, cipher.encrypt(_private(key).decode()).encode())
    _write(public, certificate.public_bytes(serialization.Encoding.PEM))


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    moment: dt.datetime,
    lifetime: dt.timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - _CLOCKS_DIFFER)
        .not_valid_after(moment + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _key_usage(
    *, digital_signature: bool = False, key_cert_sign: bool = False, crl_sign: bool = False
) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        crl_sign=crl_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
