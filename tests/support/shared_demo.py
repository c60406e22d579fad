"""Makes the demo repository once in each process, and copies it to the home directory of each app.

Otherwise each start of an app server in a new home runs git three times.
"""

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from app_server import demo, lifespan


def share_demo() -> None:
    """Makes all apps of this process, and of processes forked from it, copy the demo repository."""
    vars(lifespan)["demo"] = SimpleNamespace(make_repository=_copy_repository)


def _copy_repository(home: Path) -> Path:
    target = demo.repository_path(home)
    if not target.exists():
        shutil.copytree(_repository(), target, symlinks=True)
    return target


@cache
def _repository() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="slipway-demo-"))
    atexit.register(_remove, os.getpid(), folder)
    return demo.make_repository(folder)


def _remove(owner: int, folder: Path) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
