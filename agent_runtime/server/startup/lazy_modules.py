"""Makes the server start faster and use less memory: speeds up imports, and prevents imports of modules that
the server does not use.
"""

import gc
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_OF_UVICORN = {
    "Config": "uvicorn.config",
    "Server": "uvicorn.server",
    "run": "uvicorn.main",
}
"""The names of the package uvicorn that the server uses, with the modules that define these names."""


@contextmanager
def loading() -> Iterator[None]:
    """Turns Python's garbage collection off in the `with` block. Imports in the block then take about ten
    percent less time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def build_models_late() -> None:
    """Makes pydantic build the validator of each model when the model is first used, not when it is defined.
    Must be called before any model is defined, including the models of FastAPI.

    This makes the start of the server faster, because the server uses only few of its models at its start.
    Without this function, the start takes about ten percent more processor time, and the server needs 3.5 MB
    more memory.
    """
    from pydantic import BaseModel
    from pydantic.warnings import UnsupportedFieldAttributeWarning

    BaseModel.model_config["defer_build"] = True
    # FastAPI gives bodies of routes an alias. It ignores the warning itself, but only at the declaration.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


def leave_out_unused() -> None:
    """Prevents imports of optional modules that this server never uses and that would need memory.

    A module set to None in `sys.modules` cannot be imported. Libraries that try to import it then work as if
    it were not installed.
    """
    # The command line that comes with httpx brings a terminal library of 4 MB, wherever it is installed.
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
    # FastAPI imports it to check whether a model belongs to pydantic 1: 2 MB.
    sys.modules["pydantic.v1"] = None  # type: ignore[assignment]
    sys.modules["uvicorn"] = _uvicorn()


def _uvicorn() -> ModuleType:
    """Returns a replacement for the package uvicorn that imports each of its names at first use.

    The real package would also import its command-line interface, with the packages click and
    multiprocessing, which need 2 MB of memory.
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
