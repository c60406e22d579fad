"""What keeps `slipway serve` from starting is reported in one sentence, with cause and fix and no
traceback.
"""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.forking import run_slipway
from tests.support.patience import PATIENCE_SECONDS
from tests.support.ports import free_port
from tests.support.requirements import OWN_MOUNTS

DATABASE = "slipway.sqlite3"


@pytest.fixture(scope="module")
def used_home(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Returns the content of a database file with all tables, as a server has left it."""
    home = tmp_path_factory.mktemp("used")
    code = (
        "import asyncio, pathlib, sys\n"
        "from app_server.core.database import Database\n"
        "from app_server.core.migrations import migrate\n"
        "asyncio.run(migrate(Database(f'sqlite+aiosqlite:///{sys.argv[1]}')))\n"
    )
    file = home / DATABASE
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.read_bytes()


def slipway(
    home: Path, *arguments: str, prefix: tuple[str, ...] = (), **environment: str
) -> "subprocess.CompletedProcess[str]":
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SLIPWAY_")}
    given = {
        **ours,
        "SLIPWAY_HOME": str(home),
        "SLIPWAY_SANDBOX": "process",
        "SLIPWAY_PORT": str(free_port()),
        "SLIPWAY_INNER_PORT": str(free_port()),
        **environment,
    }
    if not prefix:
        return run_slipway(arguments, given)
    return subprocess.run(
        [*prefix, sys.executable, "-m", "app_server", *arguments],
        env=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def refusal(home: Path, *, prefix: tuple[str, ...] = (), **environment: str) -> str:
    """Runs `slipway serve`, which must fail, and returns its single line of output."""
    done = slipway(home, "serve", prefix=prefix, **environment)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    [line] = done.stderr.strip().splitlines()
    return line


def test_a_malformed_list_is_one_sentence_without_its_value(tmp_path: Path) -> None:
    line = refusal(tmp_path / "home", SLIPWAY_ENCRYPTION_KEYS="abc")
    assert "SLIPWAY_ENCRYPTION_KEYS must be JSON" in line
    assert "abc" not in line


def test_an_invalid_key_is_reported_in_one_sentence(tmp_path: Path) -> None:
    line = refusal(tmp_path / "home", SLIPWAY_ENCRYPTION_KEYS='["abc"]')
    assert "SLIPWAY_ENCRYPTION_KEYS: each key must be 32 url-safe base64-encoded bytes" in line


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("SLIPWAY_SANBOX", "SLIPWAY_SANDBOX"), ("slipway_process_isolatoin", "SLIPWAY_PROCESS_ISOLATION")],
)
def test_a_misspelled_variable_stops_the_start_with_the_nearest_name(
    name: str, nearest: str, tmp_path: Path
) -> None:
    line = refusal(tmp_path / "home", **{name: "docker"})
    assert line.startswith(f"{name.upper()}: ")
    assert f"did you mean {nearest}?" in line
    assert not (tmp_path / "home").exists()


def test_a_corrupt_database_is_one_sentence_and_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is no database " * 1000)
    line = refusal(tmp_path)
    assert str(tmp_path / DATABASE) in line
    assert "backup" in line
    assert (tmp_path / DATABASE).read_bytes().startswith(b"this is no database")


def test_a_truncated_database_is_one_sentence_and_the_doctor_finds_it(
    used_home: bytes, tmp_path: Path
) -> None:
    (tmp_path / DATABASE).write_bytes(used_home[: len(used_home) // 2])
    assert "damaged" in refusal(tmp_path)
    doctor = slipway(tmp_path, "doctor")
    assert doctor.returncode == 1, doctor.stdout
    [found] = [line for line in doctor.stdout.splitlines() if " database " in line and "error" in line]
    assert "damaged" in found


def test_the_doctor_finds_a_damaged_page_that_no_start_reads(used_home: bytes, tmp_path: Path) -> None:
    page = int.from_bytes(used_home[16:18], "big")
    (tmp_path / DATABASE).write_bytes(used_home[: -20 * page] + b"\xff" * 20 * page)
    doctor = slipway(tmp_path, "doctor")
    assert doctor.returncode == 1, doctor.stdout
    assert "Traceback" not in doctor.stderr


def test_a_database_of_a_newer_version_is_one_sentence(used_home: bytes, tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(used_home)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'of_next_year'")
        connection.commit()
    line = refusal(tmp_path)
    assert "newer version" in line
    assert "of_next_year" in line


def test_a_postgresql_that_is_down_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    port = free_port()
    line = refusal(
        tmp_path / "home", SLIPWAY_DATABASE_URL=f"postgresql+asyncpg://me:hush@127.0.0.1:{port}/slipway"
    )
    assert f"The database at 127.0.0.1:{port} cannot be reached" in line
    assert "SLIPWAY_DATABASE_URL" in line
    assert "hush" not in line


@pytest.mark.parametrize("url", ["nonsense", "postgresql://127.0.0.1/slipway", "oracle+magic://there"])
def test_a_wrong_database_url_is_one_sentence(url: str, tmp_path: Path) -> None:
    assert "SLIPWAY_DATABASE_URL is not a URL" in refusal(tmp_path / "home", SLIPWAY_DATABASE_URL=url)


def test_a_home_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    line = refusal(tmp_path / "home")
    assert f"{tmp_path / 'home'} is a file" in line
    assert "SLIPWAY_HOME" in line
    assert "SLIPWAY_HOME" in refusal(tmp_path / "home" / "below")


def test_a_home_that_cannot_be_written_is_one_sentence() -> None:
    line = refusal(Path("/proc/slipway"))  # where not even root may make a directory
    assert "/proc" in line
    assert "SLIPWAY_HOME" in line


@pytest.mark.namespaces
@pytest.mark.parametrize("size", ["4k", "128k"])
def test_a_full_disk_is_one_sentence(size: str, tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
    line = refusal(tmp_path, prefix=(*OWN_MOUNTS, "sh", "-c", mount, str(tmp_path)))
    assert f"The disk of {tmp_path} is full" in line
    assert "SLIPWAY_HOME" in line


def test_a_link_for_a_damaged_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"this is no database " * 1000)
    done = slipway(tmp_path, "sign-in-link")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
