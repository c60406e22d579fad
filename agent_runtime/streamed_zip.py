"""Writes a zip archive that is sent while it is written. The whole archive is never in memory or on disk."""

import io
import zipfile
from collections.abc import Iterator

CHUNK_BYTES = 1 << 18


class StreamedZip:
    """A writer of a zip archive that is sent in pieces. Call `add` for each file and send the bytes that
    `take` yields. At the end, send the bytes that `close` yields.
    """

    def __init__(self) -> None:
        self._written = _Written()
        self.archive = zipfile.ZipFile(self._written, "w", zipfile.ZIP_DEFLATED)
        """The zip archive. Callers use this object directly to write a file piece by piece."""

    def add(self, name: str, content: bytes | str) -> None:
        self.archive.writestr(name, content)

    def take(self, *, at_least: int = CHUNK_BYTES) -> Iterator[bytes]:
        """Yields the bytes of the archive that were written since the last call. Yields nothing if these are
        fewer than `at_least` bytes; the next call then yields them, too.
        """
        if len(self._written.data) >= at_least:
            yield bytes(self._written.data)
            self._written.data.clear()

    def close(self) -> Iterator[bytes]:
        """Writes the end of the archive and yields all bytes that `take` has not yielded yet."""
        self.archive.close()
        yield from self.take(at_least=1)


class _Written(io.RawIOBase):
    """A file object that collects the written bytes until they are sent.

    It does not support seeking, because bytes that were already sent cannot change. So `zipfile` writes the
    archive from start to end, and never goes back to change the header of a file.
    """

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.data += data
        return len(data)
