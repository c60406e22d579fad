"""Packs workspaces as tar streams, unpacks the streams, and checks that they contain only plain data. The
files of a workspace are not trusted. All functions block the thread.

Names in a tar begin with a part of the workspace (`project/…`). A tar contains only directories, regular
files, symbolic links (which are never followed here) and hard links between its members. It contains no
devices, no owners and no set-uid bits.
"""

import errno
import io
import os
import stat
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from app_server.core.errors import StartFailure

PROJECT = "project"
CONVERSATIONS = "conversations"
HOME = "home"
"""The top directory that is the agent's home, in workspaces that have one. Caches are not stored in it."""
PARTS = (PROJECT, CONVERSATIONS, HOME)

MAX_MEMBERS = 5_000_000
MAX_NAME_BYTES = 3500
MAX_DEPTH = 400
_PIECE_BYTES = 1024**2
_BUFFER_BYTES = 256 * 1024
_END_BYTES = 1024
"""The number of zero bytes at the end of a complete tar."""


class TarSource(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class TarSink(Protocol):
    def write(self, piece: bytes, /) -> int: ...


def clean(raw: TarSource, part: str, tar: tarfile.TarFile, *, owner: int, folder: str | None = None) -> None:
    """Copies the directories, files and links below `part` (a top directory of the workspace) from the
    untrusted tar `raw` to `tar`. `owner`: the user id that the copied members get. `folder`: a directory in
    `part`; if given, only its content is copied: for the folder `src`, `project/src/a.py` becomes
    `project/a.py`. Raises StartFailure `archive_failed` if `raw` is damaged, incomplete or too large.
    """
    watched = _Watched(raw)
    skipped: set[str] = set()
    try:
        with reading(watched) as source:
            for count, member in enumerate(members(source)):
                _check_measure(member.name, count)
                if folder and not _move_up(member, f"{part}/{folder}", part):
                    continue
                if not _may_stay(member, part) or (member.islnk() and member.linkname in skipped):
                    skipped.add(member.name)
                    continue
                content = source.extractfile(member) if member.isreg() else None
                tar.addfile(_plain(member, owner), content)
                _forget(tar)
    except tarfile.TarError as error:
        raise cannot_move(f"The engine gave out a damaged workspace: {error}.") from error
    watched.drain()
    if watched.tail != bytes(_END_BYTES):
        raise cannot_move("The engine gave out a workspace that was cut off.")


def pack(
    workspace: Path, parts: Sequence[str], tar: tarfile.TarFile, *, owner: int, folder: str | None = None
) -> None:
    """Adds those top directories `parts` of `workspace` that exist to `tar`. Files may change meanwhile.
    `owner`: the user id that the members get. `folder`: a directory in each part; if given, only its content
    is added: for the folder `src`, `project/src/a.py` becomes `project/a.py`. Raises StartFailure
    `archive_failed` for too many files or a path that is too long or deep, OSError for an unreadable file.
    """
    for part in parts:
        top = workspace / part / folder if folder else workspace / part
        if stat.S_ISDIR(_mode_of(workspace / part)) and stat.S_ISDIR(_mode_of(top)):
            _Packing(tar, owner).add_tree(top, part)


def unpack(source: TarSource, folder: Path) -> None:
    """Unpacks a workspace tar into the empty directory `folder`. Never changes files outside of `folder`:
    symbolic links are created last, so no member is written through a link. Raises StartFailure
    `archive_failed` if the tar is damaged or contains something that is not allowed, such as a device.
    """
    directories: list[tarfile.TarInfo] = []
    links: dict[str, str] = {}
    try:
        with reading(source) as tar:
            for count, member in enumerate(members(tar)):
                _check_measure(member.name, count)
                if not _may_stay(member, member.name.split("/")[0]):
                    raise cannot_move(f"The archive holds {member.name!r}, which no workspace may hold.")
                _lay_out(tar, member, folder, directories, links)
        for name in links:
            _parent(folder, name)
        for name, target in links.items():
            (folder / name).symlink_to(target)
        for member in reversed(directories):
            (folder / member.name).chmod(member.mode & 0o777)
            os.utime(folder / member.name, (member.mtime, member.mtime), follow_symlinks=False)
    except (tarfile.TarError, EOFError) as error:
        raise cannot_move(f"The archive is damaged: {error}.") from error


def below(source: TarSource, folder: str) -> Iterator[bytes]:
    """Yields the bytes of a copy of the tar `source`, with `folder/` put before the name of each member."""
    with reading(source) as tar:
        for member in members(tar):
            content = tar.extractfile(member) if member.isreg() else None
            moved = _plain(member, member.uid)
            moved.name = f"{folder}/{moved.name}"
            moved.linkname = f"{folder}/{moved.linkname}" if moved.islnk() else moved.linkname
            yield moved.tobuf(tarfile.PAX_FORMAT)
            while content and (piece := content.read(_PIECE_BYTES)):
                yield piece
            yield bytes(-moved.size % tarfile.BLOCKSIZE)
    yield bytes(tarfile.RECORDSIZE)


def reading(source: TarSource) -> tarfile.TarFile:
    """Opens the stream `source` as a tar for reading, and returns the tar."""
    return tarfile.open(fileobj=source, mode="r|", bufsize=_BUFFER_BYTES)  # type: ignore[call-overload, no-any-return]


def members(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yields the members of a streamed tar one after the other, and keeps only one of them in memory."""
    for member in tar:
        _forget(tar)
        yield member


@contextmanager
def writing(sink: TarSink) -> Iterator[tarfile.TarFile]:
    """Opens a tar for writing to `sink` in a `with` block. If the block fails, the tar is incomplete."""
    gate = _Gate(sink)
    tar = tarfile.open(  # noqa: SIM115 (closed only when all went well)
        fileobj=gate, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_BUFFER_BYTES
    )  # type: ignore[call-overload]
    try:
        yield tar
        tar.close()
    finally:
        gate.is_open = False


class ChunkReader(io.RawIOBase):
    """A readable file-like object whose content comes from an iterator of byte strings."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._unread = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._unread:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._unread = memoryview(piece)
        count = min(len(buffer), len(self._unread))
        buffer[:count] = self._unread[:count]
        self._unread = self._unread[count:]
        return count


class _Gate:
    """A file-like object that passes writes on to `sink` until `writing` sets `is_open` to False. Ignores
    later writes, so that after an error the tar library cannot write the end of an incomplete tar.
    """

    def __init__(self, sink: TarSink) -> None:
        self._sink = sink
        self.is_open = True

    def write(self, piece: bytes) -> int:
        return self._sink.write(piece) if self.is_open else len(piece)


class _Packing:
    def __init__(self, tar: tarfile.TarFile, owner: int) -> None:
        self._tar = tar
        self._owner = owner
        self._count = 0
        self._seen: dict[tuple[int, int], str] = {}
        """The first name of each file that has several names (hard links), by device and inode."""

    def add_tree(self, top: Path, part: str) -> None:
        """Adds the directory `top` with its content to the tar. part: the directory's name in the tar."""
        for path, directories, files, directory in os.fwalk(top, onerror=_raise, follow_symlinks=False):
            prefix = f"{part}{path.removeprefix(str(top))}"
            if prefix.count("/") > MAX_DEPTH:
                raise cannot_move(f"Its directories are nested more than {MAX_DEPTH} deep.")
            self._add(prefix, os.fstat(directory), tarfile.DIRTYPE)
            # Links to directories are listed among the directories, but fwalk does not enter them.
            for name in [*directories, *files]:
                try:
                    self._add_entry(f"{prefix}/{name}", name, directory)
                except FileNotFoundError:
                    continue  # gone since it was listed

    def _add_entry(self, path: str, name: str, directory: int) -> None:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            self._add(path, status, tarfile.SYMTYPE, link=os.readlink(name, dir_fd=directory))
        elif stat.S_ISREG(status.st_mode):
            self._add_file(path, name, directory)

    def _add_file(self, path: str, name: str, directory: int) -> None:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
        except OSError as error:
            if error.errno == errno.ELOOP:
                return  # has become a link meanwhile, so it is left out
            raise
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return
            identity = (status.st_dev, status.st_ino)
            first = self._seen.get(identity)
            if first is not None:
                self._add(path, status, tarfile.LNKTYPE, link=first)
                return
            if status.st_nlink > 1:
                self._seen[identity] = path
            self._add(
                path,
                status,
                tarfile.REGTYPE,
                content=io.BufferedReader(_Exactly(file, status.st_size), _PIECE_BYTES),
            )

    def _add(
        self,
        path: str,
        status: os.stat_result,
        kind: bytes,
        *,
        link: str = "",
        content: IO[bytes] | None = None,
    ) -> None:
        _check_measure(path, self._count)
        self._count += 1
        member = tarfile.TarInfo(path)
        member.type, member.linkname = kind, link
        member.mode, member.mtime = stat.S_IMODE(status.st_mode), status.st_mtime
        member.size = status.st_size if kind == tarfile.REGTYPE else 0
        self._tar.addfile(_plain(member, self._owner), content)
        _forget(self._tar)


class _Exactly(io.RawIOBase):
    """A reader that returns exactly `size` bytes of a file, because the tar already contains this size. If
    the file has become shorter, zeros replace the missing bytes. If it has become longer, the additional
    bytes are left out.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._remaining_bytes = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), self._remaining_bytes)
        buffer[:wanted] = self._file.read(wanted).ljust(wanted, b"\0")
        self._remaining_bytes -= wanted
        return wanted


class _Watched:
    """A reader that stores in `tail` the last bytes that it has read, to check whether a tar is complete."""

    def __init__(self, file: TarSource) -> None:
        self._file = file
        self.tail = b""

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self.tail = (self.tail + piece[-_END_BYTES:])[-_END_BYTES:]
        return piece

    def drain(self) -> None:
        while self.read(_PIECE_BYTES):
            pass


def _lay_out(
    tar: tarfile.TarFile,
    member: tarfile.TarInfo,
    folder: Path,
    directories: list[tarfile.TarInfo],
    links: dict[str, str],
) -> None:
    path = _parent(folder, member.name)
    if member.isdir():
        path.mkdir(mode=0o700, exist_ok=True)
        directories.append(member)
    elif member.issym():
        links[member.name] = member.linkname
    elif member.islnk() and member.linkname in links:
        links[member.name] = links[member.linkname]
    elif member.islnk():
        os.link(folder / member.linkname, path, follow_symlinks=False)
    else:
        content = tar.extractfile(member)
        assert content is not None, "it is a regular file"
        _write(path, content, member)


def _write(path: Path, content: IO[bytes], member: tarfile.TarInfo) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while piece := content.read(_PIECE_BYTES):
            file.write(piece)
        file.flush()
        os.fchmod(descriptor, member.mode & 0o777)
        os.utime(descriptor, (member.mtime, member.mtime))


def _parent(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _forget(tar: tarfile.TarFile) -> None:
    # It would keep millions of members in memory.
    tar.members.clear()  # type: ignore[attr-defined]


def _move_up(member: tarfile.TarInfo, folder: str, part: str) -> bool:
    """Renames a tar member from a path in `folder` to a path in `part`. For `project/src` and `project`, the
    member `project/src/a.py` becomes `project/a.py`. Returns False if the member is outside of `folder`.
    """
    names = [member.name, *([member.linkname] if member.islnk() else [])]
    if any(name != folder and not name.startswith(f"{folder}/") for name in names):
        return False
    member.name = part + member.name.removeprefix(folder)
    if member.islnk():
        member.linkname = part + member.linkname.removeprefix(folder)
    return True


def _may_stay(member: tarfile.TarInfo, part: str) -> bool:
    names = [member.name, *([member.linkname] if member.islnk() else [])]
    if part not in PARTS or not all(_is_below(name, part) for name in names):
        return False
    if "/" not in member.name:
        return member.isdir()
    return member.isreg() or member.isdir() or member.issym() or member.islnk()


def _is_below(name: str, part: str) -> bool:
    first, *others = name.split("/")
    return first == part and not {"", ".", ".."} & set(others)


def _plain(member: tarfile.TarInfo, owner: int) -> tarfile.TarInfo:
    plain = tarfile.TarInfo(member.name)
    plain.type = tarfile.REGTYPE if member.isreg() else member.type
    plain.size, plain.linkname = (member.size if member.isreg() else 0), member.linkname
    plain.mode, plain.mtime = member.mode & 0o777, max(0, member.mtime)
    plain.uid = plain.gid = owner
    return plain


def _check_measure(name: str, count: int) -> None:
    if count >= MAX_MEMBERS:
        raise cannot_move(f"It has more than {MAX_MEMBERS} files.")
    if len(os.fsencode(name)) > MAX_NAME_BYTES:
        raise cannot_move(f"A path in it is longer than {MAX_NAME_BYTES} bytes.")


def _mode_of(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return 0


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def cannot_move(cause: str) -> StartFailure:
    return StartFailure(
        "archive_failed",
        f"The workspace cannot be moved: {cause}",
        fix="Fix that and try again. The workspace or its archive is as it was.",
    )
