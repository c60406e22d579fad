"""Tests of the catalogue of skills: skills of the product and of repositories are installed, updated and
switched off.
"""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app_server.core.jobs.policy import JobAttempt
from app_server.skill_catalogue import update_check
from app_server.skills.bundled import shipped_skills
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import App, http_client
from tests.app_server.conversations.conftest import ROOT, Home, commit, eventually, home, repository
from tests.app_server.problems import assert_problem
from tests.app_server.skill_catalogue.publishing import (
    INSTALLED,
    SKILLS,
    detail,
    get,
    install,
    publish,
    register,
    skill,
)
from tests.support.git_host import GitHost
from tests.support.scripted_llm import ScriptedLLM, call, say

__all__ = ["home", "repository"]

CHOICES = f"{SKILLS}/choices"
NAMES = ["code-review", "fix-ci", "security-review", "update-dependencies", "write-tests"]


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
    # A message triggers each skill except the last one, which the agent loads itself.
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
    """Returns whether the messages have triggered exactly these skills, in this order, and the agent has
    finished.
    """
    events = await home.client.get(f"/api/v1/conversation/{conversation_id}/events/search?limit=100")
    triggered = [name for one in events.json()["items"] for name in one.get("activated_skills") or ()]
    status = (await home.conversation(conversation_id))["execution_status"]
    return triggered == names and status == "finished"


async def hint(app: App, client: httpx.AsyncClient, route: str) -> tuple[bool, str]:
    """Runs the check for updates. Returns whether the skill has an update, and the problem that the check
    found (None if there was none).
    """
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
    # A marketplace without a list of skills offers all skills of the repository.
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
    # The skill changes only when the user updates it. The daily check reports that an update exists.
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
        (of_everyone, read) = (await other.post(f"{SKILLS}/catalogue/read")).json()
        assert (of_everyone["scope"], of_everyone["problems"]) == ("instance", [])
        assert (read["scope"], read["skill_count"]) == ("personal", 0)
        assert "127.0.0.1" in read["problems"][0]
    assert_problem(await client.get(f"{INSTALLED}/{own['id']}"), 404, "skill_not_found")


async def test_a_members_read_leaves_the_shared_marketplaces_of_everyone_readable(
    app: App, client: httpx.AsyncClient, host: GitHost, tmp_path: Path
) -> None:
    head = publish(host, tmp_path / "work", {"a/knots/SKILL.md": skill("knots")})
    # The host has a private address, which administrators of the installation may use.
    shared = [{"name": "ours", "source": host.url("team/skills")}]
    (await client.put("/api/v1/marketplaces/shared", json={"marketplaces": shared})).raise_for_status()
    (await client.post(f"{SKILLS}/catalogue/read")).raise_for_status()
    async with app.database.session() as session:
        member = await create_user(session, name="Ada", role=Role.MEMBER)
        _, key = await create_api_key(session, member, name="tests")
    async with http_client(app.public, headers={"Authorization": f"Bearer {key}"}) as other:
        (await other.post(f"{SKILLS}/catalogue/read")).raise_for_status()
        for reader in (client, other):
            (known,) = await get(reader, "catalogue/repositories")
            assert (known["commit"], known["skill_count"], known["problems"]) == (head, 1, [])
            (found,) = (await get(reader, "catalogue", query="knots"))["items"]
            assert (found["marketplace"], found["scope"]) == ("ours", "instance")


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

    # The protocol's field `disabled_skills` changes the same choices.
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
