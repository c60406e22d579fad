"""The catalogue of skills: installed from the product and from repositories, updated, and switched off."""

import os
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app_server.core.jobs.policy import JobAttempt
from app_server.marketplaces import fetching
from app_server.skill_catalogue import update_check
from app_server.skills.shipped import shipped_skills
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.conversations.conftest import ROOT, Home, commit, eventually, git, home, repository
from tests.app_server.problems import assert_problem
from tests.support.git_host import GitHost
from tests.support.scripted_llm import ScriptedLLM, call, say

__all__ = ["home", "repository"]

SKILLS = "/api/v1/skills"
INSTALLED = f"{SKILLS}/installed"
CHOICES = f"{SKILLS}/choices"
NAMES = ["code-review", "fix-ci", "security-review", "update-dependencies", "write-tests"]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    with GitHost(tmp_path / "host") as host:
        host.make("team/skills")
        yield host


def skill(name: str, text: str = "Do it well.", **more: str) -> str:
    fields = "".join(f"{key}: {value}\n" for key, value in {"description": f"About {name}.", **more}.items())
    return f"---\nname: {name}\n{fields}---\n{text}"


def publish(host: GitHost, top: Path, files: dict[str, str]) -> str:
    """Pushes the files to the branch main, and returns the commit."""
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "init", "-q", "-b", "main")
    head = commit(top, "Skills")
    git(top, "push", "-q", "--force", str(host.bare("team/skills")), "HEAD:main")
    return head


async def get(client: httpx.AsyncClient, route: str, **params: str) -> Any:
    return (await client.get(f"{SKILLS}/{route}", params=params)).raise_for_status().json()


async def install(client: httpx.AsyncClient, name: str, **place: Any) -> dict[str, Any]:
    reply = await client.post(INSTALLED, json={"name": name, **place})
    assert reply.status_code == 201, reply.text
    installed: dict[str, Any] = reply.json()
    return installed


def detail(response: httpx.Response, code: str) -> str:
    assert_problem(response, 422, code)
    told: str = response.json()["detail"]
    return told


async def register(client: httpx.AsyncClient, host: GitHost) -> None:
    wanted = [{"name": "ours", "source": host.url("team/skills")}]
    changed = await client.post("/api/v1/settings", json={"registered_marketplaces": wanted})
    changed.raise_for_status()


async def reasons(client: httpx.AsyncClient, **params: str) -> dict[str, tuple[bool, str]]:
    found = await get(client, "loading", **params)
    return {one["path"]: (one["is_loaded"], one["reason"]) for one in found}


async def test_each_public_skill_is_given_to_the_agent_and_triggered(
    home: Home, scripted_llm: ScriptedLLM
) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
    offered = (await get(home.client, "catalogue"))["items"]
    assert [one["name"] for one in offered] == NAMES
    assert not any(one["is_installed"] for one in offered)
    for name in NAMES:
        await install(home.client, name)
    scripted_llm.script(call("invoke_skill", name="write-tests"), *(say("Done.") for _ in NAMES[:-1]))

    started = await home.ready(llm_profile="mine", initial_message=message("/code-review"), title="Skills")
    # The last one is read by the agent itself.
    for position, name in enumerate(NAMES[:-1]):
        if position:
            place = f"/api/v1/conversations/task-{started['id']}/pending-messages"
            sent = await home.client.post(place, json={**message(f"/{name} please"), "run": True})
            assert sent.status_code == 201, sent.text
        await eventually(partial(has_triggered, home, started["id"], NAMES[: position + 1]))
        await scripted_llm.wait_for_requests(position + 2)

    system, said = scripted_llm.requests[0].body["messages"][0], str(scripted_llm.requests[-1].body)
    texts = {one.name: one for one in shipped_skills()}
    for name in NAMES:
        assert f"- {name}: {texts[name].description}" in str(system)
        title = next(line for line in texts[name].text.splitlines() if line.startswith("# "))
        assert title in said, name
    read = next(one for one in scripted_llm.requests[1].body["messages"] if one["role"] == "tool")
    assert "Show that each test can fail" in str(read)


