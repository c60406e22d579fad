"""Speeds up the import of a server's modules."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Turns garbage collection off during imports. Imported modules stay anyway, and scanning them takes a
    quarter of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
