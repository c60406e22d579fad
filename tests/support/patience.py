"""How long tests wait for what has to come. Only a failure takes as long; a machine may be slow and busy."""

from collections.abc import Iterator

PATIENCE_SECONDS = 120.0

BUILD_PATIENCE_SECONDS = 480.0
"""For starts that build a whole image, packages included."""


def pauses_between_looks() -> Iterator[float]:
    """Seconds to wait before each further look: longer and longer, up to 0.15.

    Each look costs processor time that the awaited thing needs.
    """
    pause = 0.02
    while True:
        yield pause
        pause = min(pause * 1.5, 0.15)