def message(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


async def has_triggered(home: Home, conversation_id: str, names: list[str]) -> bool:
    """Whether the messages have triggered these skills, and nothing runs."""
    events = await home.client.get(f"/api/v1/conversation/{conversation_id}/events/search?limit=100")
    triggered = [name for one in events.json()["items"] for name in one.get("activated_skills") or ()]
    status = (await home.conversation(conversation_id))["execution_status"]
    return triggered == names and status == "finished"


async def hint(app: App, client: httpx.AsyncClient, route: str) -> tuple[bool, str]:
    """Runs the check for updates, and returns what is shown about the skill."""
    run = update_check.checker(app.database, app.config)
    attempt = JobAttempt(uuid4(), update_check.KIND, {}, None, 1, is_last=False)
    assert await run(attempt) == {"skills": 1}
    shown = (await client.get(route)).json()
    return shown["has_update"], shown["check_problem"]


async def test_a_skill_of_a_repository_is_found_installed_updated_and_removed(
    app: App, client: httpx.AsyncClient, host: GitHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = publish(
        host,
        tmp_path / "work",
        {"a/knots/SKILL.md": skill("knots"), "a/knots/run.sh": "#", "b/sails/SKILL.md": skill("sails")},
    )
    await register(client, host)
    assert [one["read_at"] for one in await get(client, "catalogue/repositories")] == [None]

    (read,) = (await client.post(f"{SKILLS}/catalogue/read")).json()
    assert (read["marketplace"], read["commit"], read["skill_count"], read["problems"]) == (
        "ours",
        first,
        2,
        [],
    )
    # Without a list, a marketplace offers the same.
    place = [{"name": "ours", "source": host.url("team/skills")}]
    preview = (await client.post(f"{SKILLS}/marketplace-skills", json=place)).raise_for_status().json()
    assert preview["marketplace_skills"] == {"ours": ["knots", "sails"]}
    (found,) = (await get(client, "catalogue", query="ABOUT knot"))["items"]
    assert (found["name"], found["marketplace"], found["scope"]) == ("knots", "ours", "personal")
    page = await get(client, "catalogue", limit="2")
    assert len(page["items"]) == 2
    assert page["next_page_id"]

    knots = await install(client, "knots", marketplace="ours")
    assert (knots["commit"], knots["other_files"], knots["path"]) == (first, 1, "a/knots/SKILL.md")
    assert [one["is_installed"] for one in (await get(client, "catalogue", query="knots"))["items"]] == [True]
    assert_problem(await client.post(INSTALLED, json={"name": "knots"}), 404, "skill_not_found")
    again = {"name": "knots", "source": host.url("team/skills"), "ref": "main"}
    assert_problem(await client.post(INSTALLED, json=again), 409, "skill_name_taken")
    listed = (await get(client, "search"))["items"]
    assert [(one["name"], one["source"]) for one in listed] == [("knots", "user/installed/knots/SKILL.md")]

    route = f"{INSTALLED}/{knots['id']}"
    unchanged = (await client.post(f"{route}/update")).json()
    second = publish(host, tmp_path / "work", {"a/knots/SKILL.md": skill("knots", "Tie a bowline.")})
    # A new version arrives only by an update. The check once a day tells that there is one.
    monkeypatch.setattr(update_check, "_DUE_AFTER", timedelta(0))
    assert await hint(app, client, route) == (True, None)
    assert [one["has_update"] for one in (await get(client, "catalogue", query="knots"))["items"]] == [True]
    assert "bowline" not in (await client.get(route)).json()["text"]
    updated = (await client.post(f"{route}/update")).json()
    assert (unchanged["is_changed"], updated["is_changed"], updated["commit"]) == (False, True, second)
    assert not updated["has_update"]
    assert await hint(app, client, route) == (False, None)
    assert "bowline" in (await client.get(route)).json()["text"]

    (tmp_path / "work/a/knots/SKILL.md").unlink()
    (tmp_path / "work/a/knots/SKILL.md").symlink_to("/etc/passwd")
    publish(host, tmp_path / "work", {})
    has_update, problem = await hint(app, client, route)
    assert not has_update
    assert "a/knots/SKILL.md is a link" in problem
    refused = await client.post(f"{route}/update")
    assert "a/knots/SKILL.md is a link" in detail(refused, "skill_refused")
    assert "bowline" in (await client.get(route)).json()["text"]

    assert (await client.delete(route)).status_code == 204
    assert_problem(await client.get(route), 404, "skill_not_found")
    audited = (await client.get("/api/v1/audit-log")).json()["items"]
    told = [one["action"] for one in audited if one["action"].startswith("skill.")]
    assert sorted(told) == ["skill.installed", "skill.removed", "skill.updated"]


async def test_administrators_install_for_everyone_and_a_users_own_comes_first(
    app: App, client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    publish(host, tmp_path / "work", {"SKILL.md": skill("fix-ci")})
    shared = [{"name": "shared", "source": host.url("team/skills")}]
    (await client.put("/api/v1/marketplaces/shared", json={"marketplaces": shared})).raise_for_status()
    everyones = await install(client, "fix-ci", marketplace="shared", is_for_everyone=True)
    async with app.database.session() as session:
        member = await create_user(session, name="Ada", role=Role.MEMBER)
        _, key = await create_api_key(session, member, name="tests")

    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as other:
        own = await install(other, "fix-ci")
        wanted = {"name": "write-tests", "is_for_everyone": True}
        assert_problem(await other.post(INSTALLED, json=wanted), 403, "permission_missing")
        for method, route in (("DELETE", ""), ("POST", "/update")):
            changed = await other.request(method, f"{INSTALLED}/{everyones['id']}{route}")
            assert_problem(changed, 403, "permission_missing")
        assert await reasons(other) == {
            "user/installed/fix-ci/SKILL.md": (
                True,
                "It is listed by its description; the agent reads it when it needs it.",
            ),
            "organisation/installed/fix-ci/SKILL.md": (
                False,
                "user/installed/fix-ci/SKILL.md has the same name and comes first.",
            ),
        }
        private = {"name": "x", "source": "http://127.0.0.1:1/x.git"}
        refused = await other.post(INSTALLED, json=private)
        assert "127.0.0.1" in detail(refused, "skill_repository_unreadable")
        await register(other, host)
        (read, _) = (await other.post(f"{SKILLS}/catalogue/read")).json()
        assert read["problems"]
    assert_problem(await client.get(f"{INSTALLED}/{own['id']}"), 404, "skill_not_found")


async def test_skills_are_switched_off_everywhere_or_in_one_repository(home: Home, repository: Path) -> None:
    for name in ("code-review", "fix-ci"):
        await install(home.client, name)
    (repository / ".agents/skills").mkdir(parents=True)
    (repository / ".agents/skills/style.md").write_text("The project's.")
    commit(repository, "Style")
    place = str(repository)
    for name, where, is_enabled in (
        ("code-review", place, False),
        ("style", place, False),
        ("fix-ci", None, False),
        ("fix-ci", place, True),
    ):
        body = {"name": name, "repository": where, "is_enabled": is_enabled}
        (await home.client.put(CHOICES, json=body)).raise_for_status()

    review, ci = "user/installed/code-review/SKILL.md", "user/installed/fix-ci/SKILL.md"
    here, elsewhere = await reasons(home.client, repository=place), await reasons(home.client)
    assert here[review] == (False, f"You have switched it off in {place}.")
    assert here[ci][0]
    assert elsewhere[review][0]
    assert elsewhere[ci] == (False, "You have switched it off.")
    settings = (await home.client.get("/api/v1/settings")).json()
    assert settings["disabled_skills"] == ["fix-ci"]

    task = await home.ready(selected_repository=place)

    report = (await home.client.get(f"{ROOT}/{task['id']}/skills")).json()["report"]
    told = {one["name"]: (one["is_loaded"], one["reason"]) for one in report}
    assert told["code-review"] == told["style"] == (False, "its name is in disabled_skills")
    assert told["fix-ci"][0]

    # The protocol's list is the same choice.
    saved = await home.client.post("/api/v1/settings", json={"disabled_skills": ["style"]})
    saved.raise_for_status()
    removed = await home.client.put(
        CHOICES, json={"name": "code-review", "repository": place, "is_enabled": None}
    )
    assert [(one["name"], one["repository"], one["is_enabled"]) for one in removed.json()] == [
        ("fix-ci", place, True),
        ("style", None, False),
        ("style", place, False),
    ]


HOSTILE = {
    "big/SKILL.md": (skill("big", "x" * 65_536), "is too large: over 64 KiB"),
    "hooked/SKILL.md": (skill("hooked"), "lies beside hooks, which only a plugin may have"),
    "hooked/hooks/hooks.json": ("{}", None),
    "hooking/SKILL.md": (skill("hooking", hooks="[rm]"), "has hooks, which only a plugin may have"),
    "one/SKILL.md": (skill("twin"), "one/SKILL.md, two/SKILL.md have the same name twin"),
    "two/SKILL.md": (skill("twin"), None),
    "up/SKILL.md": (skill("../../up"), "has no usable name"),
    "mute/SKILL.md": ("---\nname: mute\n---\nx", "has no description"),
    "broken/SKILL.md": ("---\n[\n---\nx", "has front matter that is not valid YAML"),
    "half/SKILL.md": (
        '---\ndescription: "\\uD800"\n---\nx',
        "has a description with characters that are not visible",
    ),
    "long/SKILL.md": (skill("long", more="x" * 4096), "has front matter of more than 4096 characters"),
    "zero/SKILL.md": (skill("zero", "a\0"), "zero/SKILL.md has characters that are not visible to a reader"),
    "/".join(["d" * 200] * 5) + "/SKILL.md": (skill("deep"), None),
    "hidden/SKILL.md": (skill("hidden", "a\U000e0041"), "has characters that are not visible to a reader"),
}


async def test_hostile_skills_are_refused_with_reasons(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    top = tmp_path / "work"
    publish(
        host, top, {"good/SKILL.md": skill("good"), **{name: text for name, (text, _) in HOSTILE.items()}}
    )
    (top / "latin").mkdir()
    (top / "latin/SKILL.md").write_bytes(b"---\ndescription: \xe9\n---\n")
    strange = top / os.fsdecode(b"\xff")
    strange.mkdir()
    (strange / "SKILL.md").write_text(skill("strange"))
    (top / "linked").mkdir()
    (top / "linked/SKILL.md").symlink_to("/etc/passwd")
    (top / "directory").symlink_to("/etc")
    git(top, "add", "-A")
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},submodule")
    git(top, "commit", "-q", "-m", "Hostile")
    git(top, "push", "-q", "--force", str(host.bare("team/skills")), "HEAD:main")
    await register(client, host)

    (read,) = (await client.post(f"{SKILLS}/catalogue/read")).json()

    wanted = [f"{name} {why}" if name not in why else why for name, (_, why) in HOSTILE.items() if why]
    wanted += [
        "latin/SKILL.md is not UTF-8 text",
        "ddd… has a path with unusual characters or more than 1000 characters",
        r"'\udcff/SKILL.md' has a path with unusual characters",
        "linked/SKILL.md is a link",
        "directory is a link",
        "submodule is a submodule or an empty directory",
    ]
    for words in wanted:
        assert sum(words in one for one in read["problems"]) == 1, (words, read["problems"])
    assert read["skill_count"] == 1
    refused = await client.post(INSTALLED, json={"name": "twin", "marketplace": "ours"})
    assert "have the same name twin" in detail(refused, "skill_refused")
    assert (await client.post(INSTALLED, json={"name": "good", "marketplace": "ours"})).status_code == 201


@pytest.mark.parametrize("name", ["..", ".git"])
async def test_a_repository_with_a_path_that_leads_out_is_refused(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path, name: str
) -> None:
    publish(host, tmp_path / "work", {"knots/SKILL.md": skill("knots")})
    _add_directory(host.bare("team/skills"), name)
    await register(client, host)

    (read,) = (await client.post(f"{SKILLS}/catalogue/read")).json()

    assert read["problems"] == [f"git archive failed: error: invalid path '{name}/SKILL.md'."]


def _add_directory(bare: Path, name: str) -> None:
    """Adds a copy of a skill's directory with a name that git itself would not make."""
    file = bare / "tree"
    entries = {name: git(bare, "rev-parse", "main:knots"), "knots": git(bare, "rev-parse", "main:knots")}
    file.write_bytes(
        b"".join(f"40000 {each}\0".encode() + bytes.fromhex(sha) for each, sha in entries.items())
    )
    tree = git(bare, "hash-object", "-t", "tree", "-w", "--literally", str(file))
    git(bare, "update-ref", "refs/heads/main", git(bare, "commit-tree", "-m", "Evil", tree))


async def test_a_repository_with_too_many_files_is_refused_and_none_of_its_hooks_run(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ran"
    publish(
        host,
        tmp_path / "work",
        {
            "knots/SKILL.md": skill("knots"),
            ".gitattributes": "* filter=evil\n",
            ".githooks/post-checkout": f"#!/bin/sh\ntouch {mark}\n",
            ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {mark}"\n',
        },
    )
    place = {"name": "knots", "source": host.url("team/skills")}
    assert (await client.post(INSTALLED, json=place)).status_code == 201
    assert not mark.exists()

    monkeypatch.setattr(fetching, "MAX_FILES", 3)
    refused = await client.post(INSTALLED, json={**place, "is_for_everyone": True})
    assert "It has more than 3 files" in detail(refused, "skill_repository_unreadable")


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "file:///etc"},
        {"source": "ext::sh -c id"},
        {"source": "https://me:token@acme.dev/x.git"},
        {"source": "github:acme/x", "ref": "--upload-pack=x"},
        {"source": "github:acme/x", "repo_path": "../x"},
        {"source": "github:acme/x", "marketplace": "ours"},
        {"repo_path": "x"},
        {"more": 1},
    ],
)
async def test_a_wrong_place_is_refused(client: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    assert_problem(await client.post(INSTALLED, json={"name": "x", **wrong}), 422, "validation_failed")


async def test_a_list_that_contains_itself_many_times_is_not_written_out(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    doubling = ["a: &a0 [x]"] + [f"b{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    endless = "\n".join(["---", *doubling, "description: d", "triggers: *a59", "---", "x"])
    publish(host, tmp_path / "work", {"endless/SKILL.md": endless})
    await install(client, "endless", source=host.url("team/skills"))

    assert [one["triggers"] for one in (await get(client, "search"))["items"]] == [None]
