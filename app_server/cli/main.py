"""The command line program `slipway` with its main commands."""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app_server.cli.audit import audit
from app_server.cli.backup import backup, restore
from app_server.cli.home import Home, Json, Port, configuration, in_database, leave
from app_server.cli.keys import keys
from app_server.cli.login import key_for, login, logout, server_address
from app_server.cli.organisations import organisations
from app_server.cli.sandboxes import images, run_doctor, sandboxes
from app_server.cli.users import users
from app_server.core.config import Config, SandboxChoice
from app_server.core.errors import ConfigurationError, StartFailure
from app_server.core.fast_imports import loading

if TYPE_CHECKING:
    from app_server.headless.run import Run

app = typer.Typer(
    help="A self-hosted home for coding agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)

app.add_typer(images, name="images")
app.add_typer(sandboxes, name="sandboxes")
app.add_typer(users, name="users")
app.add_typer(organisations, name="orgs")
app.add_typer(audit, name="audit")
app.add_typer(keys, name="keys")
app.command(name="doctor")(run_doctor)
app.command()(backup)
app.command()(restore)
app.command()(login)
app.command()(logout)

_BACKEND_NAMES = {
    "docker": "Docker containers",
    "process": "processes",
    "remote": "Docker containers on other hosts",
}


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
    """Start the app server. As long as the owner has never signed in, also print a sign-in link."""
    config = configuration(port=port, host=host, inner_port=inner_port, sandbox=sandbox, home=home)
    # Imported here so that the other commands, and --help, answer at once.
    with loading():
        from app_server.core.logs import configure_logging
        from app_server.http.listeners import PortTaken
        from app_server.sandbox_backends.backend import SandboxKind
        from app_server.serve import serve as run_server

    def announce(kind: SandboxKind, link: str | None) -> None:
        typer.echo(f"\nSlipway is ready: {config.base_url}")
        typer.echo(f"Agents work in: {_BACKEND_NAMES[kind.backend]}")
        if kind.warning:
            typer.secho(kind.warning, fg=typer.colors.YELLOW)
        if link:
            typer.echo(f"\nSign in (once, within 24 hours):\n{link}\n")
        else:
            typer.echo("\nTo sign in another browser, run: slipway sign-in-link\n")
        sys.stdout.flush()

    configure_logging()
    try:
        asyncio.run(run_server(config, announce))
    except (PortTaken, ConfigurationError) as error:
        leave(str(error))


@app.command()
def sandbox_host(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [env: SLIPWAY_HOST]")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port for app servers. [env: SLIPWAY_SANDBOX_HOST_PORT]")
    ] = None,
    inner_port: Annotated[
        int | None, typer.Option(help="Port that sandboxes report to. [env: SLIPWAY_INNER_PORT]")
    ] = None,
    behind_tls: Annotated[
        bool, typer.Option(help="Use plain HTTP. A proxy in front of this host uses TLS.")
    ] = False,
    home: Home = None,
) -> None:
    """Run sandboxes on this machine for a Slipway server on another machine (docs/sandbox-service.md)."""
    config = configuration(host=host, sandbox_host_port=port, inner_port=inner_port, home=home)
    from app_server.core.logs import configure_logging
    from app_server.http.listeners import PortTaken
    from app_server.sandbox_host.main import serve_host

    def announce(token_file: Path) -> None:
        scheme = "https" if config.sandbox_host_certificate else "http"
        typer.echo(f"\nThis sandbox host is ready: {scheme}://{config.host}:{config.sandbox_host_port}")
        typer.echo(f"App servers need the token in {token_file}\n")
        sys.stdout.flush()

    configure_logging()
    try:
        asyncio.run(serve_host(config, announce, behind_tls=behind_tls))
    except (PortTaken, ConfigurationError) as error:
        leave(str(error))
    except StartFailure as failure:
        leave(f"{failure.cause}\nFix: {failure.fix}\nCode: {failure.code}")


@app.command()
def run(
    task: Annotated[str, typer.Argument(help="The task for the agent.")],
    repo: Annotated[
        str | None,
        typer.Option(help="Repository: a path on this machine or a git URL. Default: start empty."),
    ] = None,
    branch: Annotated[str | None, typer.Option(help="Branch to start from.")] = None,
    profile: Annotated[str | None, typer.Option(help="Model profile. Default: the active one.")] = None,
    sandbox: Annotated[
        SandboxChoice | None, typer.Option(help="Start a separate server with this kind of sandbox.")
    ] = None,
    verify: Annotated[
        str | None, typer.Option(help="Command that must succeed in the sandbox at the end.")
    ] = None,
    consent: Annotated[
        list[str] | None,
        typer.Option(help="Hash of something of the repository's own that may run. May be given again."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A server that this terminal is signed in at: slipway login URL"),
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Let an agent do one task, without a browser. The exit code is 0 if the task succeeds, and 1 if it
    fails.

    Uses the server that --server names. Without --server, uses the server that runs with this home directory.
    If no server runs, starts a server for this task. The conversation is stored and can be opened in the
    browser later.
    """
    from app_server.headless.run import Run

    what = Run(
        task=task,
        repository=repo,
        branch=branch,
        profile=profile,
        sandbox=sandbox,
        verify_command=verify,
        consent=tuple(consent or ()),
    )
    if server is None:
        return _run_headless(configuration(home=home), what, as_json=as_json)
    if sandbox is not None or home is not None:
        leave("--sandbox and --home are for a server on this machine, --server for another one.")
    return _run_headless((server_address(server), key_for(server)), what, as_json=as_json)


@app.command(name="demo")
def run_demo(
    sandbox: Annotated[SandboxChoice, typer.Option(help="Where the agent works.")] = "auto",
    as_json: Json = False,
) -> None:
    """Show how an agent fixes a real bug in a real sandbox. The replies of the model were recorded earlier,
    so no model is called. The exit code is 0 if the fix succeeds.

    Uses a temporary home directory. Only the sandbox image stays on this machine afterwards.
    """
    from app_server import demo
    from app_server.headless.run import Run

    with tempfile.TemporaryDirectory(prefix="slipway-demo-") as directory:
        config = configuration(home=Path(directory) / "home")
        what = Run(
            task=demo.TASK,
            repository=str(demo.make_repository(config.home)),
            profile=demo.PROFILE,
            sandbox=sandbox,
            verify_command=demo.VERIFY_COMMAND,
            keep=False,
        )
        _run_headless(config, what, as_json=as_json)


@app.command()
def sign_in_link(port: Port = None, home: Home = None) -> None:
    """Print a new one-time link with which the owner signs in. For other users: slipway users sign-in-link"""
    from app_server.sign_in.invitations import new_owner_link

    typer.echo(in_database(configuration(port=port, home=home), new_owner_link))


def _run_headless(where: "Config | tuple[str, str]", what: "Run", *, as_json: bool) -> None:
    """Runs a task without a browser and ends the program. The exit code is 0 if the task succeeds, and 1 if
    it fails.

    `where`: the server that runs the task: either the URL and the API key of a running server, or a
    configuration. With a configuration, the server that runs with its home directory is used, or started.
    `what`: the task and its settings. `as_json`: whether the progress is printed as JSON.
    """
    from app_server.headless.client import RunFailed
    from app_server.headless.printer import JsonPrinter, TerminalPrinter
    from app_server.headless.run import run as run_task
    from app_server.headless.server_process import ServerDidNotStart

    try:
        succeeded = run_task(where, what, JsonPrinter() if as_json else TerminalPrinter())
    except (RunFailed, ServerDidNotStart) as error:
        leave(str(error))
    raise typer.Exit(0 if succeeded else 1)
