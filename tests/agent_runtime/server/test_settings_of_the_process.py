"""Tests of the settings that the agent server reads from its file and from environment variables, and of its
warnings.
"""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from agent_runtime.server.config import ConfigError, read_config


def test_variables_win_over_the_file(tmp_path: Path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"max_concurrent_runs": 3, "session_api_keys": ["a"], "vscode_port": 9001}))

    config = read_config({"OPENHANDS_AGENT_SERVER_CONFIG_PATH": str(file), "OH_MAX_CONCURRENT_RUNS": "5"})

    assert (config.max_concurrent_runs, config.session_keys, config.vscode_port) == (5, ("a",), 9001)


@pytest.mark.parametrize(
    ("environment", "field", "expected"),
    [
        (
            {"OH_ALLOW_CORS_ORIGINS": '["https://a", "https://b"]'},
            "allow_cors_origins",
            ("https://a", "https://b"),
        ),
        ({"OH_ALLOW_CORS_ORIGINS_0": "https://a"}, "allow_cors_origins", ("https://a",)),
        ({f"OH_ALLOW_CORS_ORIGINS_{n}": str(n) for n in (10, 2)}, "allow_cors_origins", ("2", "10")),
        ({"OH_MAX_CONCURRENT_RUNS_IS_NONE": "1"}, "max_concurrent_runs", None),
        ({"OH_DEFERRED_INIT": "true", "OH_INIT_API_KEY": "k"}, "deferred_init", True),
        ({"SESSION_API_KEY": "old", "OH_SESSION_API_KEYS": '["", "new"]'}, "session_keys", ("new", "old")),
        ({"OH_COMMAND_VARIABLES": '{"PATH": "/opt"}'}, "command_variables", {"PATH": "/opt"}),
        ({"OH_CONVERSATION_IDLE_TTL_SECONDS": "0.5"}, "conversation_idle_ttl_seconds", 0.5),
    ],
)
def test_variables_become_settings(environment: dict[str, str], field: str, expected: object):
    assert getattr(read_config(dict(environment)), field) == expected


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"OH_MAX_CONCURRENT_RUNS": "0"}, "OH_MAX_CONCURRENT_RUNS"),
        ({"OH_COMMAND_VARIABLES": "PATH=/opt"}, "OH_COMMAND_VARIABLES"),
        ({"OH_COMMAND_VARIABLES": '{"PATH": ["/opt"]}'}, "OH_COMMAND_VARIABLES"),
        ({"OH_VSCODE_PORT": "many"}, "OH_VSCODE_PORT"),
        ({"OH_DEFERRED_INIT": "1"}, "OH_INIT_API_KEY"),
        ({"OPENHANDS_AGENT_SERVER_CONFIG_PATH": "/nowhere.json"}, "OPENHANDS_AGENT_SERVER_CONFIG_PATH"),
    ],
)
def test_a_wrong_value_stops_the_start_and_is_named(environment: dict[str, str], named: str):
    with pytest.raises(ConfigError, match=named):
        read_config(environment)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("OH_MAX_CONCURENT_RUNS", "Did you mean OH_MAX_CONCURRENT_RUNS?"),
        ("OH_SESSION_API_KEY", "Did you mean OH_SESSION_API_KEYS?"),
        ("OH_PRELOAD_TOOLS", "no effect"),
        ("OH_TELEMETRY_EXPORTER", "there is no telemetry"),
        ("OH_WEBHOOKS_0_FLUSH_DELAY", "no effect"),
        ("OH_SOMETHING_ELSE_ENTIRELY", "not a setting"),
    ],
)
def test_a_variable_that_means_nothing_here_is_said_aloud(
    name: str, said: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        read_config({name: "1"})

    assert name in caplog.text
    assert said in caplog.text


def test_nothing_is_said_of_variables_that_are_used(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        read_config(
            {
                "OH_SESSION_API_KEYS_0": "k",
                "OH_WEBHOOKS_0_BASE_URL": "http://app",
                "OH_MAX_CONCURRENT_RUNS_IS_NONE": "1",
            }
        )

    assert caplog.text == ""


def test_keys_of_any_kind_are_taken_out_of_the_environment():
    environment = {
        "OH_SESSION_API_KEYS": '["a"]',
        "OH_SECRET_KEY": "b",
        "OH_PREVIOUS_SECRET_KEYS_0": "c",
        "OH_INIT_API_KEY": "d",
    }

    config = read_config(environment)

    assert environment == {}
    assert not any(key in repr(config) for key in ("'a'", "'b'", "'c'", "'d'"))


def test_modules_named_at_start_are_imported_from_their_folder(tmp_path: Path):
    (tmp_path / "mine.py").write_text("raise ImportError('seen')")
    command = [sys.executable, "-m", "agent_runtime.server", "--extra-python-path", str(tmp_path)]

    done = subprocess.run([*command, "--import-modules", "mine"], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "mine cannot be imported: seen" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--fd", "99"], "--fd 99: "), (["--fd", "0", "--reload"], "--reload opens a new socket each time")],
)
def test_a_socket_that_cannot_be_listened_on_stops_the_start_and_is_named(arguments: list[str], said: str):
    command = [sys.executable, "-m", "agent_runtime.server", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert said in done.stderr
