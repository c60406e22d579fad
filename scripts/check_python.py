"""Checks that this Python can create the virtual environment (see Makefile). If not, ends with an error
message of one sentence that says what to install.
"""

import sys

if not (3, 11) <= sys.version_info < (3, 14):
    version = ".".join(str(part) for part in sys.version_info[:3])
    sys.exit(
        f"Slipway needs Python 3.11, 3.12 or 3.13; this is {version}. Choose one: make PYTHON=python3.11 …"
    )

try:
    import ensurepip  # noqa: F401
    import venv  # noqa: F401
except ModuleNotFoundError:
    sys.exit("Python cannot make virtual environments here. On Debian: sudo apt-get install python3-venv")
