"""Tests of a conversation whose agent works in a folder of its repository."""

from pathlib import Path

import pytest

from agent_runtime.project_executables.discover import find_executables
from app_server.conversations.repositories.work_directory import checked_directory, levels_of
from app_server.core.errors import BadRequest
from tests.app_server.conversations.conftest import ROOT, Home, commit
from tests.app_server.conversations.test_several_checkouts import by_kind

HOOKS = '{"hooks": {"SessionStart": [{"hooks": [{"command": "touch %s"}]}]}}'


def test_folders_are_named_relative_to_the_root() -> None:
    assert checked_directory("./packages//web/", has_repository=True) == "packages/web"
    assert checked_directory(".", has_repository=True) is None
    assert list(levels_of("packages/web")) == ["packages/web", "packages", ""]
    assert list(levels_of(None)) == [""]


@pytest.mark.parametrize(
    "given", ["../other", "packages/../../etc", "/etc", "~/work", ".git/hooks", "a\nb", "/".join("a" * 21)]
)
def test_folders_outside_of_the_repository_are_refused(given: str) -> None:
    with pytest.raises(BadRequest) as refused:
        checked_directory(given, has_repository=True)
    assert refused.value.code == "directory_outside_repository"


@pytest.fixture
def monorepo(repository: Path) -> Path:
    """Returns the path of a repository with executables at three levels: the root, packages, and
    packages/web.
    """
    web = repository / "packages" / "web"
    (web / ".agents").mkdir(parents=True)
    (web / "page.html").write_text("<h1>Harbour</h1>\n")
    (web / "AGENTS.md").write_text("Write pages.\n")
    (web / ".agents" / "pre-commit.sh").write_text("pwd > checked\n")
    (web.parent / "AGENTS.md").write_text("One package, one folder.\n")
    (web.parent / ".openhands").mkdir()
    (web.parent / ".openhands" / "setup.sh").write_text("pwd > prepared\n")
    skill = repository / ".agents" / "skills" / "moor"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: moor\ndescription: How to moor.\n---\nTwo ropes.\n")
    (repository / "AGENTS.md").write_text("Keep it tidy.\n")
    for place in (repository, web):
        (place / ".openhands").mkdir(exist_ok=True)
        (place / ".openhands" / "hooks.json").write_text(HOOKS % place.name)
    (repository / ".openhands" / "setup.sh").write_text("touch too-much\n")
    (repository / "way-out").symlink_to(repository.parent)
    commit(repository, "Packages")
    return repository


async def test_an_agent_works_in_a_folder_and_sees_what_lies_around_it(home: Home, monorepo: Path) -> None:
    asked = {"selected_repository": str(monorepo)}
    refused = await home.client.post(ROOT, json={**asked, "selected_directory": "../lamp"})
    assert (refused.status_code, refused.json()["code"]) == (400, "directory_outside_repository")
    refused = await home.client.post(ROOT, json={"selected_directory": "packages"})
    assert (refused.status_code, refused.json()["code"]) == (400, "directory_without_repository")
    refused = await home.client.post(ROOT, json={"selected_branch": "main"})
    assert (refused.status_code, refused.json()["code"]) == (400, "branch_without_repository")

    levels = [monorepo / level for level in ("packages/web", "packages", ".")]
    consent = [executable.hash for level in levels for executable in find_executables(level)]
    task = await home.ended((await home.start(**asked, consent=consent, selected_directory="way-out"))["id"])
    assert task["error"]["stage"] == "PREPARING_REPOSITORY"
    assert task["error"]["code"] == "directory_outside_repository"
    retry, route = f"{ROOT}/start-tasks/{task['id']}/retry", f"{ROOT}/{task['id']}"
    await home.client.post(retry, json={"selected_directory": "packages/app"})
    task = await home.ended(task["id"])
    assert task["error"]["code"] == "directory_not_found"
    assert "Folders at its root: .agents, .openhands, packages." in task["error"]["cause"]
    await home.client.post(retry, json={"selected_directory": "packages/web/"})
    task = await home.ended(task["id"])
    assert task["status"] == "READY", task["error"]

    details = {stage["status"]: stage["detail"] for stage in task["stages"]}
    assert details["PREPARING_REPOSITORY"] == f"Cloned {monorepo}, the agent works in packages/web"
    assert details["RUNNING_SETUP_SCRIPT"] == "Ran .openhands/setup.sh"
    assert details["SETTING_UP_GIT_HOOKS"] == "Installed .agents/pre-commit.sh"
    assert (await home.conversation(task["id"]))["selected_directory"] == "packages/web"
    skills = [one["name"] for one in (await home.client.get(f"{route}/skills")).json()["skills"]]
    of_project = [name for name in skills if name.endswith("AGENTS.md") or name == "moor"]
    assert of_project == ["packages/web/AGENTS.md", "packages/AGENTS.md", "AGENTS.md", "moor"]

    place = (await home.client.get(f"{route}/consent")).json()
    assert (place["directory"], place["repository"]) == ("harbour/packages/web", f"{monorepo}/packages/web")
    executables = {one["directory"]: by_kind(one["items"]) for one in (place, *place["further"])}
    assert {name: sorted(kinds) for name, kinds in executables.items()} == {
        "harbour/packages/web": ["git_hook", "hooks"],
        "harbour/packages": ["setup_script"],
        "harbour": ["hooks"],
    }, "the set-up script of the nearest folder replaces that of the root"
    for name in ("harbour/packages/web", "harbour"):
        assert executables[name]["hooks"]["is_loaded"], name

    work = (
        "cat packages/prepared; ls packages/web/prepared too-much 2>/dev/null; "
        "echo more >> packages/web/page.html; echo more >> README.md; git commit -qam More; "
        "cat packages/web/checked; tail -n 1 .git/info/exclude; pwd"
    )
    *said, root = (await home.shell(task["id"], work)).splitlines()
    assert said == [f"{root}/packages", f"{root}/packages/web", "/packages/web/.agents/memory/"]
    changed = (await home.client.get(f"{route}/git/changes")).json()
    paths = {Path(one["path"]).name for one in changed}
    assert {"page.html", "README.md"} <= paths, "the changes are those of the whole repository"
