"""The type of the callback that receives the lines that `slipway serve` prints while the server starts."""

from collections.abc import Callable

Report = Callable[[str], None]
"""A callback that gets one line about what a start does or waits for."""
