"""The commands `slipway keys …`, with which an administrator on this machine manages the encryption keys of
stored secrets.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import typer

from app_server.cli.home import Home, configuration, in_whole_database, leave, require_database
from app_server.core.config import Config
from app_server.core.errors import ConfigurationError

if TYPE_CHECKING:
    from app_server.cli.key_rotation import Rotation
    from app_server.core.database import Database

keys = typer.Typer(help="The keys that encrypt stored secrets.", no_args_is_help=True)


@keys.command("rotate")
def rotate_keys(home: Home = None) -> None:
    """Encrypt all stored secrets with a new key. Older keys stay, so all secrets can still be read.

    If the key is in a file of the home directory, stop the server first. This command then creates the new
    key. If SLIPWAY_ENCRYPTION_KEYS is set, first put a new key at the beginning of this list and restart all
    servers. If an earlier rotation was interrupted, this command completes it and creates no further key.
    """
    config = configuration(home=home)
    require_database(config)
    try:
        with _alone(config):
            done = in_whole_database(config, _rotate)
    except ConfigurationError as error:
        leave(str(error))
    typer.echo(f"{done.renewed} stored values are encrypted anew, with the newest key.")
    if not config.encryption_keys:
        typer.echo(f"The former key stays in {config.home / 'encryption.key'}. Make a backup now.")
    if done.unreadable:
        typer.secho("No known key decrypts these:", fg=typer.colors.RED, err=True)
        for location in done.unreadable:
            typer.echo(location, err=True)
        raise typer.Exit(1)


def _alone(config: Config) -> AbstractContextManager[None]:
    """Returns a context manager for the time in which the encryption keys are replaced. It locks the server's
    home directory, so that no server can run with this directory. A running server would not know the new
    key.

    Locks nothing if the keys are in SLIPWAY_ENCRYPTION_KEYS, because all servers already know the new key
    then.
    """
    from app_server.http.listeners import home_of_our_own

    return nullcontext() if config.encryption_keys else home_of_our_own(config.home)


async def _rotate(database: "Database", config: Config) -> "Rotation":
    from app_server.access.audit_trail import trail_of_command_line
    from app_server.audit.actions import AuditAction, AuditTarget
    from app_server.cli.key_rotation import is_finished, rotate
    from app_server.core.encryption import add_key, key_file, keys_in, load_cipher
    from app_server.users.service import find_owner

    cipher = load_cipher(config)
    is_named = bool(config.encryption_keys)
    if is_named and len(config.encryption_keys) < 2:
        raise ConfigurationError(
            "SLIPWAY_ENCRYPTION_KEYS names one key. Put a new one in front of it, restart all servers, and "
            "run this again. docs/backup-and-restore.md tells how to make a key."
        )
    if not is_named and (len(keys_in(key_file(config))) < 2 or await is_finished(database, cipher)):
        add_key(key_file(config))
        cipher = load_cipher(config)
    done = await rotate(database, config, cipher)
    async with database.session() as session:
        owner = await find_owner(session)
        if owner is not None:
            trail_of_command_line(owner).record(
                session,
                AuditAction.ENCRYPTION_KEY_ROTATED,
                (AuditTarget.INSTALLATION, "encryption_key"),
                values=done.renewed,
                unreadable=len(done.unreadable) or None,
            )
    return done
