"""Additional certificate authorities for a self-hosted git host. Users paste the certificates of these
authorities in PEM form. Slipway and git then accept HTTPS certificates of the host that one of these
authorities has signed.
"""

import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import certifi
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from pydantic import AfterValidator

MAX_BYTES = 64 * 1024


def _certificates(text: str) -> str:
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise ValueError(f"the certificates are longer than {MAX_BYTES // 1024} KiB")
    if not text.strip():
        return ""
    if "PRIVATE KEY" in text:
        raise ValueError("this contains a private key; give the certificates of the authorities only")
    try:
        found = x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        found = []
    # Only the certificates are stored, without the text between them.
    pem_text = "".join(one.public_bytes(Encoding.PEM).decode() for one in found)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem_text)
    except (ssl.SSLError, ValueError):
        raise ValueError(
            "these are no certificates in PEM form; each begins with -----BEGIN CERTIFICATE-----"
        ) from None
    return pem_text


CertificateAuthorities = Annotated[str, AfterValidator(_certificates)]
"""Certificates in PEM form, at most 64 KiB. An empty text means that there are none."""


@contextmanager
def authorities_file(authorities: str, usual: str | None) -> Iterator[Path]:
    """Writes a temporary file with certificates of authorities in PEM form, and yields the path of the file.
    The file contains the usual authorities, and then the text `authorities`. Only the operating system user
    of this process can read the file. The file is deleted when the `with` block ends.

    `usual`: the file of the authorities that are always trusted; None means the file of this system.
    """
    known = usual or ssl.get_default_verify_paths().cafile or certifi.where()
    with tempfile.NamedTemporaryFile(prefix="slipway-authorities-", suffix=".pem") as file:
        file.write(Path(known).read_bytes().rstrip() + b"\n" + authorities.encode())
        file.flush()
        yield Path(file.name)
