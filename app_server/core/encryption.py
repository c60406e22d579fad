"""Encrypts texts that are stored in the database (with Fernet). Keys can be replaced: the newest key
encrypts, and older keys still decrypt.
"""

import hmac
import os
import tempfile
from pathlib import Path
from typing import Annotated

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from app_server.core.config import Config
from app_server.core.errors import ConfigurationError
from app_server.core.server_objects import from_server


class Cipher:
    """The encryption keys of this installation, with the methods that encrypt and decrypt short texts for the
    database. The newest key encrypts. All keys can decrypt.
    """

    def __init__(self, keys: list[str], origin: str = "SLIPWAY_ENCRYPTION_KEYS") -> None:
        try:
            known = [Fernet(key) for key in keys]
            self._newest, self._fernet = known[0], MultiFernet(known)
            self._keys = [key.encode() for key in keys]
        except (ValueError, IndexError):
            raise ConfigurationError(
                f"{origin}: each key must be 32 url-safe base64-encoded bytes; restore the right one"
            ) from None

    def encrypt(self, text: str) -> str:
        return self._fernet.encrypt(text.encode()).decode()

    def is_newest(self, token: str) -> bool:
        """Returns whether the encrypted text `token` was encrypted with the newest key. If it was not, it
        must be encrypted again with `renew` before the older keys can be removed.
        """
        try:
            self._newest.decrypt(token.encode())
        except InvalidToken:
            return False
        return True

    def renew(self, token: str) -> str:
        """Encrypts a stored text again with the newest key and returns the new encrypted text. `token`: the
        old encrypted text. Raises ConfigurationError if no known key can decrypt it.
        """
        return self.encrypt(self.decrypt(token))

    def signing_keys(self, purpose: str) -> list[bytes]:
        """Returns the keys for signing and verifying data, newest first. `purpose`: a fixed text that says
        what is signed. For each purpose the keys are different. They are derived from the encryption keys,
        but the encryption keys cannot be computed from them.
        """
        return [hmac.digest(key, purpose.encode(), "sha256") for key in self._keys]

    def decrypt(self, token: str) -> str:
        """Returns the decrypted text. `token`: the encrypted text. Raises ConfigurationError if no known key
        can decrypt it.
        """
        try:
            return self._fernet.decrypt(token.encode()).decode()
        except InvalidToken:
            raise ConfigurationError(
                "a stored secret cannot be decrypted: the encryption key has changed "
                "(restore encryption.key or add the old key to SLIPWAY_ENCRYPTION_KEYS)"
            ) from None


ServerCipher = Annotated[Cipher, from_server("cipher")]


def load_cipher(config: Config) -> Cipher:
    """Returns a Cipher with the encryption keys of this installation. The keys come from
    SLIPWAY_ENCRYPTION_KEYS, or else from the file `encryption.key` in the home directory (SLIPWAY_HOME). At
    the first start, the file is created with a new key and the mode 0600.
    """
    if config.encryption_keys:
        return Cipher([key.get_secret_value() for key in config.encryption_keys])
    path = key_file(config)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        _make_key_file(path)
    return Cipher(keys_in(path), origin=str(path))


def key_file(config: Config) -> Path:
    """Returns the path of the file with the encryption keys. The file is used only if SLIPWAY_ENCRYPTION_KEYS
    is not set.
    """
    return config.home / "encryption.key"


def keys_in(path: Path) -> list[str]:
    """Returns the encryption keys in the file at `path`, newest first. The file has one key in each line."""
    return path.read_text().split()


def add_key(path: Path) -> None:
    """Adds a new encryption key to the file at `path`, as the first line, because the newest key must come
    first. If this fails, the file stays unchanged.
    """
    keys = [Fernet.generate_key().decode(), *keys_in(path)]
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write("\n".join(keys))
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _make_key_file(path: Path) -> None:
    """Creates the file with a new encryption key. Does nothing if another process has created the file. The
    key is first written to a temporary file. Otherwise a full disk could leave an empty key file, and every
    later start would fail.
    """
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(Fernet.generate_key().decode())
        os.link(draft, path)
    except FileExistsError:
        return  # another process was first
    finally:
        Path(draft).unlink()
