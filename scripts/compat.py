"""Runs the tests in tests/compat. They call Slipway's agent server with the unmodified openhands-sdk, which
is installed in a separate virtual environment.

The SDK needs Python 3.12. Slipway may use another version. The environment variable SLIPWAY_COMPAT_PYTHON
names the interpreter for the SDK; without it, the script searches in PATH and in the versions that pyenv has
installed. The arguments of the script are passed to pytest. With `--prepare`, the script only creates the
environment. The exit code is NO_INTERPRETER if there is no Python 3.12.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUITE = ROOT / "tests" / "compat"
LOCK = SUITE / "requirements.lock"
ENVIRONMENT = ROOT / ".venv-compat"
VERSION = "3.12"
NO_INTERPRETER = 77
# Without the second the SDK's library fetches prices from the internet, thrice.
SETTINGS = {"OPENHANDS_SUPPRESS_BANNER": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def main() -> None:
    interpreter = next(interpreters(), None)
    if interpreter is None:
        sys.stderr.write(
            f"No Python {VERSION} on PATH, with pyenv or in SLIPWAY_COMPAT_PYTHON: NOTHING WAS TESTED.\n"
        )
        sys.exit(NO_INTERPRETER)
    _prepare(interpreter)
    if sys.argv[1:] == ["--prepare"]:
        return
    command = [ENVIRONMENT / "bin" / "pytest", "-c", "pytest.toml", *sys.argv[1:]]
    # A home of its own: the SDK would find the settings and skills of whoever runs this.
    with tempfile.TemporaryDirectory(prefix="slipway-compat-") as home:
        environment = {**os.environ, **SETTINGS, "HOME": home, "SLIPWAY_PYTHON": sys.executable}
        sys.exit(subprocess.run(command, cwd=SUITE, env=environment, check=False).returncode)


def interpreters() -> Iterator[str]:
    """Yields the paths of the interpreters that can be started and have the version 3.12. Each candidate is
    started for this check, because pyenv may provide a command that exists but fails.
    """
    for candidate in _candidates():
        says = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
        asked = subprocess.run([candidate, "-c", says], capture_output=True, text=True, check=False)
        version, _, executable = asked.stdout.strip().partition(" ")
        if asked.returncode == 0 and version == VERSION:
            yield executable


def _candidates() -> Iterator[str]:
    if named := os.environ.get("SLIPWAY_COMPAT_PYTHON"):
        yield named
        return
    if found := shutil.which(f"python{VERSION}"):
        yield found
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True).stdout.strip()
        yield from map(str, sorted(Path(root).glob(f"versions/{VERSION}.*/bin/python{VERSION}")))


def _prepare(interpreter: str) -> None:
    """Creates the virtual environment for the SDK with this interpreter. Does nothing if the environment
    exists and was created from the present requirements.lock.
    """
    stamp, wanted = ENVIRONMENT / ".installed", hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", interpreter, ENVIRONMENT], check=True)
    # The lock is complete, and overrides one of the requirements in it: nothing is to be resolved again. The
    # configuration in pyproject.toml is for the product's own packages.
    install = ["pip", "install", "--no-config", "--quiet", "--no-deps", "--require-hashes", "-r", LOCK]
    subprocess.run([uv, *install, "--python", ENVIRONMENT / "bin" / "python"], check=True)
    stamp.write_text(wanted)


if __name__ == "__main__":
    main()
