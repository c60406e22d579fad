"""Tests of the start of the agent server: imports, keys in the environment, and wrong settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_runtime.server.config import ConfigError, read_config
from agent_runtime.server.keys.provisioning import HandOverError, take_first_keys
from agent_runtime.server.keys.session_keys import SessionKeys
from agent_runtime.wire import FirstKeys

HEAVY = [
    "litellm",
    "openai",
    "fastmcp",
    "docker",
    "mcp",
    "alembic",
    "playwright",
    "jinja2",
    "sqlalchemy",
    "redis",
    "kubernetes",
    "cryptography",
    "yaml",
    "rich",
    "httpcore",
    "pydantic.v1.main",
]


_START = """
import asyncio, os, sys
from agent_runtime.server.startup.lazy_modules import build_models_late, leave_out_unused
leave_out_unused()
build_models_late()
from agent_runtime.server.config import read_config
from agent_runtime.server.main import create_app
async def start(app):
    async with app.router.lifespan_context(app):
        print([name for name in sys.argv[1:] if name in sys.modules])
    app.openapi()
asyncio.run(start(create_app(read_config(os.environ))))
"""


def test_a_start_imports_nothing_heavy_and_models_built_late_give_no_warning(tmp_path: Path):
    found = subprocess.run(
        [sys.executable, "-W", "default", "-c", _START, *HEAVY],
        env={**os.environ, "OH_CONVERSATIONS_PATH": str(tmp_path), "OH_WORKSPACE_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip() == "[]"
    assert found.stderr == ""


def test_keys_are_taken_out_of_the_environment():
    environment = {
        "OH_SESSION_API_KEYS_0": "a",
        "OH_SESSION_API_KEYS_1": "b",
        "SESSION_API_KEY": "a",
        "HOME": "/",
    }

    config = read_config(environment)

    assert config.session_keys == ("a", "b")
    assert environment == {"HOME": "/"}


def test_an_invalid_report_url_stops_the_start_and_is_named():
    with pytest.raises(ConfigError, match="OH_WEBHOOKS_0_BASE_URL"):
        read_config({"OH_WEBHOOKS_0_BASE_URL": "ftp://x"})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://app:3001/llm/default/v1", "key"),
        ("http://app:3002/llm", None),
        ("https://app:3001/llm", None),
        ("http://app.evil:3001/llm", None),
        ("http://app:3001@evil/llm", None),
    ],
)
def test_the_session_key_is_given_only_to_the_app_servers_own_origin(url: str, expected: str | None):
    config = read_config(
        {"OH_SESSION_API_KEYS_0": "key", "OH_WEBHOOKS_0_BASE_URL": "http://app:3001/api/v1/webhooks"}
    )

    assert SessionKeys(config).credential_for(url) == expected


def test_the_key_that_was_handed_over_is_the_only_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/openhands_agent_server_config.json").write_text('{"session_api_keys": ["mine"]}')

    assert read_config(
        {"OH_SESSION_API_KEYS_0": "known"}, FirstKeys(session_key="handed-over")
    ).session_keys == ("handed-over",)


def test_a_key_in_a_file_is_taken_and_the_file_is_gone(tmp_path: Path):
    file = tmp_path / "key"
    file.write_text("of-the-file\n")

    assert take_first_keys(str(file)).session_key == "of-the-file"
    assert not file.exists()


@pytest.mark.parametrize("kind", ["missing", "empty", "link", "directory"])
def test_a_start_without_the_key_that_was_announced_ends_with_its_reason(tmp_path: Path, kind: str):
    source = tmp_path / "key"
    if kind == "empty":
        source.touch()
    elif kind == "link":
        (tmp_path / "elsewhere").write_text("of somebody else")
        source.symlink_to(tmp_path / "elsewhere")
    elif kind == "directory":
        source.mkdir()

    with pytest.raises(HandOverError, match=r"session key|is not a file"):
        take_first_keys(str(source))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_what_the_environment_held_is_overwritten_where_root_could_read_it(tmp_path: Path):
    look = (
        "import os; from agent_runtime.server.keys.provisioning import erase_from_first_environment as erase;"
        "erase(['SESSION_API_KEY']); os.write(1, open('/proc/self/environ', 'rb').read())"
    )
    environment = {**os.environ, "SESSION_API_KEY": "canary-key", "BESIDE": "kept"}

    found = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, check=True)

    assert b"canary-key" not in found.stdout
    assert b"BESIDE=kept\0" in found.stdout
    assert b"SESSION_API_KEY=\0" in found.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_the_server_closes_its_first_environment_to_other_processes_of_its_user():
    get_dumpable = "import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    hide = "from agent_runtime.server.keys.provisioning import hide_from_own_user; hide_from_own_user();"

    found = subprocess.run(
        [sys.executable, "-c", hide + get_dumpable], capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "0"
