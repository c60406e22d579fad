"""The manifest of a backup: the last member of its tar file, `manifest.json`."""

import os
from datetime import datetime
from typing import Literal
from urllib.parse import quote

from pydantic import BaseModel

MANIFEST = "manifest.json"
DATABASE = "database"
HOME = "home"
KEY_FILE = "encryption.key"

KEY_CHECK = "the encryption key fits"
"""The text that `Manifest.key_check` decrypts to."""


def listed(name: str) -> str:
    """Returns the name of a tar member in percent-encoded form, as `Manifest` contains it. File names are
    bytes, and JSON cannot contain names that are not UTF-8.
    """
    return quote(os.fsencode(name))


class Manifest(BaseModel):
    """The content of `manifest.json`, the description of a backup inside the backup file.

    `sha256`: the SHA-256 of each regular file in the tar file, in hexadecimal, by its `listed` name there.
    `unreadable`: the paths in the home (the server's data directory) that could not be read and are not in
    the tar file, also in the form of `listed`.

    `home`: the path of the home. `schema_revision`: the revision of the database schema. `key_check`:
    `KEY_CHECK`, encrypted with the installation's key.
    """

    format: Literal[1] = 1
    slipway: str
    made_at: datetime
    home: str
    database: Literal["sqlite", "postgresql"]
    schema_revision: str
    has_key: bool
    key_check: str
    sha256: dict[str, str]
    unreadable: list[str]
