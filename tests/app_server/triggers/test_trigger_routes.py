"""Tests of the routes of triggers: owners create, list and delete triggers and replace their secrets. Git
hosts call one route without a sign-in.
"""

import json

import httpx
import pytest

from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.app_server.conftest import http_client
from tests.app_server.problems import assert_problem
from tests.app_server.triggers.conftest import REPOSITORY, Hooked
from tests.support.github_issues import issue_event, signed

PATH = "/api/v1/triggers"
LABELLED = issue_event("labeled", 4, "grace", REPOSITORY, label={"name": "other"})


async def test_a_trigger_is_made_listed_given_a_new_secret_and_deleted(hooked: Hooked) -> None:
    client, made = hooked.client, hooked.trigger
    assert made["url"].endswith(f"/api/v1/git-webhooks/{made['id']}")
    assert (made["git_provider"], made["repository"]) == ("github", REPOSITORY)
    (listed,) = (await client.get(PATH)).json()
    assert "secret" not in listed
    assert await hooked.send("issues", LABELLED) == 202

    changed = (await client.post(f"{PATH}/{made['id']}/rotate-secret", json={})).json()
    assert changed["secret"] != made["secret"]
    assert await hooked.send("issues", LABELLED) == 202, "the previous secret is accepted for a day"
    rotated = {"keep_previous_hours": 0}
    hooked.trigger = (await client.post(f"{PATH}/{made['id']}/rotate-secret", json=rotated)).json()
    assert await hooked.send("issues", LABELLED) == 202
    hooked.trigger["secret"] = changed["secret"]
    assert await hooked.send("issues", LABELLED) == 401

    assert len(await hooked.deliveries()) == 3
    first = (await client.get(f"{PATH}/{made['id']}/deliveries", params={"limit": 2})).json()
    more = {"limit": 2, "page_id": first["next_page_id"]}
    rest = (await client.get(f"{PATH}/{made['id']}/deliveries", params=more)).json()
    assert (len(first["items"]), len(rest["items"]), rest["next_page_id"]) == (2, 1, None)

    assert (await client.delete(f"{PATH}/{made['id']}")).status_code == 204
    assert (await client.get(PATH)).json() == []
    assert await hooked.send("issues", LABELLED) == 404
    audited = (await client.get("/api/v1/audit-log")).json()["items"]
    actions = [one["action"] for one in audited if one["action"].startswith("trigger.")]
    assert actions == ["trigger.deleted", "trigger.changed", "trigger.changed", "trigger.changed"]


@pytest.mark.parametrize(
    ("wanted", "status", "code"),
    [
        ({"repository": "/srv/project"}, 400, "repository_has_no_host"),
        ({"repository": "https://example.org/a/b"}, 403, "no_git_credential"),
        ({"llm_profile": "missing"}, 404, "llm_profile_not_found"),
        ({"sandbox_spec_id": "missing"}, 404, "sandbox_spec_not_found"),
        ({"events": ["push"]}, 400, "instructions_needed"),
        ({"max_running": 0}, 422, "validation_failed"),
        ({"mention": "two words"}, 422, "validation_failed"),
    ],
)
async def test_what_cannot_work_is_refused(
    hooked: Hooked, wanted: dict[str, object], status: int, code: str
) -> None:
    body = {"repository": hooked.host.git.url(REPOSITORY), **wanted}
    assert_problem(await hooked.client.post(PATH, json=body), status, code)


async def test_a_trigger_is_changed_in_what_is_sent_alone(hooked: Hooked) -> None:
    path = f"{PATH}/{hooked.trigger['id']}"
    before = (await hooked.client.get(PATH)).json()[0]
    wanted = {"events": ["push", "label"], "instructions": "Check the links.", "max_running": 2}
    reply = await hooked.client.patch(path, json=wanted)
    assert reply.json() == {**before, **wanted, "events": ["label", "push"]}
    assert (await hooked.client.get(PATH)).json() == [reply.json()]
    for changes, status, code in (
        ({"instructions": ""}, 400, "instructions_needed"),
        ({"llm_profile": "missing"}, 404, "llm_profile_not_found"),
        ({"repository": "https://github.com/a/b"}, 422, "validation_failed"),
        ({"label": None}, 422, "validation_failed"),
    ):
        assert_problem(await hooked.client.patch(path, json=changes), status, code)
    assert (await hooked.client.get(PATH)).json() == [reply.json()]
    audited = (await hooked.client.get("/api/v1/audit-log")).json()["items"]
    changed = next(one for one in audited if one["action"] == "trigger.changed")
    assert changed["details"]["fields"] == ["events", "instructions", "max_running"]


async def test_triggers_of_others_are_not_there(hooked: Hooked) -> None:
    async with hooked.app.database.session() as session:
        user = await create_user(session, name="Grace", role=Role.MEMBER)
        _, key = await create_api_key(session, user, name="tests")
    own = f"{PATH}/{hooked.trigger['id']}"
    async with http_client(hooked.app.public, headers={"Authorization": f"Bearer {key}"}) as other:
        assert (await other.get(PATH)).json() == []
        assert_problem(await other.get(f"{own}/deliveries"), 404, "trigger_not_found")
        assert_problem(await other.post(f"{own}/rotate-secret", json={}), 404, "trigger_not_found")
        assert_problem(await other.patch(own, json={}), 404, "trigger_not_found")
        assert_problem(await other.delete(own), 404, "trigger_not_found")


async def test_the_open_route_verifies_before_it_reads(hooked: Hooked, anonymous: httpx.AsyncClient) -> None:
    url = f"/api/v1/git-webhooks/{hooked.trigger['id']}"
    secret = hooked.trigger["secret"]
    large = {**LABELLED, "filler": "x" * 1_000_000, "odd": "\x00"}
    assert (await anonymous.post(url, **signed(secret, "issues", large))).status_code == 202
    unreadable = b'{"action": "\\ud800'
    reply = await anonymous.post(url, content=unreadable, headers={"content-type": "application/json"})
    assert_problem(reply, 401, "webhook_signature_wrong")
    reply = await anonymous.post(url, **signed("", "issues", LABELLED))
    assert_problem(reply, 401, "webhook_signature_wrong")
    too_large = signed(secret, "issues", {"filler": "x" * 2_200_000})
    assert (await anonymous.post(url, **too_large)).status_code == 413
    sent = signed(secret, "issues", LABELLED)
    sent["headers"]["content-type"] = "application/x-www-form-urlencoded"
    assert_problem(await anonymous.post(url, **sent), 400, "webhook_not_json")
    assert len(await hooked.deliveries()) == 1
    assert "\\u0000" not in json.dumps(await hooked.deliveries())
