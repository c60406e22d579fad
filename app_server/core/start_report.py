"""The lines by which a start tells its user what it does."""

from collections.abc import Callable

Report = Callable[[str], None]
"""Takes one line about what a start does or waits for."""
