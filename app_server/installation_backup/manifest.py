"""Defines the manifest of a backup. The manifest is the file `manifest.json`, the last member of the backup's
tar file. It describes the backup and contains the checksums of its files.
"""

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
"""The text that `Manifest.key_check` contains in encrypted form."""


def listed(name: str) -> str:
    """Returns the percent-encoded name of a file in the tar. The manifest contains the names in this form,
    because a name may contain bytes that are not UTF-8. JSON cannot contain such names.
    """
    return quote(os.fsencode(name))


class Manifest(BaseModel):
    """The content of `manifest.json`, the description of a backup inside the backup's tar file.

    `slipway`: the version that made the backup. `home`: the path of the home (the server's data directory).
    `schema_revision`: the revision of the database schema. `has_key`: whether the backup contains the
    encryption key of the installation. `key_check`: a known text, encrypted with this key; a restore decrypts
    it to find out whether it has the right key.

    `sha256`: the SHA-256 of each regular file in the tar file, in hexadecimal digits. The keys of this
    dictionary are the names in the tar file, percent-encoded. `unreadable`: the paths in the home, also
    percent-encoded, that could not be read and are not in the tar file.
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
