"""Checks that files which a person has approved still have the approved content. Changed files must not be
run.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

ApprovedFiles = Mapping[str, str]
"""The SHA-256 of each file's content, by its absolute path."""


def objection(approved: ApprovedFiles) -> str | None:
    """Returns the reason why the files may not be run, as text: a file has changed since its approval or
    cannot be read. Returns None if all files are unchanged. The function blocks; call it right before the
    files are run.
    """
    for path, sha256 in approved.items():
        try:
            content = Path(path).read_bytes()
        except OSError:
            return f"{path} was approved and cannot be read any more, so nothing of this was run."
        if hashlib.sha256(content).hexdigest() != sha256:
            return f"{path} has changed since it was approved, so nothing of this was run."
    return None
