"""Tests of `slipway users`: in a terminal on the server, an administrator invites people, disables accounts
and makes new sign-in links.
"""

import asyncio
import json
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import Result
from typer.testing import CliRunner

from app_server.cli.main import app
from app_server.core.config import Config
from app_server.core.mail.server import MailServer
from app_server.lifespan import lifespan
from app_server.main import WithState
from tests.app_server.conftest import http_client
from tests.app_server.eventually import eventually
from tests.support.apps import public_app
from tests.support.mail_receiver import MailReceiver


class Terminal:
    """Runs commands such as `slipway users …` for a home directory.

    command: the name of the command group.
    """

    def __init__(self, home: Path, command: str = "users") -> None:
        self.home, self.command = home, command

    def says(self, *arguments: str, typed: str | None = None) -> str:
        result = self.run(*arguments, typed=typed)
        assert result.exit_code == 0, result.output
        return result.stdout.strip()

    def refuses(self, *arguments: str, typed: str | None = None) -> str:
        result = self.run(*arguments, typed=typed)
        assert result.exit_code == 2, result.output
        return result.stderr

    def run(self, *arguments: str, typed: str | None = None) -> Result:
        return CliRunner().invoke(app, [self.command, *arguments, "--home", str(self.home)], input=typed)

    def people(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.says("list", "--json").splitlines()]


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """Returns a `Terminal` for the home directory of a server that was started once."""
    home = tmp_path / "home"

    async def start() -> None:
        async with lifespan(Config(home=home, sandbox="process")):
            pass

    asyncio.run(start())
    return Terminal(home)


def sign_in(home: Path, link: str) -> httpx.Response:
    """Signs in with the sign-in link, as a browser does. Returns the reply."""

    async def post() -> httpx.Response:
        config = Config(home=home, sandbox="process")
        async with (
            lifespan(config) as state,
            http_client(
                WithState(public_app(config), vars(state)), headers={"Origin": "http://localhost:3000"}
            ) as browser,
        ):
            token = link.partition("#token=")[2]
            return await browser.post("/api/v1/sign-in/link", json={"token": token})

    return asyncio.run(post())


def test_an_invited_person_is_listed_and_signs_in(terminal: Terminal) -> None:
    link = terminal.says("invite", " Ada ", "--role", "admin")
    assert sign_in(terminal.home, link).is_success
    [owner, ada] = terminal.people()
    assert (owner["role"], ada["role"], ada["name"]) == ("owner", "admin", "Ada")
    assert ada["signed_in_at"] is not None
    shown = terminal.says("list").splitlines()
    assert [line.split()[:3] for line in shown] == [
        [owner["id"], "owner", "enabled"],
        [ada["id"], "admin", "enabled"],
    ]
    assert "never signed in" in shown[0]


