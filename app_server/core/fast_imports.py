"""Importing the modules of a server quickly."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Turns garbage collection off: imported modules stay, and searching them takes a quarter of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
