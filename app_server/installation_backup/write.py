"""Writes a backup of the installation: a compressed tar file with the database, the files of the home (the
server's data directory) and a manifest.
"""

import asyncio
import gzip
import hashlib
import io
import os
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from app_server.core.config import Config
from app_server.core.database import Database, now
from app_server.core.encryption import load_cipher
from app_server.core.errors import ConfigurationError
from app_server.core.migrations import revision_of
from app_server.core.version import VERSION
from app_server.installation_backup.databases import dump, sqlite_file
from app_server.installation_backup.home_files import UNFINISHED_COPY, files_of
from app_server.installation_backup.manifest import (
    DATABASE,
    HOME,
    KEY_CHECK,
    KEY_FILE,
    MANIFEST,
    Manifest,
    listed,
)

_COMPRESSION = 3
_PIECE_BYTES = 1024**2


def write_backup_file(config: Config, target: Path, *, with_key: bool) -> Manifest:
    """Writes a backup of the installation to the new file `target`, which only its owner can read (mode
    0600). Returns the backup's manifest. The function blocks its thread. `with_key`: whether the backup
    contains the key that decrypts the stored secrets.

    `target` appears only when the whole backup is on the disk. Raises ConfigurationError if `target` exists
    or lies in the home (the server's data directory).
    """
    if target.exists():
        raise ConfigurationError(f"{target} exists already. Choose another name.")
    if target.resolve().is_relative_to(config.home.resolve()):
        raise ConfigurationError(
            "A backup cannot be written into the home that it contains. Choose another directory."
        )
    descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            manifest = write_backup(config, file, with_key=with_key)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, target)
    finally:
        Path(draft).unlink()
    return manifest


def write_backup(config: Config, sink: IO[bytes], *, with_key: bool) -> Manifest:
    """Writes the database and the files of the home (the server's data directory) to `sink`, as a gzipped
    tar. Returns the backup's manifest. The function blocks its thread. `with_key`: whether the backup
    contains the key that decrypts the stored secrets.

    The server may run while the backup is written: first a consistent copy of the database is written, then
    the files.

    Raises ConfigurationError if no server was ever started in this home, or if PostgreSQL's programs (such as
    pg_dump) are missing.
    """
    revision = asyncio.run(_revision(config))
    with (
        gzip.GzipFile(fileobj=sink, mode="wb", compresslevel=_COMPRESSION) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        return _fill(tar, config, revision, with_key=with_key)


def _fill(tar: tarfile.TarFile, config: Config, revision: str, *, with_key: bool) -> Manifest:
    sha256: dict[str, str] = {}
    unreadable: list[Path] = []
    # The copy is on the disk of the home, because other disks may have less space.
    with tempfile.TemporaryDirectory(dir=config.home, prefix=UNFINISHED_COPY) as folder:
        copy = Path(folder, DATABASE)
        dump(config, copy)
        _add(tar, copy, DATABASE, sha256, config.home)
    left_out = {*_database_files(config), *([] if with_key else [config.home / KEY_FILE])}
    for path in files_of(config.home, left_out, unreadable):
        try:
            _add(tar, path, f"{HOME}/{path.relative_to(config.home).as_posix()}", sha256, config.home)
        except PermissionError:
            unreadable.append(path)
    manifest = Manifest(
        slipway=VERSION,
        made_at=now(),
        home=str(config.home.resolve()),
        database="sqlite" if sqlite_file(config) else "postgresql",
        schema_revision=revision,
        has_key=f"{HOME}/{KEY_FILE}" in sha256,
        key_check=load_cipher(config).encrypt(KEY_CHECK),
        sha256=sha256,
        unreadable=[listed(str(path.relative_to(config.home))) for path in unreadable],
    )
    text = manifest.model_dump_json().encode()
    member = tarfile.TarInfo(MANIFEST)
    member.size, member.mode = len(text), 0o600
    tar.addfile(member, io.BytesIO(text))
    return manifest


def _database_files(config: Config) -> list[Path]:
    """Returns the paths of the SQLite database file and of the two files that SQLite keeps next to it
    (`-wal`, `-shm`). Returns an empty list if the database is PostgreSQL. A backup leaves these files out,
    because it contains a consistent copy of the database.
    """
    file = sqlite_file(config)
    return [file.with_name(file.name + end) for end in ("", "-wal", "-shm")] if file else []


def _add(tar: tarfile.TarFile, path: Path, name: str, sha256: dict[str, str], scratch: Path) -> None:
    """Adds a folder, a link or a file to the tar. If the file changes while it is copied, adds the bytes that
    were read. Adds nothing if the file has been deleted.

    `name`: the name in the tar. `sha256`: the dictionary to which the checksum of a regular file is added.
    `scratch`: a folder for a temporary copy of the file. Raises PermissionError, and adds nothing, if the
    file cannot be read.
    """
    try:
        member = tar.gettarinfo(path, name)
        if not (member.isfile() or member.islnk()):
            tar.addfile(member)
            return
        with path.open("rb") as source, tempfile.TemporaryFile(dir=scratch) as copy:
            # A hard link is stored as a separate file, so that each name has a checksum.
            member.type, member.linkname = tarfile.REGTYPE, ""
            # A running command may shorten the file. So the size in the header is the number of bytes that
            # were read.
            sha256[listed(name)], member.size = _copy(source, copy)
            copy.seek(0)
            tar.addfile(member, copy)
    except FileNotFoundError:
        return  # removed meanwhile


def _copy(source: IO[bytes], copy: IO[bytes]) -> tuple[str, int]:
    """Copies `source` to `copy`. Returns the SHA-256 and the size in bytes of the copied content."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(_PIECE_BYTES):
        digest.update(piece)
        size += copy.write(piece)
    return digest.hexdigest(), size


async def _revision(config: Config) -> str:
    database = Database(config.resolved_database_url)
    try:
        revision = await revision_of(database)
    finally:
        await database.close()
    if revision is None:
        raise ConfigurationError(
            "No server has been started on this database yet: there is nothing to back up."
        )
    return revision
