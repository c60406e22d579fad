"""The class of the results that the checks of `slipway doctor` return, and functions that create results. The
results are texts for users.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app_server.core.errors import StartCode, StartFailure

GIBIBYTE = 1024**3
SPARE_BYTES = 5 * GIBIBYTE
NEEDED_BYTES = GIBIBYTE


@dataclass(frozen=True)
class Finding:
    """The result of one check of the command `slipway doctor`.

    `name`: what was checked. `state`: "error" means that sandboxes cannot work; "warning" means that they
    work with a disadvantage. `cause`: a sentence about the result. `fix`: what the user should do; empty if
    there is no problem. `code`: the code of the error that this problem causes at the start of a sandbox, see
    docs/start-failures.md; None if it causes no such error.
    """

    name: str
    state: Literal["ok", "warning", "error"]
    cause: str
    fix: str = ""
    code: StartCode | None = None


def well(name: str, cause: str) -> Finding:
    return Finding(name, "ok", cause)


def warned(name: str, cause: str, fix: str, code: StartCode | None = None) -> Finding:
    return Finding(name, "warning", cause, fix, code)


def failed(name: str, cause: str, fix: str, code: StartCode | None = None) -> Finding:
    return Finding(name, "error", cause, fix, code)


def fails_starts(name: str, failure: StartFailure) -> Finding:
    """Converts a StartFailure, which a check has raised, to a Finding with the state "error". A problem that
    is reported as a StartFailure makes the start of every sandbox fail. `name`: what was checked.
    """
    return failed(name, f"{failure.cause} {failure.output}".strip(), failure.fix, failure.code)


def check_disk(name: str, path: Path) -> Finding:
    """Checks whether the disk that contains `path` has enough free space, and returns the result.
    The path need not exist yet. Blocks the caller.
    """
    while not path.exists():
        path = path.parent
    free = shutil.disk_usage(path).free
    cause = f"{free / GIBIBYTE:.1f} GiB are free at {path}."
    fix = f"Free some room at {path}; `slipway images prune` and `docker builder prune` may help."
    if free < NEEDED_BYTES:
        return failed(name, cause, fix)
    return warned(name, cause, fix) if free < SPARE_BYTES else well(name, cause)
