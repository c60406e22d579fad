"""Tests of `slipway audit`: an administrator verifies and exports the audit log in a server's terminal."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from app_server.cli.main import app
from app_server.core.config import Config
from app_server.lifespan import lifespan


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Returns the home directory of a server that was started once."""
    home = tmp_path / "home"

    async def start() -> None:
        async with lifespan(Config(home=home, sandbox="process")):
            pass

    asyncio.run(start())
    return home


def run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--home", str(home)])


def test_commands_are_told_of_and_a_changed_entry_is_found(home: Path) -> None:
    assert run(home, "users", "invite", "Ada").exit_code == 0
    assert run(home, "users", "role", "Ada", "viewer").exit_code == 0
    assert run(home, "users", "disable", "Ada").exit_code == 0
    exported = run(home, "audit", "export")
    entries = [json.loads(line) for line in exported.stdout.splitlines()]
    assert [one["action"] for one in entries] == [
        "member.created",
        "sign_in_link.created",
        "member.role_changed",
        "member.disabled",
        "audit_log.exported",
    ]
    assert {(one["means"], one["actor_name"]) for one in entries} == {("command_line", "Owner")}
    assert run(home, "audit", "export", "--format", "csv").stdout.startswith("id,happened_at,")

    whole = run(home, "audit", "verify")
    assert whole.exit_code == 0
    assert whole.stdout.startswith("6 entries are intact. The newest: 6:")
    noted = whole.stdout.split()[-1]
    assert run(home, "audit", "verify", "--known", noted).exit_code == 0
    other = run(home, "audit", "verify", "--known", f"6:{'0' * 64}")
    assert (other.exit_code, other.stderr.strip()) == (1, "Entry 6 differs from the one that you named.")
    assert run(home, "audit", "verify", "--known", "6").exit_code == 2

    with closing(sqlite3.connect(home / "slipway.sqlite3")) as database, database:
        database.execute("UPDATE audit_entries SET actor_name = 'Eve' WHERE id = 3")
    found = run(home, "audit", "verify", "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["problem"] == "Entry 3 was changed."
