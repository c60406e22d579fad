"""The commands `slipway orgs …`, with which an administrator on this machine manages the organisations of the
installation.

The commands run with the rights of the owner of the installation, and the audit log names the owner. They
also work while the server does not run.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from app_server.cli.home import Home, Json, configuration, in_database, leave
from app_server.cli.users import GivenRole, Named, require_user, trail_of_owner
from app_server.core.config import Config

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from app_server.organisations.schemas import OrganisationInfo

organisations = typer.Typer(help="The organisations of this installation.", no_args_is_help=True)

Organisation = Annotated[str, typer.Argument(metavar="ORGANISATION", help="Its name.")]
NewName = Annotated[str, typer.Argument(metavar="NAME", help="1 to 100 characters.")]


@organisations.command("list")
def list_all(as_json: Json = False, home: Home = None) -> None:
    """Show all organisations: id, number of people, name. The first one is the default organisation; its
    administrators also administer the whole installation.
    """
    from app_server.organisations.service import list_organisations

    async def read(session: "AsyncSession", _config: Config) -> "list[OrganisationInfo]":
        return await list_organisations(session)

    for one in in_database(configuration(home=home), read):
        if as_json:
            typer.echo(one.model_dump_json())
        else:
            ending = "  (default)" if one.is_default else ""
            typer.echo(f"{one.id.hex}  {one.person_count:>5}  {one.name}{ending}")


@organisations.command("create")
def create(name: NewName, home: Home = None) -> None:
    """Create an organisation. To invite its owner: slipway users invite --organisation NAME --role owner."""
    from app_server.organisations.service import create_organisation

    wanted = _checked(name)

    async def work(session: "AsyncSession", _config: Config) -> None:
        await create_organisation(session, await trail_of_owner(session), wanted)

    in_database(configuration(home=home), work)
    typer.echo(f"The organisation {wanted} is created.")


@organisations.command("rename")
def rename(organisation: Organisation, name: NewName, home: Home = None) -> None:
    """Change the name of an organisation."""
    from app_server.organisations.service import find_by_name, rename_organisation

    wanted = _checked(name)

    async def work(session: "AsyncSession", _config: Config) -> None:
        found = await find_by_name(session, organisation, to_change=True)
        await rename_organisation(session, await trail_of_owner(session), found, wanted)

    in_database(configuration(home=home), work)
    typer.echo(f"The organisation is called {wanted} now.")


@organisations.command("delete")
def delete(organisation: Organisation, home: Home = None) -> None:
    """Delete an organisation that has no people. Its teams and settings are deleted, too."""
    from app_server.organisations.service import delete_organisation, find_by_name

    async def work(session: "AsyncSession", _config: Config) -> None:
        found = await find_by_name(session, organisation, to_change=True)
        await delete_organisation(session, await trail_of_owner(session), found)

    in_database(configuration(home=home), work)
    typer.echo(f"The organisation {organisation} is deleted.")


@organisations.command("move-person")
def move(
    user: Named,
    organisation: Organisation,
    role: Annotated[GivenRole, typer.Option(help="What they may do there.")] = "member",
    home: Home = None,
) -> None:
    """Move a person, with all that the person owns, to another organisation. The person leaves all teams.
    Sharing of conversations and model profiles between the person and people of the old organisation ends.
    """
    from app_server.organisations.moving import move_person
    from app_server.organisations.schemas import MovePerson
    from app_server.organisations.service import find_by_name

    wanted = MovePerson.model_validate({"role": role})

    async def work(session: "AsyncSession", _config: Config) -> str:
        found = await find_by_name(session, organisation)
        person = await require_user(session, user)
        await move_person(session, await trail_of_owner(session), person.id, found, wanted.role)
        return f"{person.name} is in {found.name} now, as {role}."

    typer.echo(in_database(configuration(home=home), work))


def _checked(name: str) -> str:
    from pydantic import ValidationError

    from app_server.organisations.schemas import SaveOrganisation

    try:
        return SaveOrganisation(name=name).name
    except ValidationError:
        leave("A name has 1 to 100 characters.")
