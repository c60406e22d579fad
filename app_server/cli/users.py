"""The commands `slipway users …`, with which an administrator on this machine manages the people who may sign
in.

The commands run with the rights of the owner of the installation, and the audit log names the owner. They
also work while the server does not run.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app_server.cli.home import Home, Json, Port, configuration, in_database, in_whole_database, leave
from app_server.core.config import Config

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from app_server.access.audit_trail import AuditTrail
    from app_server.core.database import Database
    from app_server.users.models import User

users = typer.Typer(help="The people who may sign in.", no_args_is_help=True)

Named = Annotated[str, typer.Argument(metavar="USER", help="Their name or id.")]
GivenRole = Literal["admin", "member", "viewer"]
InvitedRole = Literal["owner", "admin", "member", "viewer"]
Fate = Literal["hand-over", "delete"]


@users.command("list")
def list_users(as_json: Json = False, home: Home = None) -> None:
    """Show all users: role, whether the account is disabled, and the time of the last sign-in."""
    from app_server.access.people import list_people
    from app_server.access.people_schemas import Person

    async def read(session: "AsyncSession", _config: Config) -> list[Person]:
        return [Person.model_validate(person) for person in await list_people(session, None)]

    for person in in_database(configuration(home=home), read):
        if as_json:
            typer.echo(person.model_dump_json())
            continue
        state = "disabled" if person.disabled_at else "enabled"
        seen = person.signed_in_at.isoformat(timespec="seconds") if person.signed_in_at else "never signed in"
        typer.echo(f"{person.id.hex}  {person.role:<6}  {state:<8}  {seen:<25}  {person.name}")


@users.command("invite")
def invite_user(
    name: Annotated[str, typer.Argument(help="The name that others see.")],
    role: Annotated[
        InvitedRole, typer.Option(help="The role of the user. An organisation has one owner.")
    ] = "member",
    email: Annotated[
        str | None, typer.Option(help="Where the server sends the link. Needs SLIPWAY_MAIL.")
    ] = None,
    organisation: Annotated[
        str | None, typer.Option(help="The organisation that they join. Default: the default one.")
    ] = None,
    port: Port = None,
    home: Home = None,
) -> None:
    """Create an account and print its one-time sign-in link, or send the link by e-mail."""
    from pydantic import ValidationError

    from app_server.organisations.schemas import InviteIntoOrganisation
    from app_server.organisations.service import find_by_name, invite_into
    from app_server.users.models import Role
    from app_server.users.organisations import DEFAULT_ORGANISATION_ID, find_organisation

    if not name.strip() or len(name.strip()) > 200:
        leave("A name has 1 to 200 characters.")
    try:
        wanted = InviteIntoOrganisation(name=name, role=Role(role), email=email)
    except ValidationError:
        leave(f"{email!r} is not an e-mail address.")

    async def invite(session: "AsyncSession", config: Config) -> str:
        if organisation is None:
            joined = await find_organisation(session, DEFAULT_ORGANISATION_ID)
        else:
            joined = await find_by_name(session, organisation)
        _, link = await invite_into(session, config, await trail_of_owner(session), joined, wanted)
        return link.url if link else f"The server sends the link to {wanted.email} while it runs."

    typer.echo(in_database(configuration(port=port, home=home), invite))


@users.command("send-again")
def send_invitation_again(user: Named, port: Port = None, home: Home = None) -> None:
    """Send the invitation of a person by e-mail once more, with a new link. Earlier links of this person
    become invalid.
    """
    from app_server.sign_in.invitations import send_again

    async def send(session: "AsyncSession", config: Config) -> str:
        person = await require_user(session, user)
        address = await send_again(session, config, await trail_of_owner(session), person)
        return f"The earlier links have ended. The server sends a new one to {address} while it runs."

    typer.echo(in_database(configuration(port=port, home=home), send))


@users.command("sign-in-link")
def create_sign_in_link(user: Named, port: Port = None, home: Home = None) -> None:
    """Print a one-time sign-in link for a user who has an account. The link is valid for 24 hours."""
    from app_server.sign_in.invitations import new_link

    async def link(session: "AsyncSession", config: Config) -> str:
        person = await require_user(session, user)
        return (await new_link(session, config, person, await trail_of_owner(session))).url

    typer.echo(in_database(configuration(port=port, home=home), link))


@users.command("password")
def set_password(
    user: Named,
    login: Annotated[
        str | None, typer.Option(help="The login name. Default: the one they have, or one like their name.")
    ] = None,
    home: Home = None,
) -> None:
    """Set a person's password. This terminal asks for the password. All browsers of the person are signed
    out.
    """
    from app_server.core.encryption import load_cipher
    from app_server.sign_in.invitations import require_can_sign_in
    from app_server.sign_in.passwords import accounts, policy
    from app_server.sign_in.passwords.hashing import PasswordHashing

    async def found(session: "AsyncSession", _config: Config) -> "tuple[User, str, AuditTrail]":
        person = await require_user(session, user)
        require_can_sign_in(person)
        known = await accounts.find(session, person.id)
        login_name = login or (known.login_name if known else policy.suggested_login_name(person.name))
        return person, login_name, await trail_of_owner(session)

    config = configuration(home=home)
    person, login_name, trail = in_database(config, found)
    password = typer.prompt(f"New password of {login_name}", hide_input=True, confirmation_prompt=True)

    async def replace(database: "Database", config: Config) -> None:
        hashing = PasswordHashing()
        of_users = accounts.PasswordAccounts(database, hashing, load_cipher(config), trail)
        await of_users.replace_password(person, login_name=login_name, password=password)
        await hashing.close()

    in_whole_database(config, replace)
    typer.echo(f"{person.name} signs in with the login name {policy.login_key(login_name)}.")
    if not config.password_sign_in:
        typer.echo("SLIPWAY_PASSWORD_SIGN_IN is off: the password cannot be used until it is on.", err=True)


@users.command("reset-totp")
def reset_totp(user: Named, home: Home = None) -> None:
    """Remove the authenticator app and the recovery codes of a person, for example of a person who has lost
    them.
    """
    from app_server.audit.actions import AuditAction, AuditTarget
    from app_server.sign_in.passwords import totp

    async def reset(session: "AsyncSession", _config: Config) -> tuple[str, bool]:
        person = await require_user(session, user)
        had_one = await totp.remove(session, person.id)
        if had_one:
            target = (AuditTarget.USER, person.id)
            trail = await trail_of_owner(session)
            trail.record(session, AuditAction.TWO_FACTOR_DISABLED, target, name=person.name)
        return person.name, had_one

    name, had_one = in_database(configuration(home=home), reset)
    said = "The authenticator app of {} is removed." if had_one else "{} has no authenticator app."
    typer.echo(said.format(name))


@users.command("role")
def change_role(user: Named, role: GivenRole, home: Home = None) -> None:
    """Change the role of a person. The role decides what the person may do. The owner's role cannot be
    changed.
    """
    _change(user, home, role=role)


@users.command("disable")
def disable_user(user: Named, home: Home = None) -> None:
    """Disable a person's account. The person is signed out of all browsers, and the person's API keys stop
    working, within two seconds. The person's data stay.
    """
    _change(user, home, is_disabled=True)


@users.command("enable")
def enable_user(user: Named, home: Home = None) -> None:
    """Enable a person's account that was disabled, so that the person can sign in again."""
    _change(user, home, is_disabled=False)


