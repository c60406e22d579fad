"""Keeps the data of a Docker engine that has one image, so that other engines can link its files.

Linking takes seconds, `docker load` a minute. Engines never change the layers of an image, so several
engines may share the files by hard links.
"""

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ON_DISK = Path("/var/tmp")  # noqa: S108 (shared by all runs of the tests)
"""The directory for large temporary files. Unlike the one for other temporary files, it is not in memory."""

_FOLDER = ON_DISK / "slipway-test-engine-images"
_UNUSED_SECONDS = 3 * 3600


@contextmanager
def stored_image(image: str) -> Iterator[Path]:
    """Yields the path of the folder that stores the data of an engine with only this image.

    If the folder does not exist yet, the caller must store the data there. A lock makes other callers wait
    until the `with` block ends.
    """
    command = ["docker", "image", "inspect", "--format", "{{.Id}}", image]
    image_id = subprocess.check_output(command, text=True).strip().removeprefix("sha256:")
    _FOLDER.mkdir(exist_ok=True)
    with (_FOLDER / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stored = _FOLDER / image_id[:20]
        yield stored
        os.utime(stored)


def link_image(source: Path, target: Path) -> None:
    """Links the image files of the engine data in `source` into `target`. The engine of `target` must not
    run.
    """
    (target / "overlay2").mkdir(parents=True, exist_ok=True)
    _copy("-al", source / "overlay2", target / "overlay2")
    (target / "image").mkdir(exist_ok=True)
    _copy("-a", source / "image", target / "image")


def keep_image(source: Path, stored: Path) -> None:
    """Stores the image of the engine data in `source`. Removes stored images that were not used for three
    hours.
    """
    for other in _FOLDER.iterdir():
        if other.is_dir() and other.stat().st_mtime < time.time() - _UNUSED_SECONDS:
            shutil.rmtree(other)
    unfinished = _FOLDER / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    link_image(source, unfinished)
    unfinished.rename(stored)


def _copy(how: str, source: Path, target: Path) -> None:
    subprocess.run(["cp", how, f"{source}/.", str(target)], check=True)
