"""Directories in which other processes work: what is there now, though parts of it may go meanwhile."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_PIECE_BYTES = 4 * 1024**2


def files_below(root: Path) -> Iterator[Path]:
    """Every file, with links to files. Unlike Path.rglob it bears that a directory vanishes."""
    for folder, _, names in os.walk(root):
        yield from (path for name in names if (path := Path(folder, name)).is_file())


def contents_below(root: Path) -> Iterator[tuple[Path, bytes]]:
    """The same with what is in them."""
    for path in files_below(root):
        try:
            yield path, path.read_bytes()
        except FileNotFoundError:
            continue


def files_with(root: Path, *texts: str) -> list[Path]:
    """The files that hold one of these. A disk of many gigabytes costs what is stored of it."""
    wanted = [text.encode() for text in texts]
    return [path for path in files_below(root) if _holds(path, wanted)]


def _holds(path: Path, wanted: list[bytes]) -> bool:
    # What stands across two pieces is found in the second one, which begins with the end of the first.
    overlap = max(map(len, wanted)) - 1
    rest, end = b"", -1
    try:
        with path.open("rb") as file:
            for start, piece in _pieces(file):
                text = (rest if start == end else b"") + piece
                if any(each in text for each in wanted):
                    return True
                rest, end = text[-overlap:] if overlap else b"", start + len(piece)
    except FileNotFoundError:
        pass  # gone meanwhile
    return False


def _pieces(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Where each begins, and what is stored there: holes are left out."""
    size, start = os.fstat(file.fileno()).st_size, 0
    while start < size:
        try:
            start = os.lseek(file.fileno(), start, os.SEEK_DATA)
            hole = os.lseek(file.fileno(), start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return  # nothing but a hole, or it was cut meanwhile
        file.seek(start)
        piece = file.read(min(hole - start, _PIECE_BYTES))
        if not piece:
            return  # it was cut meanwhile
        yield start, piece
        start += len(piece)
