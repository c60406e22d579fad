"""The `slipway` command."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from app_server.config import Config, SandboxChoice, load_config
from app_server.errors import ConfigurationError

app = typer.Typer(help="A self-hosted home for coding agents.", no_args_is_help=True, add_completion=False)

Home = Annotated[Path | None, typer.Option(help="Where everything is kept. [env: SLIPWAY_HOME]")]
Port = Annotated[int | None, typer.Option(help="Port of the web interface. [env: SLIPWAY_PORT]")]


@app.command()
def serve(
    port: Port = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on. [env: SLIPWAY_HOST]")] = None,
    inner_port: Annotated[
        int | None, typer.Option(help="Port that sandboxes report to. [env: SLIPWAY_INNER_PORT]")
    ] = None,
    sandbox: Annotated[
        SandboxChoice | None, typer.Option(help="Where agents work. [env: SLIPWAY_SANDBOX]")
    ] = None,
    home: Home = None,
) -> None:
    """Start the server and print a link to sign in with."""
    config = _config(port=port, host=host, inner_port=inner_port, sandbox=sandbox, home=home)
    # Imported here so that the other commands, and --help, answer at once.
    from app_server.logs import configure_logging
    from app_server.sandboxes.backend import SandboxKind
    from app_server.serve import PortTaken
    from app_server.serve import serve as run_server

    def announce(kind: SandboxKind, link: str) -> None:
        typer.echo(f"\nSlipway is ready: {config.base_url}")
        typer.echo(f"Agents work in: {'Docker containers' if kind.backend == 'docker' else 'processes'}")
        if kind.warning:
            typer.secho(kind.warning, fg=typer.colors.YELLOW)
        typer.echo(f"\nSign in (once, within 24 hours):\n{link}\n")
        sys.stdout.flush()

    configure_logging()
    try:
        asyncio.run(run_server(config, announce))
    except (PortTaken, ConfigurationError) as error:
        _exit(str(error))


@app.command()
def sign_in_link(port: Port = None, home: Home = None) -> None:
    """Print a new one-time link to sign in with."""
    typer.echo(asyncio.run(_new_sign_in_link(_config(port=port, home=home))))


async def _new_sign_in_link(config: Config) -> str:
    from app_server.database import Database
    from app_server.migrate import is_current
    from app_server.serve import new_sign_in_link

    database = Database(config.resolved_database_url)
    try:
        if not await is_current(database):
            _exit("There is no server in this home yet. Start one first: slipway serve")
        return await new_sign_in_link(config, database)
    finally:
        await database.close()


def _config(**options: object) -> Config:
    try:
        return load_config(**options)
    except ConfigurationError as error:
        _exit(str(error))


def _exit(sentence: str) -> NoReturn:
    typer.secho(sentence, fg=typer.colors.RED, err=True)
    raise typer.Exit(2)