@users.command("export")
def export_user(
    user: Named,
    file: Annotated[Path, typer.Argument(help="The zip to write. It must not exist.")],
    home: Home = None,
) -> None:
    """Write all data that is stored about a person into a zip file, without secrets."""
    from app_server.audit.actions import AuditAction, AuditTarget
    from app_server.departures.export import person_zip

    async def export(database: "Database", _config: Config) -> str:
        async with database.session() as session:
            person = await require_user(session, user)
            trail = await trail_of_owner(session)
            target = (AuditTarget.USER, person.id)
            trail.record(session, AuditAction.MEMBER_EXPORTED, target, name=person.name)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            async for chunk in person_zip(database, person):
                out.write(chunk)
        return person.name

    if file.exists():
        leave(f"{file} exists already.")
    name = in_whole_database(configuration(home=home), export)
    typer.echo(f"What is stored about {name} is in {file}.")


@users.command("delete")
def delete_user(
    user: Named,
    conversations: Annotated[Fate, typer.Option(help="What happens to their conversations.")],
    profiles: Annotated[Fate, typer.Option(help="What happens to their model profiles.")],
    callbacks: Annotated[Fate, typer.Option(help="What happens to their webhooks and other callbacks.")],
    triggers: Annotated[Fate, typer.Option(help="What happens to their triggers of git hosts.")],
    to: Annotated[str | None, typer.Option(help="The user who gets what is handed over: name or id.")] = None,
    home: Home = None,
) -> None:
    """Delete a person's account and data. The options say which data are given to another user (hand-over)
    instead of being deleted.

    The account is disabled at once. The server deletes the data, and then the account, in the background. So
    the deletion is completed only while the server runs.
    """
    from app_server.departures.belongings import belongings_of
    from app_server.departures.deletion import begin_deletion
    from app_server.departures.schemas import DeletePerson

    config = configuration(home=home)
    fates = {
        "conversations": conversations,
        "profiles": profiles,
        "callbacks": callbacks,
        "triggers": triggers,
    }
    if to is None and "hand-over" in fates.values():
        leave("Name the user who gets what is handed over: --to USER")

    async def described(session: "AsyncSession", _config: Config) -> str:
        person = await require_user(session, user)
        had = await belongings_of(session, person.id)
        parts = [f"{getattr(had, kind)} {kind}: {fate}" for kind, fate in fates.items()]
        return f"{person.name}: {', '.join(parts)}. Everything else of theirs is deleted. Go on?"

    typer.confirm(in_database(config, described), abort=True)

    async def begin(session: "AsyncSession", _config: Config) -> str:
        person = await require_user(session, user)
        heir = await require_user(session, to) if to else None
        chosen = {kind: fate.replace("-", "_") for kind, fate in fates.items()}
        wanted = DeletePerson.model_validate({**chosen, "heir_id": heir and heir.id})
        await begin_deletion(session, await trail_of_owner(session), await _owner(session), person, wanted)
        return person.name

    typer.echo(f"{in_database(config, begin)} is disabled and is being deleted.")


