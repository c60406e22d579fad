"""Tests of `slipway keys rotate`: it encrypts all stored secrets with a new key. They stay readable if the
command is killed at any moment.
"""

import asyncio
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from click.testing import Result
from cryptography.fernet import Fernet
from sqlalchemy import select
from typer.testing import CliRunner

from app_server.cli import key_rotation
from app_server.cli.main import app as slipway
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.core.encryption import Cipher, key_file, keys_in, load_cipher
from app_server.core.jobs.models import Job
from app_server.egress.tls.authority import load_authority
from app_server.http.listeners import home_of_our_own
from app_server.lifespan import lifespan
from app_server.secrets.models import Secret
from app_server.settings.models import LLMProfile
from app_server.users.service import find_owner

Found = TypeVar("Found")

SECRETS = 5
HEADERS = {"X-One": "first", "X-Two": "second"}


def rotate(config: Config) -> Result:
    return CliRunner().invoke(slipway, ["keys", "rotate", "--home", str(config.home)])


def in_database(config: Config, work: Any) -> Any:
    async def run() -> Any:
        database = Database(config.resolved_database_url)
        try:
            async with database.session() as session:
                return await work(session)
        finally:
            await database.close()

    return asyncio.run(run())


@pytest.fixture
def config(config: Config, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Returns the configuration of an installation with stored secrets: in text columns, in JSON columns, in
    a job and in a file.
    """
    assert config.database_url
    monkeypatch.setenv("SLIPWAY_DATABASE_URL", config.database_url.get_secret_value())

    async def start() -> None:
        async with lifespan(config):
            pass

    async def fill(session: Any) -> None:
        owner = await find_owner(session)
        assert owner
        for number in range(SECRETS):
            value = cipher.encrypt(f"value {number}")
            session.add(Secret(user_id=owner.id, name=f"S{number}", value_encrypted=value))
        headers = {name: cipher.encrypt(value) for name, value in HEADERS.items()}
        session.add(
            LLMProfile(
                user_id=owner.id, name="mine", model="x/y", is_active=False, extra_headers_encrypted=headers
            )
        )
        payload = {"token_encrypted": cipher.encrypt("token"), "app_id": uuid4().hex}
        session.add(Job(id=uuid4(), kind="tests", payload=payload))

    asyncio.run(start())
    cipher = load_cipher(config)
    load_authority(config, cipher)
    in_database(config, fill)
    return config


def stored(config: Config, cipher: Cipher) -> dict[str, str]:
    """Returns all stored secrets by name, decrypted with `cipher`."""

    async def read(session: Any) -> dict[str, str]:
        found = {
            one.name: cipher.decrypt(one.value_encrypted) for one in await session.scalars(select(Secret))
        }
        profile = (await session.scalars(select(LLMProfile).where(LLMProfile.name == "mine"))).one()
        found |= {name: cipher.decrypt(one) for name, one in profile.extra_headers_encrypted.items()}
        job = (await session.scalars(select(Job).where(Job.kind == "tests"))).one()
        return found | {"job": cipher.decrypt(job.payload["token_encrypted"])}

    found: dict[str, str] = in_database(config, read)
    load_authority(config, cipher)
    return found


EXPECTED = {f"S{number}": f"value {number}" for number in range(SECRETS)} | HEADERS | {"job": "token"}


def test_everything_is_encrypted_with_a_new_key_and_stays_as_it_was(config: Config) -> None:
    [old] = keys_in(key_file(config))
    times = in_database(config, _times)
    ended = rotate(config)
    assert ended.exit_code == 0, ended.output
    assert ended.stdout.startswith(f"{len(EXPECTED) + 1} stored values are encrypted anew")
    new, kept = keys_in(key_file(config))
    assert kept == old
    assert key_file(config).stat().st_mode & 0o777 == 0o600
    assert stored(config, Cipher([new])) == EXPECTED
    assert in_database(config, _times) == times
    again = rotate(config)
    assert again.exit_code == 0, again.output
    assert len(keys_in(key_file(config))) == 3


async def _times(session: Any) -> list[Any]:
    return [*await session.scalars(select(Secret.updated_at).order_by(Secret.name))]


def test_a_killed_rotation_loses_nothing_and_is_finished_by_the_next(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_rotation, "BATCH", 2)
    rotate_table = key_rotation._rotate_table

    class Killed(BaseException):
        pass

    async def killed_after_secrets(database: Any, cipher: Any, table: Any, columns: Any) -> int:
        renewed = await rotate_table(database, cipher, table, columns)
        if table.name == "llm_profiles":
            raise Killed
        return renewed

    monkeypatch.setattr(key_rotation, "_rotate_table", killed_after_secrets)
    with pytest.raises(Killed):
        rotate(config)
    assert stored(config, load_cipher(config)) == EXPECTED
    monkeypatch.setattr(key_rotation, "_rotate_table", rotate_table)
    ended = rotate(config)
    assert ended.exit_code == 0, ended.output
    new, _old = keys_in(key_file(config))
    assert stored(config, Cipher([new])) == EXPECTED


def test_it_waits_for_no_running_server_and_names_what_no_key_opens(config: Config) -> None:
    with home_of_our_own(config.home):
        refused = rotate(config)
    assert refused.exit_code == 2
    assert "stop it" in refused.stderr
    assert len(keys_in(key_file(config))) == 1

    async def damage(session: Any) -> None:
        secret = (await session.scalars(select(Secret).where(Secret.name == "S0"))).one()
        secret.value_encrypted = Fernet(Fernet.generate_key()).encrypt(b"lost").decode()

    in_database(config, damage)
    ended = rotate(config)
    assert ended.exit_code == 1
    assert "secrets.value_encrypted of " in ended.stderr


def test_named_keys_are_rotated_while_servers_run(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    [old], new = keys_in(key_file(config)), Fernet.generate_key().decode()
    monkeypatch.setenv("SLIPWAY_ENCRYPTION_KEYS", f'["{old}"]')
    assert "names one key" in rotate(config).stderr
    monkeypatch.setenv("SLIPWAY_ENCRYPTION_KEYS", f'["{new}", "{old}"]')
    with home_of_our_own(config.home):
        ended = rotate(config)
    assert ended.exit_code == 0, ended.output
    assert stored(config, Cipher([new])) == EXPECTED


def test_every_column_with_a_name_of_encrypted_ones_is_known() -> None:
    names = {
        f"{table.name}.{one.name}" for table, columns in key_rotation.encrypted_columns() for one in columns
    }
    some = {"secrets.value_encrypted", "jobs.payload", "level_settings.sealed_encrypted"}
    assert some <= names
    assert len(names) >= 21


STORES = "_encrypted", "encrypted_"


def test_what_is_encrypted_goes_into_columns_that_the_rotation_knows() -> None:
    """Reads the source for calls of `encrypt`. The result of each call must be stored in a column that the
    key rotation finds, or be valid only for minutes (cookies, tickets), or be written by a module that
    the key rotation calls.
    """
    root = Path(key_rotation.__file__).parents[1]
    short_lived = {
        "core/encryption.py",
        "cli/key_rotation.py",
        "conversations/start/secrets.py",
        "egress/tls/authority.py",
        "git_hosts/authorization/attempts.py",
        "git_proxy/large_files.py",
        "installation_backup/write.py",
        "sign_in/oidc/attempts.py",
        "sign_in/saml/attempts.py",
        # After a rotation, such a cookie is unreadable: then a sign-out only does not sign out at the
        # provider.
        "sign_in/saml/provider_sessions.py",
    }
    unknown = []
    for file in sorted(root.rglob("*.py")):
        name = file.relative_to(root).as_posix()
        for line in file.read_text().splitlines():
            is_call = "cipher.encrypt(" in line and name not in short_lived
            if is_call and not any(one in line.partition("cipher.encrypt(")[0] for one in STORES):
                unknown.append(f"{name}: {line.strip()}")
    allowed = {
        "header: cipher.encrypt(",
        "encrypted = self._cipher.encrypt(",
        "token = self._cipher.encrypt(",
    }
    assert [one for one in unknown if not any(text in one for text in allowed)] == []
