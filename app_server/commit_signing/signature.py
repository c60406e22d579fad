"""Creates Ed25519 keys, and OpenSSH signatures that git and git hosts can verify. The functions here do no
I/O.

The format of the signatures is SSHSIG, see PROTOCOL.sshsig of OpenSSH. The library `cryptography` does the
cryptographic work.
"""

import base64
import hashlib
import textwrap

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

NAMESPACE = "git"
"""The namespace in the signatures (a field of the format SSHSIG). It says that a signature is for git, so
that it is not valid for other purposes.
"""
_MAGIC = b"SSHSIG"
_VERSION = (1).to_bytes(4, "big")
_HASH = "sha512"
_LINE = 70


def new_private_key() -> str:
    """Generates a new private key and returns it in PEM format, not encrypted."""
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem.decode()


def public_line(private_key: str) -> str:
    """Returns the public key that belongs to a private key, in the form of an OpenSSH `.pub` file:
    `ssh-ed25519 BASE64`. `private_key`: in PEM format.
    """
    return _loaded(private_key).public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def fingerprint(public_key: str) -> str:
    """Returns the fingerprint of a public key, such as `SHA256:…`. `ssh-keygen -l` and git hosts show the
    same text. `public_key`: `ssh-ed25519 BASE64`.
    """
    digest = hashlib.sha256(base64.b64decode(public_key.split()[1])).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def sign(private_key: str, message: bytes) -> str:
    """Signs a message and returns the SSH signature: a text between the lines BEGIN SSH SIGNATURE and END SSH
    SIGNATURE. `private_key`: in PEM format.
    """
    key = _loaded(private_key)
    digest = hashlib.new(_HASH, message).digest()
    named = _string(NAMESPACE.encode()) + _string(b"") + _string(_HASH.encode())
    made = key.sign(_MAGIC + named + _string(digest))
    public = base64.b64decode(public_line(private_key).split()[1])
    signature_blob = (
        _MAGIC + _VERSION + _string(public) + named + _string(_string(b"ssh-ed25519") + _string(made))
    )
    text = "\n".join(textwrap.wrap(base64.b64encode(signature_blob).decode(), _LINE))
    return f"-----BEGIN SSH SIGNATURE-----\n{text}\n-----END SSH SIGNATURE-----\n"


def _loaded(private_key: str) -> Ed25519PrivateKey:
    key = load_pem_private_key(private_key.encode(), None)
    assert isinstance(key, Ed25519PrivateKey)
    return key


def _string(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content
