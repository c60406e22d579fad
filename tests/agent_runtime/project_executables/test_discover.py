"""Tests of which executables are found in a project, and of which edits change the hash of an executable."""

import json
import os
from pathlib import Path

import pytest

from agent_runtime.project_executables.discover import find_executables
from agent_runtime.wire import ProjectExecutable
from tests.support.hostile_repository import KINDS, HostileRepository


@pytest.fixture
def repository(tmp_path: Path) -> HostileRepository:
    return HostileRepository(tmp_path / "repository")


def by_kind(project: Path) -> dict[str, ProjectExecutable]:
    return {executable.kind: executable for executable in find_executables(project)}


def write(project: Path, name: str, text: str) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)


def paths(executable: ProjectExecutable) -> list[str]:
    return [file.path for file in executable.files]


def test_everything_that_would_run_is_listed_in_full_and_none_of_it_is_run(repository: HostileRepository):
    found = by_kind(repository.path)

    assert tuple(found) == KINDS
    assert paths(found["setup_script"]) == [".openhands/setup.sh", "tools/install.sh"]
    assert paths(found["hooks"]) == ["tools/hook.sh"]
    assert found["hooks"].runs == ["bash tools/hook.sh"]
    assert (found["mcp_server"].name, found["mcp_server"].runs) == ("sums", ["bash tools/server.sh"])
    assert ".agents/plugins/evil/mark.sh" in paths(found["plugin"])
    assert found["plugin"].runs == ["bash ${PLUGIN_ROOT}/mark.sh"]
    assert all(file.text for executable in found.values() for file in executable.files)
    assert all(executable.problem is None for executable in found.values())
    assert repository.ran() == set()


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_what_runs_in_the_end_is_another_version_of_that_alone(
    repository: HostileRepository, kind: str
):
    before = by_kind(repository.path)

    repository.edit(kind)

    after = by_kind(repository.path)
    assert [one for one in KINDS if after[one].hash != before[one].hash] == [kind]


def test_the_hash_is_the_same_wherever_the_repository_lies(repository: HostileRepository, tmp_path: Path):
    before = by_kind(repository.path)

    moved = repository.path.rename(tmp_path / "elsewhere")

    assert {kind: one.hash for kind, one in by_kind(moved).items()} == {
        kind: one.hash for kind, one in before.items()
    }


def test_only_the_hooks_of_a_settings_file_count(tmp_path: Path):
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}
    write(tmp_path, ".claude/settings.json", json.dumps({"model": "a", "hooks": hooks}))
    [before] = find_executables(tmp_path)
    write(tmp_path, ".claude/settings.json", json.dumps({"model": "b", "hooks": hooks}))
    [after] = find_executables(tmp_path)
    hooks["Stop"][0]["hooks"][0]["command"] = "false"
    write(tmp_path, ".claude/settings.json", json.dumps({"model": "b", "hooks": hooks}))
    [other] = find_executables(tmp_path)

    assert before.kind == "hooks"
    assert before.hash == after.hash != other.hash


@pytest.mark.parametrize(
    "command",
    [
        "bash tools/check.sh",
        "cd tools && ./check.sh",
        '"$CLAUDE_PROJECT_DIR"/tools/check.sh --fast',
        "sh -c 'exec tools/check.sh'",
        "bash<tools/check.sh",
        "bash tools/outer.sh",
        "python -m tools.check",
    ],
)
def test_a_script_is_found_however_a_command_names_it(tmp_path: Path, command: str):
    write(tmp_path, "tools/check.sh", "true")
    write(tmp_path, "tools/check.py", "pass")
    write(tmp_path, "tools/outer.sh", ". ./check.sh")
    write(
        tmp_path, ".mcp.json", json.dumps({"mcpServers": {"one": {"command": "sh", "args": ["-c", command]}}})
    )

    [executable] = find_executables(tmp_path)

    assert {"tools/check.sh", "tools/check.py"} & set(paths(executable))


def test_the_environment_and_the_directory_of_a_server_count(tmp_path: Path):
    write(tmp_path, "bin/python", "evil")
    server = {"command": "python", "args": ["x.py"], "env": {"PATH": "./bin:/usr/bin"}, "cwd": "sub"}
    write(tmp_path, "sub/x.py", "pass")
    write(tmp_path, ".mcp.json", json.dumps({"one": server}))

    [executable] = find_executables(tmp_path)

    assert paths(executable) == ["bin/python", "sub/x.py"]
    assert executable.runs == ["cd sub && PATH=./bin:/usr/bin python x.py"]


def test_a_repository_that_is_a_plugin_itself_offers_its_parts(tmp_path: Path):
    write(tmp_path, ".plugin/plugin.json", '{"name": "whole"}')
    write(tmp_path, "commands/greet.md", "Greet.")
    write(tmp_path, "src/unrelated.py", "pass")

    [executable] = find_executables(tmp_path)

    assert (executable.kind, executable.path, executable.name) == ("plugin", ".", "whole")
    assert paths(executable) == [".plugin/plugin.json", "commands/greet.md"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (".mcp.json", "{", "not JSON"),
        (".mcp.json", '{"one": {"args": []}}', "command"),
        (".openhands/hooks.json", '{"Stop": 1}', "hooks.json"),
        (".agents/plugins/p/.plugin/plugin.json", '{"name": "../p"}', "name"),
        (".openhands/setup.sh", "x" * (6 * 1024 * 1024), "larger than"),
    ],
)
def test_an_executable_that_cannot_be_reviewed_says_so(tmp_path: Path, name: str, content: str, words: str):
    write(tmp_path, name, content)

    [executable] = find_executables(tmp_path)

    assert words in (executable.problem or "")


def test_links_that_lead_out_and_things_that_are_no_files_cannot_be_consented_to(tmp_path: Path):
    project = tmp_path / "project"
    (project / ".openhands").mkdir(parents=True)
    (project / ".openhands/setup.sh").symlink_to("/etc/passwd")
    os.mkfifo(project / ".openhands/pre-commit.sh")

    problems = [executable.problem or "" for executable in find_executables(project)]

    assert ["leads out" in problems[0], "not a file" in problems[1]] == [True, True]


def test_a_project_without_anything_offers_nothing(tmp_path: Path):
    write(tmp_path, "AGENTS.md", "Be kind.")
    write(tmp_path, ".agents/skills/x/SKILL.md", "---\nname: x\ndescription: y\n---\nz")

    assert find_executables(tmp_path) == []
    assert find_executables(tmp_path / "nowhere") == []


def test_unknown_parts_of_an_executable_are_named(tmp_path: Path):
    matter = "hooks:\n  Stop: often\nmcp_servers:\n  sums: {command: sums}"
    place = ".agents/plugins/weather"
    write(tmp_path, f"{place}/.claude-plugin/plugin.json", '{"name": "weather"}')
    write(tmp_path, f"{place}/agents/half.md", f"---\nname: half\n{matter}\n---\nYou work.")
    write(tmp_path, f"{place}/skills/bad/SKILL.md", "---\na: [\n---\nx")
    write(tmp_path, ".agents/agents/half.md", f"---\nname: half\n{matter}\n---\nYou work.")

    found = by_kind(tmp_path)

    assert found["sub_agent"].runs == found["plugin"].runs == ["sums"]
    (reason,) = found["sub_agent"].left_out
    assert "its hooks are not used: stop" in reason
    skill, agent = found["plugin"].left_out
    assert "skills/bad/SKILL.md: its front matter is not valid YAML" in skill
    assert "agents/half: its hooks are not used: stop" in agent
