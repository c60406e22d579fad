"""The manifest of a backup: the last member of its tar file, `manifest.json`."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

MANIFEST = "manifest.json"
DATABASE = "database"
HOME = "home"
KEY_FILE = "encryption.key"

KEY_CHECK = "the encryption key fits"
"""The text that `Manifest.key_check` decrypts to."""


class Manifest(BaseModel):
    """What a backup contains. `sha256`: the SHA-256 in hexadecimal of each regular file in the tar file, by
    its name there.

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
