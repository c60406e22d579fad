"""Installs the OpenHands agent server (the peer), with which Slipway's agent server is compared, in a
separate virtual environment.

The peer comes from the package registry. It needs Python 3.12 and about 2 GB of disk space.
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
    """The error that is raised if the peer (the OpenHands agent server) cannot be installed. The text of the
    error says why.
    """


def installed(directory: Path) -> Path:
    """Returns the path of the Python interpreter in the peer's virtual environment. Creates the environment
    in `directory` if it does not exist. Raises NoPeerError if the peer cannot be installed.
    """
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
