"""Tests of marketplaces: what they offer, to which users they belong, and that a hostile one does no harm."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from app_server.marketplaces import fetching
from app_server.users.models import Role
from tests.app_server.conversations.conftest import Home, client_of, commit, config, eventually, git, home
from tests.app_server.problems import assert_problem
from tests.support.git_host import GitHost
from tests.support.scripted_llm import ScriptedLLM, say

__all__ = ["config", "home"]

PREVIEW = "/api/v1/skills/marketplace-skills"
SETTINGS = "/api/v1/settings"
SHARED = "/api/v1/marketplaces/shared"
LIST = ".claude-plugin/marketplace.json"
SKILL = "---\nname: sailing\ndescription: Speaks like a sailor.\n---\nSay ahoy."
FILES = {
    LIST: json.dumps(
        {
            "name": "harbour",
            "owner": {"name": "Ada"},
            "plugins": [
                {"name": "sea", "source": "./plugins/sea", "description": "All about the sea."},
                {"name": "far", "source": {"source": "github", "repo": "acme/far", "ref": "v1"}},
                {"name": "bare", "source": "./plugins/bare"},
                {"name": "out", "source": "../../etc"},
                {"name": "npm", "source": {"source": "npm", "package": "x"}},
                {"source": "./plugins/sea"},
            ],
            "skills": [
                {"name": "knots", "source": "./skills/knots"},
                {"name": "linked", "source": "./skills/linked"},
                {"name": "huge", "source": "./skills/huge"},
                {"name": "absent", "source": "./skills/absent"},
            ],
        }
    ),
    "plugins/sea/.plugin/plugin.json": '{"name": "sea"}',
    "plugins/sea/skills/sailing/SKILL.md": SKILL,
    "plugins/bare/README.md": "No plugin.",
    "skills/knots/SKILL.md": "---\nname: knots\ndescription: Ties knots.\n---\nA bowline holds.",
    "skills/huge/SKILL.md": "x" * (64 * 1024 + 1),
}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    with GitHost(tmp_path / "host") as host:
        yield host


def publish(host: GitHost, top: Path, files: Mapping[str, str], *, below: str = "") -> str:
    """Pushes a repository with these files, and with a symbolic link to /etc/passwd. Returns the
    repository's URL.

    top: the directory where the repository is made.
    below: the folder of the repository for the files.
    """
    host.make("team/harbour")
    for name, text in files.items():
        file = top / below / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    link = top / below / "skills/linked/SKILL.md"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to("/etc/passwd")
    git(top, "init", "-q", "-b", "main")
    commit(top, "A marketplace")
    git(top, "push", "-q", "--force", str(host.bare("team/harbour")), "main")
    return host.url("team/harbour")


async def preview(client: httpx.AsyncClient, *marketplaces: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (await client.post(PREVIEW, json=list(marketplaces))).raise_for_status().json()
    return found


async def test_a_preview_tells_what_is_offered_and_why_the_rest_is_not(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    url = publish(host, tmp_path / "work", FILES, below="market")
    missing = {"name": "none", "source": host.url("team/none")}

    found = await preview(client, {"name": "harbour", "source": url, "repo_path": "market"}, missing)

    assert found["plugins"] == [
        {
            "name": "sea",
            "description": "All about the sea.",
            "source": f"{url}/market/plugins/sea",
            "marketplace": "harbour",
        },
        {"name": "far", "description": None, "source": "github:acme/far", "marketplace": "harbour"},
    ]
    assert found["marketplace_skills"] == {"harbour": ["knots"]}
    assert [(one["name"], one["type"]) for one in found["skills"]] == [("knots", "agentskills")]
    told = found["errors"]
    for words in (
        "the plugin bare has none of",
        "the plugin out lies outside of the repository",
        "the plugin npm has a source of the kind 'npm'",
        "plugin 6: name: Field required",
        "the skill linked cannot be read: skills/linked/SKILL.md is a link",
        "the skill huge cannot be read: skills/huge/SKILL.md is too large: over 64 KiB",
        "the skill absent has no file",
        "none: It cannot be fetched",
    ):
        assert sum(words in one for one in told) == 1, (words, told)
    assert "root:" not in json.dumps(found)


async def test_a_wrong_source_is_told_with_the_expected_object_and_its_fields(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    wrong = ({"repo": "acme/far"}, {"source": "github", "repo": 5}, 7, {"source": "github"})
    entries = {
        "plugins": [{"name": "far", "source": one} for one in wrong],
        "skills": [{"name": "knots", "source": 7}],
    }
    url = publish(host, tmp_path / "work", {LIST: json.dumps(entries)})

    found = await preview(client, {"name": "harbour", "source": url})

    *of_plugins, of_skill = found["errors"]
    assert len(of_plugins) == len(wrong)
    for told in of_plugins:
        assert all(f"`{name}`" in told for name in ("source", "repo", "url", "ref", "sha", "path")), told
        assert "must be a path, a URL, or an object with the fields" in told
    assert of_plugins[0].endswith("(source: Field required).")
    assert of_plugins[1].endswith("(repo: Input should be a valid string).")
    assert of_skill == "harbour: skill 1: source must be a path in the repository of the marketplace."


async def test_a_repository_that_is_too_large_is_refused_while_it_is_fetched(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MAX_BYTES", 64 * 1024)
    url = publish(host, tmp_path / "work", {**FILES, "zeros.bin": "0" * 10_000_000})

    found = await preview(client, {"name": "harbour", "source": url})

    assert found["plugins"] == []
    assert len(found["errors"]) == 1, found
    assert "git archive failed" in found["errors"][0]


async def test_a_list_that_is_not_json_is_named(
    client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    url = publish(host, tmp_path / "work", {LIST: "{"})

    found = await preview(client, {"name": "harbour", "source": url, "ref": "main"})

    assert [error.startswith(f"harbour: {LIST}: Invalid JSON") for error in found["errors"]] == [True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "/etc"},
        {"source": "https://me:token@acme.dev/x.git"},
        {"source": "github:acme/x", "ref": "--upload-pack=x"},
        {"source": "github:acme/x", "repo_path": "../x"},
        {"source": "github:acme/x", "name": "a b"},
        {"source": "github:acme/x", "more": 1},
    ],
)
async def test_a_registration_that_cannot_be_used_is_refused(
    client: httpx.AsyncClient, wrong: dict[str, Any]
) -> None:
    one = {"name": "harbour", **wrong}
    assert_problem(await client.post(PREVIEW, json=[one]), 422, "validation_failed")
    assert_problem(
        await client.post(SETTINGS, json={"registered_marketplaces": [one]}), 422, "validation_failed"
    )


async def test_marketplaces_belong_to_a_user_or_to_everyone(home: Home) -> None:
    mine = {"name": "mine", "source": "github:acme/mine", "auto_load": True}
    ours = {"name": "ours", "source": "https://git.acme.dev/ours.git", "ref": "v2", "repo_path": "market/"}
    (await home.client.post(SETTINGS, json={"registered_marketplaces": [mine]})).raise_for_status()
    (await home.client.put(SHARED, json={"marketplaces": [ours]})).raise_for_status()

    async with client_of(home.config, await home.key_of(Role.MEMBER)) as member:
        refused = await member.put(SHARED, json={"marketplaces": []})
        theirs = (await member.get(SETTINGS)).json()
        changed = await member.post(SETTINGS, json={"inherited_marketplaces": []})
        doubled = await member.post(SETTINGS, json={"registered_marketplaces": [mine, mine]})
    read = (await home.client.get(SETTINGS)).json()
    me = (await home.client.get("/api/v1/users/me")).json()

    whole = {"ref": None, "repo_path": None, "auto_load": False}
    shared = [{**whole, **ours, "repo_path": "market", "scope": "instance"}]
    assert read["registered_marketplaces"] == [{**whole, **mine, "scope": "personal"}]
    assert read["inherited_marketplaces"] == me["inherited_marketplaces"] == shared
    assert (theirs["registered_marketplaces"], theirs["inherited_marketplaces"]) == ([], shared)
    assert_problem(refused, 403, "permission_missing")
    assert_problem(changed, 400, "inherited_marketplaces")
    assert_problem(doubled, 422, "validation_failed")


async def test_a_new_conversation_gets_what_is_loaded_by_default_and_keeps_its_version(
    home: Home, scripted_llm: ScriptedLLM, host: GitHost, tmp_path: Path
) -> None:
    llm = {"model": "openai/scripted", "base_url": scripted_llm.base_url, "api_key": scripted_llm.api_key}
    (await home.client.post("/api/v1/settings/profiles/mine", json={"llm": llm})).raise_for_status()
    scripted_llm.script(say("Aye."))
    listed = json.loads(FILES[LIST])
    listed["plugins"] = [one for one in listed["plugins"] if one.get("name") in {"sea", "out"}]
    url = publish(host, tmp_path / "work", {**FILES, LIST: json.dumps(listed)})
    wanted = [
        {"name": "harbour", "source": url, "auto_load": True},
        {"name": "unused", "source": host.url("team/unused")},
    ]
    (await home.client.post(SETTINGS, json={"registered_marketplaces": wanted})).raise_for_status()
    message = {"role": "user", "content": [{"type": "text", "text": "Hello"}]}

    started = await home.ready(llm_profile="mine", initial_message=message, title="Sail")

    async def is_done() -> bool:
        return bool((await home.conversation(started["id"]))["execution_status"] == "finished")

    await eventually(is_done)
    prompt = str(scripted_llm.requests[0].body["messages"][0])
    assert "sailing" in prompt
    assert "knots" in prompt
    head = git(host.bare("team/harbour"), "rev-parse", "main").strip()
    task = await home.task(started["id"])
    assert [one["ref"] for one in task["request"]["plugins"]] == [head]
    stage = next(one for one in task["stages"] if one["status"] == "STARTING_CONVERSATION")
    assert "the plugin out lies outside of the repository" in stage["detail"]
    assert not any("unused" in asked.path for asked in host.requests)
