"""The file with the API keys for the client commands, such as `slipway run --server`. It contains one API key
for each server at which the user has signed in with `slipway login`.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError


class ServerCredential(BaseModel):
    """The API key for one server, and the name of the key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    name: str


class UnreadableCredentials(Exception):
    """The error that is raised if the file with the API keys of `slipway login` is damaged, or if other users
    of the machine can read it. The message is for the person at the terminal.
    """


class CredentialFile:
    """The file with the API keys for the servers at which this user has signed in with `slipway login`. It is
    `slipway/credentials.json` in the user's configuration directory; its mode is 0600.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or _directory() / "slipway" / "credentials.json"

    def all(self) -> dict[str, ServerCredential]:
        """Returns all stored API keys. The keys of the returned dict are the addresses of the servers.
        Returns an empty dict if the file does not exist. Raises UnreadableCredentials if the file is damaged,
        or if other users of the machine can read it.
        """
        try:
            with self.path.open() as file:
                mode = os.fstat(file.fileno()).st_mode & 0o777
                text = file.read()
        except FileNotFoundError:
            return {}
        if mode & 0o077:
            raise UnreadableCredentials(
                f"Others on this machine may use {self.path}. Run: chmod 600 {self.path}"
            )
        try:
            return {url: ServerCredential.model_validate(one) for url, one in json.loads(text).items()}
        except (ValueError, ValidationError, AttributeError):
            raise UnreadableCredentials(f"{self.path} is damaged. Remove it and sign in again.") from None

    def save(self, url: str, credential: ServerCredential) -> None:
        """Stores the credential (API key) for the server at `url`, and replaces an earlier credential for
        this server. Raises UnreadableCredentials if the present file is damaged, or if other users of the
        machine can read it.
        """
        with self._locked():
            self._write({**self.all(), url: credential})

    def remove(self, url: str) -> None:
        """Removes the credential (API key) for the server at `url`. Raises UnreadableCredentials if the
        present file is damaged, or if other users of the machine can read it.
        """
        with self._locked():
            self._write({other: one for other, one in self.all().items() if other != url})

    def _write(self, credentials: dict[str, ServerCredential]) -> None:
        text = json.dumps({url: one.model_dump() for url, one in credentials.items()}, indent=2)
        # mkstemp makes files with mode 0600. The rename keeps the file whole when the program is killed.
        descriptor, draft = tempfile.mkstemp(dir=self.path.parent, prefix=f"{self.path.name}.")
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{text}\n")
                file.flush()
                os.fsync(file.fileno())
            Path(draft).replace(self.path)
        finally:
            Path(draft).unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Locks the credentials file during the `with` block, so that no other process writes to it."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _directory() -> Path:
    config_home = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(config_home) if Path(config_home).is_absolute() else Path.home() / ".config"
