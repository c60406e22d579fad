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
    """The name of a member of the tar file as `Manifest` lists it: percent-encoded.

    Names of files are bytes. Those that are not UTF-8 cannot stand in JSON as they are.
    """
    return quote(os.fsencode(name))


class Manifest(BaseModel):
    """`sha256`: the SHA-256 of each regular file in the tar file, in hexadecimal, by its `listed` name there.
    `unreadable`: what could not be read and is not in the tar file, as paths in the home, `listed` too.

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
