"""The type of a callback that receives progress lines while something starts, such as the server or a
sandbox.
"""

from collections.abc import Callable

Report = Callable[[str], None]
"""A callback that receives one line of text about the progress of a start."""
