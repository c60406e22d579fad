"""The lines that tell a user what a start does."""

from collections.abc import Callable

Report = Callable[[str], None]
"""A callback that gets one line about what a start does or waits for."""
