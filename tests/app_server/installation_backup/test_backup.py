"""Tests of backups: a running installation is copied into one file, and continues in a new home after a
restore.
"""

import asyncio
import io
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from typer.testing import CliRunner

from app_server.cli.main import app
from app_server.core.config import Config
from app_server.core.migrations import MIGRATIONS
from app_server.lifespan import lifespan
from tests.support.databases import POSTGRES, SQLITE, postgres_database
from tests.support.scripted_llm import ScriptedLLM, call, say
from tests.support.server import (
    AppServerProcess,
    add_model,
    events,
    start_conversation,
    wait_for_status,
    wait_until,
)


@contextmanager
def another_database(kind: str) -> Iterator[dict[str, str]]:
    """Yields the environment variables with which a server uses another, empty database of this kind."""
    if kind == "sqlite":
        yield {}
        return
    with asyncio.Runner() as runner:
        making = postgres_database()
        url = runner.run(making.__aenter__())
        try:
            yield {"SLIPWAY_DATABASE_URL": url}
        finally:
            runner.run(making.__aexit__(None, None, None))


@pytest.mark.processes
@pytest.mark.parametrize("database_kind", [SQLITE, POSTGRES], indirect=True)
def test_a_conversation_goes_on_in_the_restored_home(
    tmp_path: Path, database_kind: str, scripted_llm: ScriptedLLM
) -> None:
    with another_database(database_kind) as old, another_database(database_kind) as new:
        first = AppServerProcess(tmp_path / "first", sandbox="process", environment=old)
        # The second server gets the first one's path and port: its process sandboxes have stored both.
        new["SLIPWAY_INNER_PORT"] = str(first.inner_port)
        second = AppServerProcess(first.home, sandbox="process", environment=new)
        file = tmp_path / "backup.tar.gz"
        scripted_llm.aside = say("A title")
        scripted_llm.script(call("terminal", command="echo mine > notes"), say("Written."))
        first.start()
        with first.client() as client:
            add_model(client, scripted_llm.base_url, scripted_llm.api_key)
            conversation_id = start_conversation(client, "Write.", llm_profile="scripted")
            wait_for_status(client, conversation_id, "finished")
            said = first.slipway("backup", str(file)).stdout
            log = events(client, conversation_id)
        first.stop()
        first.home.rename(tmp_path / "lost")

        assert "everyone who can read it can read all stored secrets" in said
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        second.slipway("restore", str(file))
        with second, second.client() as client:
            assert events(client, conversation_id) == log
            scripted_llm.script(call("terminal", command="cat notes"), say("It says so."))
            message = {"role": "user", "content": [{"type": "text", "text": "Read."}], "run": True}
            client.post(f"/app-conversations/{conversation_id}/send-message", json=message)
            wait_until(
                lambda: "It says so." in json.dumps(events(client, conversation_id)),
                lambda: json.dumps(events(client, conversation_id)[-3:]),
            )
            assert "mine" in json.dumps(events(client, conversation_id)[len(log) :])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Returns the home directory of a server that was started once."""
    home = tmp_path / "home"

    async def start() -> None:
        async with lifespan(Config(home=home, sandbox="process")):
            pass

    asyncio.run(start())
    return home


def run(home: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--home", str(home)])
    assert done.exit_code == 0, done.output
    return done.stdout


def refusal(home: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments, "--home", str(home)])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return done.stderr


def test_only_an_empty_home_is_filled(tmp_path: Path, home: Path) -> None:
    file = tmp_path / "backup"
    run(home, "backup", str(file))
    assert "exists already" in refusal(home, "backup", str(file))
    assert "is not empty" in refusal(home, "restore", str(file))
    assert "cannot be read: No such file" in refusal(tmp_path / "new", "restore", str(tmp_path / "nothing"))
    assert "cannot be written into the home" in refusal(home, "backup", str(home / "backup"))
    said = run(tmp_path / "new", "restore", str(file))
    assert f"Process sandboxes continue only in {home}" in said
    left_out = {"server.lock", "server.json", "start-worker", "disks"}
    names = {path.name for path in home.iterdir()} - left_out
    assert {path.name for path in (tmp_path / "new").iterdir()} - left_out == names
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".backup")]
    entries = [json.loads(line)["action"] for line in run(home, "audit", "export").splitlines()]
    assert "installation.backed_up" in entries


def test_another_key_is_noticed_before_anything_is_put_in_place(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, new = tmp_path / "backup", tmp_path / "new"
    assert "It does not hold the encryption key." in run(home, "backup", "--without-key", str(file))
    assert "holds no encryption key" in refusal(new, "restore", str(file))
    monkeypatch.setenv("SLIPWAY_ENCRYPTION_KEYS", json.dumps([Fernet.generate_key().decode()]))
    assert "is not that of the backup" in refusal(new, "restore", str(file))
    assert [path.name for path in new.iterdir()] == ["server.lock"]
    key = (home / "encryption.key").read_text()
    monkeypatch.setenv("SLIPWAY_ENCRYPTION_KEYS", json.dumps([key]))
    run(new, "restore", str(file))
    assert not (new / "encryption.key").exists()


def test_whatever_lies_in_a_workspace_is_copied_or_named(tmp_path: Path, home: Path) -> None:
    """An agent decides which files a workspace has. The commands run without root's right to read every
    file, so that an unreadable folder is possible.
    """
    file, new = tmp_path / "backup", tmp_path / "new"
    workspace = home / "sandboxes" / "one"
    workspace.mkdir(parents=True)
    (workspace / os.fsdecode(b"\xe9t\xe9")).write_text("not UTF-8")
    os.link(workspace / os.fsdecode(b"\xe9t\xe9"), workspace / "second name")
    (workspace / "link").symlink_to("/etc/passwd")
    os.mkfifo(workspace / "pipe")
    (home / ".backup-killed").mkdir()
    (home / ".backup-killed" / "database").write_text("an unfinished copy")
    (workspace / "closed").mkdir()
    (workspace / "closed" / "file").write_text("kept to itself")
    (workspace / "closed").chmod(0)
    said = as_another_user(home, "backup", str(file))
    assert "Left out, because it cannot be read: sandboxes/one/closed" in said

    as_another_user(new, "restore", str(file))
    restored = new / "sandboxes" / "one"
    assert {os.fsencode(path.name) for path in restored.iterdir()} == {b"\xe9t\xe9", b"second name", b"link"}
    assert (restored / os.fsdecode(b"\xe9t\xe9")).read_text() == "not UTF-8"
    assert (restored / "second name").read_text() == "not UTF-8"
    assert os.readlink(restored / "link") == "/etc/passwd"  # noqa: PTH115 (as it was written)
    assert not (new / ".backup-killed").exists()


def as_another_user(home: Path, *arguments: str) -> str:
    """Runs `slipway` without root's right to read every file. Returns its output."""
    command = [sys.executable, "-m", "app_server", *arguments, "--home", str(home)]
    if os.geteuid() == 0:
        kept = "-dac_override,-dac_read_search"
        command = ["setpriv", f"--bounding-set={kept}", f"--inh-caps={kept}", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_older_database_and_one_under_another_name_are_copied(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database has the tables of an older version, as after an upgrade and before the first start of the
    new version. Its file has another name.
    """
    file, new = tmp_path / "backup", tmp_path / "new"
    (home / "slipway.sqlite3").rename(home / "other.sqlite3")
    with closing(sqlite3.connect(home / "other.sqlite3")) as database, database:
        older = sorted((MIGRATIONS / "versions").glob("*.py"))[-2].stem.split("_", 4)[4]
        database.execute("UPDATE alembic_version SET version_num = ?", (older,))
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", f"sqlite+aiosqlite:///{home}/other.sqlite3")
    assert "no server of this version has been started yet" in run(home, "backup", str(file))
    with tarfile.open(file) as tar:
        assert not [name for name in tar.getnames() if "sqlite3" in name]
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", f"sqlite+aiosqlite:///{new}/other.sqlite3")
    run(new, "restore", str(file))
    assert (new / "other.sqlite3").exists()


Change = Callable[[tarfile.TarInfo, bytes], tuple[tarfile.TarInfo, bytes] | None]


def rewritten(source: Path, change: Change) -> Path:
    """Copies a tar file and passes each member to `change`, which returns the new member. None leaves the
    member out. Returns the path of the copy.
    """
    target = source.with_name("rewritten")
    with tarfile.open(source) as old, tarfile.open(target, "w:gz") as new:
        for member in old:
            content = old.extractfile(member) if member.isreg() else None
            changed = change(member, content.read() if content else b"")
            if changed:
                changed[0].size = len(changed[1])
                new.addfile(changed[0], io.BytesIO(changed[1]))
    return target


def flipped(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return member, content[:-1] + b"?" if member.name == "home/egress-authority.crt" else content


def without_end(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes] | None:
    return None if member.name == "manifest.json" else (member, content)


def leading_out(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    if member.name == "home/egress-authority.crt":
        member.name = "home/../../outside"
    return member, content


def through_a_link(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    if member.name == "home/demo":
        member.type, member.linkname = tarfile.SYMTYPE, "/tmp"  # noqa: S108
    return member, content


def a_device(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    if member.name == "home/demo":
        member.type = tarfile.CHRTYPE
    return member, content


def of_a_newer_version(member: tarfile.TarInfo, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    if member.name == "manifest.json":
        content = json.dumps({**json.loads(content), "schema_revision": "of_tomorrow"}).encode()
    return member, content


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (flipped, "home/egress-authority.crt is not what was backed up"),
        (without_end, "its end is missing"),
        (leading_out, "has a path outside of it"),
        (through_a_link, "has a path outside of it"),
        (a_device, "is a device or a pipe"),
        (of_a_newer_version, "newer version"),
    ],
)
def test_a_backup_that_was_changed_is_refused_whole(
    tmp_path: Path, home: Path, change: Change, words: str
) -> None:
    file, new = tmp_path / "backup", tmp_path / "new"
    run(home, "backup", str(file))
    assert words in refusal(new, "restore", str(rewritten(file, change)))
    assert [path.name for path in new.iterdir()] == ["server.lock"]
    assert not (tmp_path / "outside").exists()


def test_a_cut_off_file_is_refused_and_a_home_that_was_filled_in_part_starts_no_server(
    tmp_path: Path, home: Path
) -> None:
    file, new = tmp_path / "backup", tmp_path / "new"
    run(home, "backup", str(file))
    short = tmp_path / "short"
    short.write_bytes(file.read_bytes()[:-1000])
    assert "is damaged" in refusal(new, "restore", str(short))
    (new / "restore-unfinished").mkdir()
    assert "did not finish" in refusal(new, "restore", str(file))
    assert "did not finish" in refusal(new, "serve", "--sandbox", "process")
