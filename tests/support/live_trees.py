"""Reads directories in which other processes create and delete files at the same time."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_PIECE_BYTES = 4 * 1024**2


def files_below(root: Path) -> Iterator[Path]:
    """Yields every file below `root`, and links to files. Unlike Path.rglob it ignores directories that
    disappear.
    """
    for folder, _, names in os.walk(root):
        yield from (path for name in names if (path := Path(folder, name)).is_file())


def contents_below(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Yields every file below `root` with its content. Leaves out files that disappear."""
    for path in files_below(root):
        try:
            yield path, path.read_bytes()
        except FileNotFoundError:
            continue


def files_with(root: Path, *texts: str) -> list[Path]:
    """Returns the files below `root` that contain one of the texts. It does not read the holes of sparse
    files.
    """
    wanted = [text.encode() for text in texts]
    return [path for path in files_below(root) if _holds(path, wanted)]


def _holds(path: Path, wanted: list[bytes]) -> bool:
    # A text across the border of two pieces is found: the end of each piece is put before the next one.
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
        pass  # deleted meanwhile
    return False


def _pieces(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yields the offset and content of each stored piece of a file. Holes of a sparse file are left out."""
    size, start = os.fstat(file.fileno()).st_size, 0
    while start < size:
        try:
            start = os.lseek(file.fileno(), start, os.SEEK_DATA)
            hole = os.lseek(file.fileno(), start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return  # the rest is a hole, or the file was truncated meanwhile
        file.seek(start)
        piece = file.read(min(hole - start, _PIECE_BYTES))
        if not piece:
            return  # the file was truncated meanwhile
        yield start, piece
        start += len(piece)
