"""Explains to the operator why the server cannot start. The explanation is one sentence with the cause and
the fix, without a traceback.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidRequestError, NoSuchModuleError

from app_server.core.config import Config
from app_server.core.errors import ConfigurationError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


@contextmanager
def explained(config: Config) -> Iterator[None]:
    """Runs a part of the server start in a `with` block. If the block fails because of the home directory,
    its disk or the database, raises ConfigurationError with a sentence that tells the operator what to do.
    All other errors are raised unchanged.
    """
    try:
        yield
    except DBAPIError as error:
        sentence = database_sentence(config, error.orig)
        if sentence is None:
            raise
        raise ConfigurationError(sentence) from None
    except sqlite3.Error as error:
        sentence = database_sentence(config, error)
        if sentence is None:
            raise
        raise ConfigurationError(sentence) from None
    except (ArgumentError, NoSuchModuleError, InvalidRequestError, ModuleNotFoundError) as error:
        if config.database_url is None or _is_understood(config):
            raise
        raise ConfigurationError(_WRONG_URL) from error
    except OSError as error:
        raise ConfigurationError(home_sentence(config.home, error)) from None


def home_sentence(home: Path, error: OSError) -> str:
    """Returns one sentence that says why the server cannot use its home directory, and what the operator
    should do. `home`: the path of the directory.
    """
    if error.errno in _FULL:
        return _full(home)
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return f"{error.filename or home} is a file where a directory is needed: move it, {_OR_ANOTHER_HOME}."
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return (
            f"{error.filename or home} cannot be written: give it to the user of Slipway, {_OR_ANOTHER_HOME}."
        )
    where = f" ({error.filename})" if error.filename else ""
    return f"{home} cannot be used: {error.strerror or error}{where}. Fix that, {_OR_ANOTHER_HOME}."


def database_sentence(config: Config, error: BaseException | None) -> str | None:
    """Returns one sentence that says why the database cannot be used, and what the operator should do.
    Returns None if the error may be a bug of Slipway.
    """
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(config, error)
    state = str(getattr(error, "sqlstate", None) or "")
    if state.startswith("53100"):
        return f"The disk of the database at {_database_location(config)} is full: free some room there."
    # SQLSTATE classes: connection, authorisation, unknown database, too many connections, and start or stop
    # of the server.
    if not state or state[:2] in {"08", "28", "3D", "53", "57"}:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return (
            f"The database at {_database_location(config)} cannot be reached: {reason.removesuffix('.')}. "
            "Start it, or correct SLIPWAY_DATABASE_URL."
        )
    return None


def _of_sqlite(config: Config, error: sqlite3.Error) -> str | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    location = _database_location(config)
    if code in _CORRUPT:
        return (
            f"The database {location} is damaged ({error}): restore it from a backup, or move it away to "
            "begin with an empty one."
        )
    if code == sqlite3.SQLITE_FULL:
        return _full(config.home)
    if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}:
        return (
            f"The database {location} cannot be opened for writing ({error}): give it and its directory to "
            "the user of Slipway."
        )
    if code == sqlite3.SQLITE_IOERR:
        return f"The database {location} cannot be read or written ({error}): check its disk."
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return f"The database {location} is locked by another program: end that program."
    return None


def _database_location(config: Config) -> str:
    """Returns the path of the database file, or the host and port of the database server. The text is for
    error messages and contains no password.
    """
    if config.database_file:
        return str(config.database_file)
    url = make_url(config.resolved_database_url)
    return str(url.database) if url.drivername.startswith("sqlite") else f"{url.host}:{url.port or 5432}"


def _full(home: Path) -> str:
    return f"The disk of {home} is full: free some room there, {_OR_ANOTHER_HOME}."


def _is_understood(config: Config) -> bool:
    try:
        make_url(config.resolved_database_url).get_dialect(_is_async=True).import_dbapi()
    except (ArgumentError, NoSuchModuleError, InvalidRequestError, ModuleNotFoundError):
        return False
    return True


_OR_ANOTHER_HOME = "or choose another directory with --home or SLIPWAY_HOME"
_WRONG_URL = (
    "SLIPWAY_DATABASE_URL is not a URL of a database that Slipway can use: write it like "
    "postgresql+asyncpg://USER:PASSWORD@HOST/DATABASE, or unset it"
)
