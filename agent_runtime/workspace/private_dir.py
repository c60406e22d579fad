"""Creates a private directory for one tool of a conversation, such as the shell. Other users cannot read the
directory.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from agent_runtime.workspace.signals import exists

_NAME = re.compile(r"slipway-(?:shell|browser|kernel|vscode|desktop)-(\d+)-")


def make_private_dir(whose: Literal["shell", "browser", "kernel", "vscode", "desktop"]) -> Path:
    """Creates a temporary directory that only the current user can access (mode 0700) and returns its path.
    The directory's name contains `whose` (the kind of tool that uses it) and the id of this process.
    """
    return Path(tempfile.mkdtemp(prefix=f"slipway-{whose}-{os.getpid()}-"))


def remove_leftovers() -> None:
    """Removes private directories of processes that were killed, if the directories belong to this user. The
    call blocks.
    """
    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            owner = _NAME.match(entry.name)
            if owner is None or exists(int(owner[1])):
                continue
            if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                shutil.rmtree(entry.path, ignore_errors=True)
