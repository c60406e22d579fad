"""How modules are brought into memory: quickly, and only those that are used."""

import gc
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_OF_UVICORN = {
    "Config": "uvicorn.config",
    "Server": "uvicorn.server",
    "run": "uvicorn.main",
}
"""What the package offers, and where it comes from."""


@contextmanager
def loading() -> Iterator[None]:
    """Nothing that is imported is ever garbage: looking for some meanwhile takes a tenth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def leave_out_unused() -> None:
    """What others import if it is there, we never use, and every server would hold.

    A module that is None cannot be imported: both importers take that for a machine without it.
    """
    # The command line that comes with httpx brings a terminal library of 4 MB, wherever it is installed.
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
    # FastAPI asks of each model whether it is one of pydantic's first version: 2 MB.
    sys.modules["pydantic.v1"] = None  # type: ignore[assignment]
    sys.modules["uvicorn"] = _uvicorn()


def _uvicorn() -> ModuleType:
    """The package, which loads each of its names at first use.

    Its command line, which is not used here, would bring click and multiprocessing: 2 MB.
    """
    spec = importlib.util.find_spec("uvicorn")
    assert spec is not None
    package = importlib.util.module_from_spec(spec)

    def find(name: str) -> Any:
        if name not in _OF_UVICORN:
            raise AttributeError(name)
        return getattr(importlib.import_module(_OF_UVICORN[name]), name)

    vars(package)["__getattr__"] = find
    return package
