"""How long tests wait for expected events. A machine may be slow and busy; only a failing test
waits so long.
"""

from collections.abc import Iterator

PATIENCE_SECONDS = 120.0

BUILD_PATIENCE_SECONDS = 900.0
"""The limit for starts that build a whole image, with its packages."""


def pauses_between_looks() -> Iterator[float]:
    """Yields the seconds to wait before each further check of a condition. They grow from 0.02 to 0.15.

    Each check costs processor time, which the awaited process needs.
    """
    pause = 0.02
    while True:
        yield pause
        pause = min(pause * 1.5, 0.15)
