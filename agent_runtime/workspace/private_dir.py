"""A directory for the private files of one conversation. Other users cannot read it."""

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from agent_runtime.workspace.processes import exists

_NAME = re.compile(r"slipway-(?:shell|browser|kernel|vscode|desktop)-(\d+)-")


def make_private_dir(whose: Literal["shell", "browser", "kernel", "vscode", "desktop"]) -> Path:
    """Creates a directory with mode 0700. Its name contains the id of this process."""
    return Path(tempfile.mkdtemp(prefix=f"slipway-{whose}-{os.getpid()}-"))


def remove_leftovers() -> None:
    """Removes the directories of killed processes, if they belonged to this user. Blocking."""
    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            owner = _NAME.match(entry.name)
            if owner is None or exists(int(owner[1])):
                continue
            if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                shutil.rmtree(entry.path, ignore_errors=True)
