"""Measures the size of a folder with `du`, within a time limit."""

from pathlib import PurePath

LIMIT_SECONDS = 20


def measuring(folder: str | PurePath) -> list[str]:
    """Returns the command line that measures the size of the folder in bytes. The command is `du`, with a
    time limit of LIMIT_SECONDS.
    """
    return [
        "timeout",
        str(LIMIT_SECONDS),
        "du",
        "--summarize",
        "--one-file-system",
        "--block-size=1",
        str(folder),
    ]


def measured(output: str) -> int | None:
    """Returns the size in bytes that the output of the `measuring` command contains. Returns None if the
    output does not begin with a number.
    """
    first = output.split(maxsplit=1)[:1]
    return int(first[0]) if first and first[0].isdigit() else None
