"""The commands `slipway backup` and `slipway restore`, which save a whole installation in one file and
restore it.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from app_server.cli.home import Home, configuration, in_database, leave, require_database
from app_server.core.config import Config
from app_server.core.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

_STANDARD = Path("-")


def backup(
    file: Annotated[Path, typer.Argument(help="The new file to write: a gzipped tar. -: standard output.")],
    with_key: Annotated[
        bool, typer.Option("--with-key/--without-key", help="Whether the encryption key goes into the file.")
    ] = True,
    home: Home = None,
) -> None:
    """Copy the database and the home directory of the server into one file. This also works while the server
    runs.
    """
    from app_server.core.migrations import newest_revision
    from app_server.core.startup_failures import explained
    from app_server.installation_backup.write import write_backup, write_backup_file

    config = configuration(home=home)
    require_database(config)
    try:
        with explained(config):
            if file == _STANDARD:
                manifest = write_backup(config, sys.stdout.buffer, with_key=with_key)
            else:
                manifest = write_backup_file(config, file, with_key=with_key)
    except ConfigurationError as error:
        leave(str(error))
    say = partial(typer.echo, err=file == _STANDARD)
    if manifest.schema_revision == newest_revision():
        in_database(config, _record)
    else:
        say("The audit log has no entry for this backup: no server of this version has been started yet.")
    for name in manifest.unreadable:
        say(f"Left out, because it cannot be read: {name}")
    say(f"The backup holds the database and {len(manifest.sha256) - 1} files of {config.home}.")
    if manifest.has_key:
        say("It also holds the encryption key: everyone who can read it can read all stored secrets.")
    else:
        say("It does not hold the encryption key. A restore needs it in SLIPWAY_ENCRYPTION_KEYS.")


def restore(
    file: Annotated[Path, typer.Argument(help="What `slipway backup` has written. -: standard input.")],
    home: Home = None,
) -> None:
    """Restore a backup into an empty home directory. A PostgreSQL database must be empty, too."""
    from app_server.core.startup_failures import explained
    from app_server.http.listeners import home_of_our_own
    from app_server.installation_backup.restore import restore_backup

    config = configuration(home=home)
    try:
        with _opened(file) as source, explained(config), home_of_our_own(config.home):
            manifest = restore_backup(config, source)
    except ConfigurationError as error:
        leave(str(error))
    typer.echo(f"{config.home} is as it was at {manifest.made_at:%Y-%m-%d %H:%M} UTC.")
    if manifest.home != str(config.home.resolve()):
        typer.echo(f"Process sandboxes continue only in {manifest.home}: for them, restore into that path.")
    typer.echo("Start it with: slipway serve. The server that was backed up must not run at the same time.")


def _opened(file: Path) -> AbstractContextManager[IO[bytes]]:
    if file == _STANDARD:
        return nullcontext(sys.stdin.buffer)
    try:
        return file.open("rb")
    except OSError as error:
        leave(f"{file} cannot be read: {error.strerror}.")


async def _record(session: "AsyncSession", _config: Config) -> None:
    from app_server.access.audit_trail import trail_of_command_line
    from app_server.audit.actions import AuditAction, AuditTarget
    from app_server.users.service import find_owner

    owner = await find_owner(session)
    assert owner is not None, "the first start makes the owner"
    trail_of_command_line(owner).record(
        session, AuditAction.INSTALLATION_BACKED_UP, (AuditTarget.INSTALLATION, "backup")
    )
