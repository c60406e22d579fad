"""Helpers for commands that work on a home directory (the directory with all data of a Slipway server). They
load its configuration and open its database.
"""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from app_server.core.config import Config, load_config
from app_server.core.errors import AppError, ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from app_server.core.database import Database

Home = Annotated[
    Path | None, typer.Option(help="The directory with all data of Slipway. [env: SLIPWAY_HOME]")
]
Port = Annotated[int | None, typer.Option(help="Port of the web interface. [env: SLIPWAY_PORT]")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per line, for machines.")]

NO_SERVER_YET = "No server of this version has been started in this home yet. Start one: slipway serve"

Result = TypeVar("Result")


def configuration(**options: object) -> Config:
    """Loads the configuration of the server from the environment variables and returns it. Ends the program
    with an error text if a setting is wrong. `options`: settings from the command line, by name, which take
    priority over the environment variables.
    """
    try:
        return load_config(**options)
    except ConfigurationError as error:
        leave(str(error))


def leave(sentence: str) -> NoReturn:
    typer.secho(sentence, fg=typer.colors.RED, err=True)
    raise typer.Exit(2)


def require_database(config: Config) -> None:
    """Ends the program with an error text if the server of this home directory has no database yet. Before
    its first start, a server has no database file. Checks nothing if `database_url` names another database.
    """
    if config.database_file and not config.database_file.exists():
        leave(NO_SERVER_YET)


def in_database(
    config: Config, work: "Callable[[AsyncSession, Config], Coroutine[Any, Any, Result]]"
) -> Result:
    """Opens the database of the server, calls `work` in one transaction, and returns the result of `work`.
    Ends the program with an error text if `work` fails or the database cannot be opened.
    """

    async def in_one_transaction(database: "Database", config: Config) -> Result:
        async with database.session() as session:
            return await work(session, config)

    return in_whole_database(config, in_one_transaction)


def in_whole_database(
    config: Config, work: "Callable[[Database, Config], Coroutine[Any, Any, Result]]"
) -> Result:
    """Opens the database of the server, calls `work` with it, and returns the result of `work`. Opens no
    transaction: `work` opens the sessions that it needs. Ends the program with an error text if `work` fails
    or the database cannot be opened.
    """
    try:
        return asyncio.run(_in_database(config, work))
    except ConfigurationError as error:
        leave(str(error))
    except AppError as error:
        leave(f"{error.detail}\nCode: {error.code}")


async def _in_database(
    config: Config, work: "Callable[[Database, Config], Coroutine[Any, Any, Result]]"
) -> Result:
    from app_server.core.database import Database
    from app_server.core.migrations import is_current
    from app_server.core.startup_failures import explained

    require_database(config)
    with explained(config):
        database = Database(config.resolved_database_url)
        try:
            if not await is_current(database):
                leave(NO_SERVER_YET)
            return await work(database, config)
        finally:
            await database.close()
