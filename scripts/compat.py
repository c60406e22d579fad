"""Runs tests/compat: our agent server, driven by the unmodified openhands-sdk in an environment of its own.

The SDK needs Python 3.12, which need not be ours: SLIPWAY_COMPAT_PYTHON names one; else one is looked
for on PATH and among pyenv's. Arguments are pytest's; `--prepare` alone makes the environment. Ends with
NO_INTERPRETER when there is none.
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
    """Those that run and are of the version. A shim of pyenv may be there and refuse to."""
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
    """Makes the environment, unless it is there and has what the lock says."""
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
