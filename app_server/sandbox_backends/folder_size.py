"""How much a folder holds, asked of `du`, which may not take long."""

from pathlib import PurePath

LIMIT_SECONDS = 20


def measuring(folder: str | PurePath) -> list[str]:
    """The command."""
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
    """Bytes, of what the command wrote; files that came and went meanwhile are no matter."""
    first = output.split(maxsplit=1)[:1]
    return int(first[0]) if first and first[0].isdigit() else None
