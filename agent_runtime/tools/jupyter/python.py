"""Chooses the Python that runs cells: the project's Python if ipykernel is installed there, otherwise the
agent server's Python.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from agent_runtime.workspace.processes import run_program

_LOOK_SECONDS = 30.0
_PROJECT_PYTHONS = (".venv/bin/python", "venv/bin/python")


async def find_python(working_dir: Path, environment: Mapping[str, str]) -> str:
    """Returns the path of the Python in the virtual environment of `working_dir` (the project) if ipykernel
    is installed there. Otherwise returns the path of the agent server's Python. `environment`: the
    environment variables for the program that looks for ipykernel.
    """
    for relative in _PROJECT_PYTHONS:
        python = working_dir / relative
        if python.exists() and await _has_ipykernel(python, environment):
            return str(python)
    return sys.executable


async def _has_ipykernel(python: Path, environment: Mapping[str, str]) -> bool:
    look = "import importlib.util as u, sys; sys.exit(u.find_spec('ipykernel') is None)"
    try:
        found = await run_program(
            python, "-c", look, cwd=python.parent, environment=environment, timeout_seconds=_LOOK_SECONDS
        )
    except (TimeoutError, OSError):  # broken, or not for this machine
        return False
    return found.exit_code == 0
