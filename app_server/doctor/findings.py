"""The findings of the command `slipway doctor`: the results of its checks, as texts for users."""

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

    `name`: what was checked. `state`: "error" means that sandboxes cannot work. `cause`: a sentence about the
    result. `fix`: what to do; empty if there is no problem. `code`: the code of the error that the start of a
    sandbox would raise (docs/start-failures.md).
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
    """Turns a StartFailure that a check has raised into a Finding with the state "error". The same failure
    would prevent the start of a sandbox.
    """
    return failed(name, f"{failure.cause} {failure.output}".strip(), failure.fix, failure.code)


def check_disk(name: str, place: Path) -> Finding:
    """Checks whether the disk with the path `place` has enough free space. The path need not exist yet.
    Blocks.
    """
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    cause = f"{free / GIBIBYTE:.1f} GiB are free at {place}."
    fix = f"Free some room at {place}; `slipway images prune` and `docker builder prune` may help."
    if free < NEEDED_BYTES:
        return failed(name, cause, fix)
    return warned(name, cause, fix) if free < SPARE_BYTES else well(name, cause)
