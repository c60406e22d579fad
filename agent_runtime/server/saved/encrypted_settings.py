"""Stores the settings, model profiles and secrets of the user, on an agent server that runs without an app
server.

All saved values are in one encrypted file. A server without a secret key writes nothing to disk, because the
agent's commands may run as the server's user and could read the file.
"""

import base64
import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from agent_runtime.conversation.encrypted_keys import KeyEncryption
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM
from agent_runtime.server.config import Config
from agent_runtime.server.errors import ServerProblem
from agent_runtime.workspace.local import replacing

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

logger = logging.getLogger(__name__)

FILE_NAME = "saved.encrypted"
# How every token of this encryption begins: version 0x80 and a time before the year 36812.
_TOKEN_START = "gAAAA"  # noqa: S105 (no secret)


class StoredSecret(BaseModel):
    model_config = ConfigDict(frozen=True)

    value: str
    description: str | None = None


class Saved(BaseModel):
    """The saved settings, model profiles and secrets of a user. The object is immutable: a change creates a
    copy.
    """

    model_config = ConfigDict(frozen=True)

    agent_settings: JsonObject = {}
    conversation_settings: JsonObject = {}
    misc_settings: JsonObject = {}
    active_profile: str | None = None
    profiles: dict[str, JsonObject] = {}
    secrets: dict[str, StoredSecret] = {}


class EncryptedSettings:
    """The store of the saved settings, model profiles and secrets of the user. The object reads and writes
    the encrypted file in which they are stored. The file is read at the first use.

    Two servers must not use the same file: each would overwrite the changes of the other.
    """

    def __init__(self, config: Config) -> None:
        self._path = config.persistence_dir / FILE_NAME
        keys = (config.secret_key, *config.previous_secret_keys) if config.secret_key else ()
        self._keys = tuple(key.get_secret_value() for key in keys if key)
        self._cipher: MultiFernet | None = None
        self._saved: Saved | None = None

    @property
    def is_kept(self) -> bool:
        """Whether saved values are written to disk, so that they remain available after a restart of the
        server.
        """
        return bool(self._keys)

    @property
    def saved(self) -> Saved:
        if self._saved is None:
            self._saved = self._read()
        return self._saved

    def change(self, **fields: object) -> Saved:
        """Replaces some of the saved values and returns all saved values after the change. If the server has
        a secret key, also writes all saved values to disk atomically; otherwise they are only in memory.

        `fields`: the new values. Each name is a field of the class Saved; fields that are not given do not
        change. Raises ServerProblem 507 if the file cannot be written; then no value changes.
        """
        after = Saved.model_validate({**dict(self.saved), **fields})
        if self.is_kept:
            self._write(after)
        self._saved = after
        return after

    def llm_of(self, name: str) -> LLM | None:
        """Returns the model of the model profile `name` (saved model settings with a name). Returns None if
        the profile does not exist or is not valid.
        """
        try:
            return LLM.model_validate(self.saved.profiles[name])
        except (KeyError, ValidationError):
            return None

    def encrypt(self, text: str) -> str:
        """Encrypts a text, such as a secret, and returns the encrypted text. Raises ServerProblem 409 if the
        server has no secret key.

        A client can store the encrypted text and send it back later, but cannot read the secret. The server
        then decrypts the text with `decrypt`.
        """
        return self._fernet().encrypt(text.encode()).decode()

    def decrypt(self, text: str) -> str:
        """Decrypts a text that `encrypt` has returned. Returns any other text unchanged."""
        if not self.is_kept or not is_token(text):
            return text
        decrypted = self._decrypted(text)
        return text if decrypted is None else decrypted  # the text may only look like a token

    @property
    def key_encryption(self) -> KeyEncryption | None:
        """The functions that encrypt and decrypt the API keys of a conversation (such as the key for its
        model), which are stored on disk. None if the server has no secret key; these API keys are then not
        stored on disk.
        """
        return (
            KeyEncryption(self.encrypt, self._decrypted, is_renewing=len(self._keys) > 1)
            if self.is_kept
            else None
        )

    def _decrypted(self, token: str) -> str | None:
        """Decrypts a text that the method `encrypt` has returned. Returns None if none of the server's secret
        keys can decrypt the text.
        """
        from cryptography.fernet import InvalidToken  # loaded at the first use: 30 ms

        try:
            return self._fernet().decrypt(token.encode()).decode()
        except InvalidToken:
            return None

    def _read(self) -> Saved:
        if not self.is_kept or not self._path.exists():
            return Saved()
        from cryptography.fernet import InvalidToken  # as above

        try:
            saved = Saved.model_validate_json(self._fernet().decrypt(self._path.read_bytes()))
        except (InvalidToken, ValidationError) as error:
            raise ServerProblem(
                500,
                "saved_unreadable",
                f"What was saved in {self._path} cannot be decrypted.",
                "Start the server with its old OH_SECRET_KEY, or add that one as OH_PREVIOUS_SECRET_KEYS_0.",
            ) from error
        if len(self._keys) > 1:
            self._write(saved)  # from now on with the newest key
        return saved

    def _write(self, saved: Saved) -> None:
        token = self._fernet().encrypt(saved.model_dump_json().encode())
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with replacing(self._path) as file:
                file.write(token)
            self._path.chmod(0o600)
        except OSError as error:
            raise ServerProblem(
                507, "not_saved", f"It could not be saved: {error.strerror}. Nothing has changed."
            ) from error

    def _fernet(self) -> "MultiFernet":
        if not self._keys:
            raise ServerProblem(
                409, "no_secret_key", "This server has no key to encrypt with.", "Set OH_SECRET_KEY."
            )
        if self._cipher is None:
            self._cipher = _cipher(self._keys)
        return self._cipher


def is_token(text: str) -> bool:
    """Returns whether `text` begins like a text that `EncryptedSettings.encrypt` has returned."""
    return text.startswith(_TOKEN_START)


def merged(before: JsonObject, changes: JsonObject, *, is_kept: Callable[[object], bool]) -> JsonObject:
    """Returns a copy of the object `before`, changed by the entries of `changes`. An entry of `changes` is
    added, or replaces the entry with the same name. If its value is null, the entry is removed. If its value
    is an object, the function merges this object with the old object in the same way.

    `is_kept`: a function that gets a new value and returns True if the old value must stay. An example is the
    mask: clients see it in place of a secret and send it back unchanged.
    """
    after = dict(before)
    for name, value in changes.items():
        known = after.get(name)
        if value is None:
            after.pop(name, None)
        elif isinstance(value, dict):
            after[name] = merged(known if isinstance(known, dict) else {}, value, is_kept=is_kept)
        elif not is_kept(value):
            after[name] = value
    return after


def _cipher(keys: Sequence[str]) -> "MultiFernet":
    from cryptography.fernet import Fernet, MultiFernet  # as above

    digests = [hashlib.sha256(key.encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