def test_an_invitation_is_sent_by_the_server_once_it_runs(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    invitation = ("invite", "Ada", "--email", "ada@harbour.dev")
    assert "no_mail_server" in terminal.refuses(*invitation)
    with MailReceiver() as mail:
        server = {"host": "127.0.0.1", "port": mail.port, "security": "none", "sender": "slipway@acme.dev"}
        monkeypatch.setenv("SLIPWAY_MAIL", json.dumps(server))
        assert "is not an e-mail address" in terminal.refuses(
            "invite", "Ada", "--email", "a@b.dev\nBcc: c@d.dev"
        )
        assert terminal.says(*invitation) == "The server sends the link to ada@harbour.dev while it runs."
        again = "The earlier links have ended. The server sends a new one to ada@harbour.dev while it runs."
        assert terminal.says("send-again", "Ada") == again

        async def is_sent() -> bool:
            return bool(mail.messages)

        async def start() -> None:
            config = Config(home=terminal.home, sandbox="process", mail=MailServer.model_validate(server))
            async with lifespan(config):
                await eventually(is_sent)

        asyncio.run(start())
    ((recipients, message),) = mail.messages
    assert recipients == ["ada@harbour.dev"]
    assert message.get_content().startswith("Owner invites you to Slipway at http://localhost:3000")


def test_a_disabled_person_stays_out_until_enabled(terminal: Terminal) -> None:
    terminal.says("invite", "Ada")
    assert terminal.says("disable", "Ada") == "Ada (member) is disabled."
    link = terminal.says("sign-in-link", "Ada")
    assert sign_in(terminal.home, link).json()["code"] == "account_disabled"
    assert terminal.says("enable", "Ada") == "Ada (member) is enabled."
    assert sign_in(terminal.home, link).is_success


def test_a_role_is_changed_but_never_the_owners(terminal: Terminal) -> None:
    terminal.says("invite", "Ada")
    assert terminal.says("role", "Ada", "viewer") == "Ada (viewer) is enabled."
    [owner, _] = terminal.people()
    assert "role_not_manageable" in terminal.refuses("role", owner["id"], "viewer")
    assert "role_not_manageable" in terminal.refuses("disable", owner["id"])
    assert sign_in(terminal.home, terminal.says("sign-in-link", owner["id"])).is_success


def test_a_name_that_is_not_clear_is_explained(terminal: Terminal) -> None:
    assert "There is no user 'Ada'" in terminal.refuses("disable", "Ada")
    terminal.says("invite", "Ada")
    terminal.says("invite", "Ada")
    assert "2 users have the name 'Ada'" in terminal.refuses("disable", "Ada")
    assert "disabled" in terminal.says("disable", terminal.people()[-1]["id"])
    assert "1 to 200 characters" in terminal.refuses("invite", "  ")


def test_without_a_server_it_says_how_to_start_one(tmp_path: Path) -> None:
    assert "slipway serve" in Terminal(tmp_path / "empty").refuses("list")


def test_a_password_is_read_from_the_terminal_and_never_from_the_arguments(terminal: Terminal) -> None:
    terminal.says("invite", "Ada Lovelace")
    typed = "purple walrus on a train\n" * 2
    said = terminal.says("password", "Ada Lovelace", typed=typed)
    assert said.endswith("Ada Lovelace signs in with the login name ada.lovelace.")
    assert "walrus" not in said
    assert "password_too_short" in terminal.refuses("password", "Ada Lovelace", typed="short\nshort\n")
    assert "ada2" in terminal.says("password", "Ada Lovelace", "--login", "Ada2", typed=typed)
    assert terminal.run("password", "Ada Lovelace", "purple walrus on a train").exit_code == 2
    assert terminal.says("reset-totp", "Ada Lovelace") == "Ada Lovelace has no authenticator app."


def test_a_person_is_exported_and_deleted(terminal: Terminal, tmp_path: Path) -> None:
    terminal.says("invite", "Ada")
    file = tmp_path / "ada.zip"
    assert str(file) in terminal.says("export", "Ada", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert "person.json" in zipfile.ZipFile(file).namelist()
    assert "exists already" in terminal.refuses("export", "Ada", str(file))
    fates = [
        "--conversations",
        "hand-over",
        "--profiles",
        "delete",
        "--callbacks",
        "delete",
        "--triggers",
        "delete",
    ]
    assert "--to USER" in terminal.refuses("delete", "Ada", *fates)
    said = terminal.says("delete", "Ada", *fates, "--to", "Owner", typed="y\n")
    assert said.endswith("Ada is disabled and is being deleted.")
    [ada] = [person for person in terminal.people() if person["name"] == "Ada"]
    assert ada["deleting_at"] is not None
    assert "being deleted" in terminal.refuses("enable", "Ada")


def test_organisations_are_made_and_people_move(terminal: Terminal) -> None:
    orgs = Terminal(terminal.home, "orgs")
    assert "created" in orgs.says("create", "Acme")
    assert "Code: organisation_name_taken" in orgs.refuses("create", "ACME")
    link = terminal.says("invite", "Olga", "--organisation", "acme", "--role", "owner")
    assert "#token=" in link
    second = terminal.refuses("invite", "Max", "--organisation", "Acme", "--role", "owner")
    assert "Code: organisation_has_owner" in second
    assert "Code: organisation_has_owner" in terminal.refuses("invite", "Max", "--role", "owner")
    assert "Code: organisation_not_found" in terminal.refuses("invite", "Max", "--organisation", "Other")
    terminal.says("invite", "Max")
    assert "Max is in Acme now, as admin." in orgs.says("move-person", "Max", "Acme", "--role", "admin")
    rows = [json.loads(line) for line in orgs.says("list", "--json").splitlines()]
    assert [(row["name"], row["person_count"]) for row in rows] == [("Default", 1), ("Acme", 2)]
    assert "Code: organisation_has_people" in orgs.refuses("delete", "Acme")
    for name in ("Max", "Olga"):
        orgs.says("move-person", name, "Default")
    orgs.says("rename", "Acme", "Emca")
    orgs.says("delete", "Emca")
    assert orgs.says("list").endswith("Default  (default)")
