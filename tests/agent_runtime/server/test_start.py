"""What starting costs."""

import subprocess
import sys

import pytest

from agent_runtime.server.config import ConfigError, read_config

HEAVY = [
    "litellm",
    "openai",
    "docker",
    "mcp",
    "alembic",
    "playwright",
    "jinja2",
    "sqlalchemy",
    "redis",
    "kubernetes",
]


def test_nothing_heavy_is_imported_at_start():
    script = f"import agent_runtime.server.main, sys; print([m for m in {HEAVY} if m in sys.modules])"

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


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


def test_a_report_url_that_is_none_stops_the_start_and_is_named():
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

    assert config.credential_for(url) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_the_server_closes_its_first_environment_to_other_processes_of_its_user():
    get_dumpable = "import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    hide = "from agent_runtime.server.config import hide_from_own_user; hide_from_own_user();"

    found = subprocess.run(
        [sys.executable, "-c", hide + get_dumpable], capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "0"