def _change(user: str, home: Path | None, **wanted: object) -> None:
    from app_server.access.audit_trail import trail_of_command_line
    from app_server.access.people import change
    from app_server.access.people_schemas import ChangePerson, Person

    async def work(session: "AsyncSession", _config: Config) -> Person:
        owner = await _owner(session)
        person = await require_user(session, user)
        trail = trail_of_command_line(owner)
        change(session, owner, trail, person, ChangePerson.model_validate(wanted))
        await session.flush()
        return Person.model_validate(person)

    person = in_database(configuration(home=home), work)
    state = "disabled" if person.disabled_at else "enabled"
    typer.echo(f"{person.name} ({person.role}) is {state}.")


async def _owner(session: "AsyncSession") -> "User":
    from app_server.users.service import find_owner

    owner = await find_owner(session)
    assert owner is not None, "the first start makes the owner"
    return owner


async def trail_of_owner(session: "AsyncSession") -> "AuditTrail":
    from app_server.access.audit_trail import trail_of_command_line

    return trail_of_command_line(await _owner(session))


async def require_user(session: "AsyncSession", user: str) -> "User":
    """Returns the user with this id or name. Ends the program with an error text if there is no such user, or
    if several users have this name.
    """
    from app_server.access.people import list_people

    people = await list_people(session, None)
    found = [one for one in people if user in {str(one.id), one.id.hex}]
    found = found or [one for one in people if one.name == user]
    if not found:
        leave(f"There is no user {user!r}. Show all: slipway users list")
    if len(found) > 1:
        leave(f"{len(found)} users have the name {user!r}. Give the id: slipway users list")
    return found[0]
