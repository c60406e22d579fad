"""The commands `slipway audit …`, which verify and export the audit log. They also work while the server does
not run.
"""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app_server.cli.home import Home, Json, configuration, in_database, in_whole_database, leave
from app_server.core.config import Config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy.ext.asyncio import AsyncSession

    from app_server.access.audit_schemas import AuditEntryInfo
    from app_server.audit.verification import ChainMark, Verification
    from app_server.core.database import Database

audit = typer.Typer(help="The log of who did what.", no_args_is_help=True)


@audit.command("verify")
def verify_log(
    known: Annotated[
        str | None,
        typer.Option(metavar="ID:HASH", help="An entry that you noted earlier: it must still be there."),
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Check that no entry of the audit log was changed, removed or inserted. The exit code is 1 if the check
    fails.

    The command prints the id and the hash of the newest entry. Note both on another machine, and pass them as
    --known the next time. The command then also detects that the whole log was replaced.
    """
    from app_server.audit.verification import verify

    mark = _mark(known) if known else None

    async def check(session: "AsyncSession", _config: Config) -> "Verification":
        return await verify(session, mark)

    found = in_database(configuration(home=home), check)
    newest = f"{found.head.id}:{found.head.hash}"
    if as_json:
        import json

        names = {"entries": found.entries, "newest": newest, "problem": found.problem}
        typer.echo(json.dumps(names))
    elif found.problem:
        typer.secho(found.problem, fg=typer.colors.RED, err=True)
    else:
        typer.echo(f"{found.entries} entries are intact. The newest: {newest}")
    raise typer.Exit(1 if found.problem else 0)


@audit.command("export")
def export_log(
    kind: Annotated[
        Literal["jsonl", "csv"], typer.Option("--format", help="The format of the file.")
    ] = "jsonl",
    home: Home = None,
) -> None:
    """Print all entries of the audit log, oldest first. The export is also recorded in the audit log."""
    from app_server.access.audit_schemas import AuditEntryInfo, as_csv, as_json_lines
    from app_server.access.audit_trail import trail_of_command_line
    from app_server.audit.actions import AuditAction, AuditTarget
    from app_server.audit.search import AuditFilter, every
    from app_server.users.service import find_owner

    async def infos(database: "Database") -> "AsyncIterator[AuditEntryInfo]":
        async for entry in every(database, AuditFilter()):
            yield AuditEntryInfo.model_validate(entry)

    async def export(database: "Database", _config: Config) -> None:
        async with database.session() as session:
            owner = await find_owner(session)
            assert owner is not None, "the first start makes the owner"
            trail = trail_of_command_line(owner)
            trail.record(session, AuditAction.AUDIT_LOG_EXPORTED, (AuditTarget.AUDIT_LOG, kind))
        lines = (as_csv if kind == "csv" else as_json_lines)(infos(database))
        async for line in lines:
            typer.echo(line, nl=False)

    in_whole_database(configuration(home=home), export)


def _mark(text: str) -> "ChainMark":
    from app_server.audit.verification import ChainMark

    id_, _, hash_ = text.partition(":")
    if not (id_.isascii() and id_.isdecimal() and len(hash_) == 64):
        leave("Give the entry as it was printed: ID:HASH, with the 64 digits of the hash.")
    return ChainMark(int(id_), hash_.lower())
