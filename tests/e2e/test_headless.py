"""`slipway run` carries out a task of the user without a browser."""

import json
import os
import subprocess
from pathlib import Path

from app_server.cli.credentials import CredentialFile, ServerCredential
from tests.support.forking import run_slipway
from tests.support.hostile_repository import MARKS, HostileRepository
from tests.support.scripted_llm import ScriptedLLM, call, fail
from tests.support.server import AppServerProcess, Json, conversation

TASK = "write a greeting"


def run(server: AppServerProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_slipway(["run", TASK, "--home", str(server.home), *arguments], os.environ)


def last_line(ended: subprocess.CompletedProcess[str]) -> Json:
    summary: Json = json.loads(ended.stdout.splitlines()[-1])
    return summary


def write_a_greeting(scripted_llm: ScriptedLLM) -> None:
    scripted_llm.script(
        call("terminal", command="echo hello > greeting.txt"),
        call("finish", message="Greeted."),
    )


def test_a_run_uses_the_server_of_its_home_and_leaves_the_conversation_there(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    write_a_greeting(scripted_llm)
    ended = run(scripted_server, "--repo", str(repository), "--profile", "scripted", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    summary = last_line(ended)
    assert (summary["status"], summary["final_message"]) == ("finished", "Greeted.")
    assert "+hello" in summary["diff"]
    kinds = {json.loads(line)["type"] for line in ended.stdout.splitlines()}
    assert {"note", "sync", "start_task", "durable", "summary"} <= kinds
    with scripted_server.client() as client:
        assert conversation(client, summary["conversation_id"])["title"] in (TASK, "A title")


def test_a_run_without_a_server_starts_one_and_ends_it(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    scripted_server.stop()
    write_a_greeting(scripted_llm)
    own = ["--sandbox", "process", "--repo", str(repository)]
    ended = run(scripted_server, *own, "--verify", "grep hello greeting.txt")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "diff --git a/greeting.txt b/greeting.txt" in ended.stdout
    assert not (scripted_server.home / "server.json").exists()


def test_a_run_works_on_a_server_that_this_terminal_is_signed_in_at(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, repository: Path, tmp_path: Path
) -> None:
    with scripted_server.client() as client:
        key = client.post("/api-keys", json={"name": "laptop", "scopes": ["work"]}).json()["key"]
    file = CredentialFile(tmp_path / "slipway" / "credentials.json")
    file.save(scripted_server.url, ServerCredential(key=key, name="laptop"))
    write_a_greeting(scripted_llm)
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    arguments = [
        "--repo",
        str(repository),
        "--profile",
        "scripted",
        "--json",
        "--server",
        scripted_server.url,
    ]
    ended = run_slipway(["run", TASK, *arguments], environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert last_line(ended)["final_message"] == "Greeted."


def test_what_the_repository_would_run_is_named_and_runs_with_consent(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, tmp_path: Path
) -> None:
    hostile = HostileRepository(tmp_path / "hostile", serves=False)
    repo = ["--repo", str(hostile.path)]
    write_a_greeting(scripted_llm)
    first = run(scripted_server, *repo, "--json", "--verify", f"test ! -e {MARKS}")
    assert first.returncode == 0, first.stdout + first.stderr
    [script] = [each for each in last_line(first)["not_run"] if each["kind"] == "setup_script"]
    assert f"--consent {script['hash']}" in first.stdout

    write_a_greeting(scripted_llm)
    only = f'test "$(ls {MARKS})" = setup_script'
    second = run(scripted_server, *repo, "--consent", script["hash"], "--verify", only)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "Not run: hooks .openhands/hooks.json" in second.stdout


def test_a_failed_verification_fails_the_run(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    write_a_greeting(scripted_llm)
    ended = run(scripted_server, "--json", "--verify", "grep goodbye greeting.txt")
    assert ended.returncode == 1
    assert last_line(ended)["verification"]["state"] == "failed"


def test_a_model_that_refuses_fails_the_run_and_says_why(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(fail(401, error="no such key"))
    ended = run(scripted_server)
    assert ended.returncode == 1
    assert "no such key" in ended.stdout


def test_a_repository_that_is_not_there_is_refused_in_one_sentence(
    scripted_server: AppServerProcess, tmp_path: Path
) -> None:
    ended = run(scripted_server, "--repo", str(tmp_path / "nowhere"))
    assert ended.returncode == 2
    assert "repository_not_found" in ended.stderr
