"""The agent server that ours is measured against, in an environment of its own.

It comes from the package registry and needs Python 3.12 and some 2 GB of disk.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.compat import VERSION as PYTHON_VERSION
from scripts.compat import interpreters

VERSION = "1.58.2"
_PACKAGES = [f"openhands-{name}=={VERSION}" for name in ("agent-server", "tools", "sdk")]
# Its lower bound is newer than what some registries carry.
_OVERRIDES = "certifi\n"


class NoPeerError(Exception):
    """There is nothing to compare with; the text says why."""


def installed(directory: Path) -> Path:
    """Its interpreter; the environment is made if it is not there yet."""
    python = directory / "bin" / "python"
    complete = directory / "complete"
    if not complete.exists():
        shutil.rmtree(directory, ignore_errors=True)
        _install(directory, python)
        complete.touch()
    return python


def _install(directory: Path, python: Path) -> None:
    interpreter = next(interpreters(), None)
    if interpreter is None:
        raise NoPeerError(f"There is no Python {PYTHON_VERSION} on this machine.")
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "--quiet", "--python", interpreter, str(directory)], check=True)
    overrides = directory / "overrides.txt"
    overrides.write_text(_OVERRIDES)
    install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
    try:
        subprocess.run([*install, "--override", str(overrides), *_PACKAGES], env=_environment(), check=True)
    except subprocess.CalledProcessError as error:
        raise NoPeerError(f"openhands-agent-server {VERSION} cannot be installed here.") from error


def _environment() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
