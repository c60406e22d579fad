"""Restores a backup of an installation into a new, empty home (the server's data directory)."""

import hashlib
import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import ValidationError

from app_server.core.config import Config
from app_server.core.encryption import Cipher, keys_in
from app_server.core.errors import ConfigurationError
from app_server.core.migrations import is_known
from app_server.installation_backup.databases import has_tables, load_postgresql, sqlite_file
from app_server.installation_backup.manifest import (
    DATABASE,
    HOME,
    KEY_CHECK,
    KEY_FILE,
    MANIFEST,
    Manifest,
    listed,
)

UNFINISHED = "restore-unfinished"
"""The name of a folder in a home (a server's data directory). The folder exists while a backup is being
restored. No server starts while it exists.
"""

_MAY_BE_THERE = frozenset({"server.lock"})
_DAMAGED = "The backup is damaged: {}. Use another one."


def restore_backup(config: Config, source: IO[bytes]) -> Manifest:
    """Restores the backup in `source` into an empty home (the server's data directory). If the database is
    PostgreSQL, it must be empty too. Returns the backup's manifest. The function blocks its thread.

    Checks all checksums and the encryption key before it moves any file to its final place.

    Raises ConfigurationError in each of these cases: the home or the database is not empty; the backup is
    damaged; a newer version of Slipway made the backup; the backup contains another kind of database than
    `config` names; the encryption key is missing or wrong.
    """
    _require_empty(config)
    staging = config.home / UNFINISHED
    try:
        staging.mkdir(mode=0o700)
        manifest = _unpack(source, staging)
        _require_usable(config, manifest, staging)
        if sqlite_file(config) is None:
            load_postgresql(config, staging / DATABASE)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    _put_in_place(config, staging)
    return manifest


def require_complete_home(home: Path) -> None:
    """Checks that no restore into `home` (the server's data directory) was interrupted. After an interrupted
    restore, `home` does not contain all files of the backup. Raises ConfigurationError in this case.
    """
    if (home / UNFINISHED).exists():
        raise ConfigurationError(
            f"A restore into {home} did not finish. Remove all files in it, empty the database if it "
            "is PostgreSQL, and restore the backup again."
        )


def _require_empty(config: Config) -> None:
    home = config.home
    require_complete_home(home)
    if any(path.name not in _MAY_BE_THERE for path in home.iterdir()):
        raise ConfigurationError(
            f"{home} is not empty. Restore into an empty directory: name one with --home or SLIPWAY_HOME."
        )
    file = sqlite_file(config)
    if file.exists() if file else has_tables(config):
        raise ConfigurationError(
            "The database of SLIPWAY_DATABASE_URL is not empty. Restore into an empty database."
        )


def _unpack(source: IO[bytes], staging: Path) -> Manifest:
    """Unpacks the backup's files into the temporary folder `staging`, and compares each file with its
    checksum in the manifest (the description inside the backup). Returns the manifest.
    """
    found: dict[str, str] = {}
    folders: list[tuple[Path, tarfile.TarInfo]] = []
    try:
        with tarfile.open(fileobj=source, mode="r|gz") as tar:
            for member in tar:
                path = _path_of(member, staging)
                if member.isdir():
                    path.mkdir(mode=0o700)
                    folders.append((path, member))
                elif member.issym():
                    path.symlink_to(member.linkname)
                    _own(path, member)
                elif member.isreg():
                    found[listed(member.name)] = _write(tar, member, path)
                else:
                    raise ConfigurationError(_DAMAGED.format(f"{member.name} is a device or a pipe"))
    except (tarfile.TarError, EOFError, zlib.error, FileExistsError) as error:
        raise ConfigurationError(_DAMAGED.format(error)) from error
    for path, member in reversed(folders):  # only now, since a folder may be read-only
        _own(path, member)
        path.chmod(member.mode & 0o777)
    return _checked(staging / MANIFEST, found)


def _path_of(member: tarfile.TarInfo, staging: Path) -> Path:
    """Returns the path to which a member of the tar file is unpacked. The path is below `staging`, the
    temporary folder of the restore. Raises ConfigurationError if the member's name leads out of `staging`.
    """
    parts = PurePosixPath(member.name).parts
    path = staging.joinpath(*parts)
    is_inside = bool(parts) and ".." not in parts and not PurePosixPath(member.name).is_absolute()
    if not is_inside or path.parent.resolve() != staging.resolve().joinpath(*parts[:-1]):
        raise ConfigurationError(_DAMAGED.format(f"{member.name} has a path outside of it"))
    if len(parts) > 1:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> str:
    content = tar.extractfile(member)
    assert content is not None, "it is a regular file"
    with path.open("xb") as file:
        shutil.copyfileobj(content, file)
    _own(path, member)
    path.chmod(member.mode & 0o777)
    os.utime(path, (member.mtime, member.mtime))
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _own(path: Path, member: tarfile.TarInfo) -> None:
    """Sets the owner and the group of the restored file to those that the tar file states. Does nothing if
    this process does not run as root. The files of a sandbox must keep their owner, because the processes of
    the sandbox may run as another user of the machine.
    """
    if os.geteuid() == 0:
        os.chown(path, member.uid, member.gid, follow_symlinks=False)


def _checked(path: Path, found: dict[str, str]) -> Manifest:
    if not path.is_file():
        raise ConfigurationError(_DAMAGED.format("its end is missing"))
    try:
        manifest = Manifest.model_validate_json(path.read_text())
    except (ValidationError, UnicodeDecodeError):
        raise ConfigurationError(_DAMAGED.format("its list of files cannot be read")) from None
    found.pop(MANIFEST)
    for name in sorted({*found, *manifest.sha256}):
        if found.get(name) != manifest.sha256.get(name):
            raise ConfigurationError(_DAMAGED.format(f"{name} is not what was backed up"))
    return manifest


def _require_usable(config: Config, manifest: Manifest, staging: Path) -> None:
    kind = "sqlite" if sqlite_file(config) else "postgresql"
    if manifest.database != kind:
        raise ConfigurationError(
            f"The backup holds a {manifest.database} database, and SLIPWAY_DATABASE_URL names another kind."
        )
    if not is_known(manifest.schema_revision):
        raise ConfigurationError(
            f"The backup was made by a newer version of Slipway ({manifest.slipway}). Use that one."
        )
    keys = [key.get_secret_value() for key in config.encryption_keys]
    key_file = staging / HOME / KEY_FILE
    if not keys and not key_file.is_file():
        raise ConfigurationError(
            "The backup holds no encryption key. Set SLIPWAY_ENCRYPTION_KEYS to the keys of the installation."
        )
    try:
        is_right = Cipher(keys or keys_in(key_file)).decrypt(manifest.key_check) == KEY_CHECK
    except ConfigurationError:
        is_right = False
    if not is_right:
        raise ConfigurationError(
            "The encryption key is not that of the backup. Set SLIPWAY_ENCRYPTION_KEYS to the keys of the "
            "installation, or unset it to use the key in the backup."
        )


def _put_in_place(config: Config, staging: Path) -> None:
    """Moves all restored files from `staging` to their places in the home (the server's data directory).
    Moves the database file to its place if the database is SQLite. Removes the folder `staging` last, because
    it marks the restore as unfinished: a server does not start while the folder exists.
    """
    below = staging / HOME
    for path in sorted(below.iterdir()) if below.is_dir() else []:
        path.rename(config.home / path.name)
    if file := sqlite_file(config):
        shutil.move(staging / DATABASE, file)
    os.sync()
    shutil.rmtree(staging)
