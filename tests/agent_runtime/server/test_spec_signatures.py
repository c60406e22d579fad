"""If the specification of a conversation was changed outside of the server, the server does not continue the
conversation.
"""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_runtime.wire import FirstKeys
from tests.agent_runtime.server.conftest import message, start_request
from tests.support.agent_app import agent_app, called, wait_for_status
from tests.support.scripted_llm import ScriptedLLM, say

FIRST, SECOND = "ab" * 32, "cd" * 32
SIGNED: dict[str, Any] = {"spec_seal_keys": (FIRST,), "takes_unsealed_specs": False}
CHANGE = "UPDATE meta SET value = json_set(value, '$.request.max_iterations', 7) WHERE key = 'spec'"
STRIP = "DELETE FROM meta WHERE key = 'spec_seal'"


async def create(client: httpx.AsyncClient, llm: ScriptedLLM, path: Path) -> str:
    return str((await called(client, "POST", "/api/conversations", json=start_request(llm, path)))["id"])


async def opened(client: httpx.AsyncClient, conversation: str) -> httpx.Response:
    return await client.post(f"/api/conversations/{conversation}/pause")


def on_disk(path: Path, conversation: str, *statements: str) -> list[tuple[str]]:
    """Runs these SQL statements on the log of the conversation, as a command of the agent could. Returns the
    rows of the last one.
    """
    log = path / "conversations" / conversation.replace("-", "") / "log.sqlite"
    with sqlite3.connect(log) as db:
        found = [db.execute(statement).fetchall() for statement in statements]
    db.close()
    return found[-1]


@pytest.mark.parametrize("attack", [[CHANGE], [STRIP], [CHANGE, STRIP]])
async def test_a_changed_specification_is_refused_and_its_events_stay_readable(
    attack: list[str], tmp_path: Path, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(say("Hello."))
    async with agent_app(tmp_path, **SIGNED) as client:
        conversation = await create(client, scripted_llm, tmp_path)
        await called(
            client, "POST", f"/api/conversations/{conversation}/events", json=message("Hi.", run=True)
        )
        await wait_for_status(client, conversation, "finished")
        before = await called(client, "GET", f"/api/conversations/{conversation}/events/search")
    on_disk(tmp_path, conversation, *attack)

    async with agent_app(tmp_path, **SIGNED) as client:
        refused = await opened(client, conversation)
        events = await called(client, "GET", f"/api/conversations/{conversation}/events/search")
        other = await create(client, scripted_llm, tmp_path)

    assert (refused.status_code, refused.json()["code"]) == (409, "spec_changed"), refused.text
    assert "changed outside" in refused.json()["detail"]
    assert "Start a new conversation" in refused.json()["fix"]
    assert events["items"] == before["items"]
    assert other != conversation


async def test_a_signature_of_another_conversation_does_not_fit(
    tmp_path: Path, scripted_llm: ScriptedLLM
) -> None:
    async with agent_app(tmp_path, **SIGNED) as client:
        mine, others = [await create(client, scripted_llm, tmp_path) for _ in range(2)]
    for key in ("spec", "spec_seal"):
        [(value,)] = on_disk(tmp_path, others, f"SELECT value FROM meta WHERE key = '{key}'")  # noqa: S608
        quoted = value.replace("'", "''")
        on_disk(tmp_path, mine, f"UPDATE meta SET value = '{quoted}' WHERE key = '{key}'")  # noqa: S608

    async with agent_app(tmp_path, **SIGNED) as client:
        assert (await opened(client, mine)).json()["code"] == "spec_changed"
        assert (await opened(client, others)).is_success


async def test_an_earlier_specification_holds_nothing_that_the_later_one_lacks(
    tmp_path: Path, scripted_llm: ScriptedLLM
) -> None:
    """A signature contains no version, so a command can restore an older specification. The older one must
    only lack additions.
    """
    plugin = tmp_path / "plugin"
    (plugin / "skills/clouds").mkdir(parents=True)
    (plugin / "skills/clouds/SKILL.md").write_text("---\nname: clouds\ndescription: Reads.\n---\nLook up.")
    (plugin / "hooks").mkdir()
    (plugin / ".plugin").mkdir()
    (plugin / ".plugin/plugin.json").write_text(json.dumps({"name": "weather"}))
    hooks = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    (plugin / "hooks/hooks.json").write_text(json.dumps(hooks))
    async with agent_app(tmp_path, **SIGNED) as client:
        conversation = await create(client, scripted_llm, tmp_path)
        kept = specification(tmp_path, conversation)
        path = f"/api/conversations/{conversation}/load_plugin"
        await called(client, "POST", path, json={"plugin_ref": str(plugin)})
    added = specification(tmp_path, conversation)

    found = {at: (before, after) for at, before, after in changes(json.loads(kept), json.loads(added))}
    assert {at for at in found if at.startswith(".request")} == {
        ".request.agent.agent_context",
        ".request.hook_config",
    }
    assert all(after and not before for before, after in found.values())


def specification(path: Path, conversation: str) -> str:
    [(text,)] = on_disk(path, conversation, "SELECT value FROM meta WHERE key = 'spec'")
    return text


def changes(before: Any, after: Any, at: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yields each difference between two JSON values: the path, the value before and the value after. at: the
    path so far.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() | after.keys():
            yield from changes(before.get(name), after.get(name), f"{at}.{name}")
    elif before != after:
        yield at, before, after


async def test_a_log_from_before_there_were_signatures_opens_and_is_signed(
    tmp_path: Path, scripted_llm: ScriptedLLM
) -> None:
    async with agent_app(tmp_path) as client:
        conversation = await create(client, scripted_llm, tmp_path)
    async with agent_app(tmp_path, spec_seal_keys=(FIRST,)) as client:
        assert (await opened(client, conversation)).is_success
    on_disk(tmp_path, conversation, CHANGE)

    async with agent_app(tmp_path, spec_seal_keys=(FIRST,)) as client:
        assert (await opened(client, conversation)).json()["code"] == "spec_changed"


async def test_a_signature_of_an_older_key_holds_and_is_renewed(
    tmp_path: Path, scripted_llm: ScriptedLLM
) -> None:
    async with agent_app(tmp_path, spec_seal_keys=(FIRST,)) as client:
        conversation = await create(client, scripted_llm, tmp_path)
    keys: list[dict[str, Any]] = [
        {"spec_seal_keys": (SECOND, FIRST)},
        {"spec_seal_keys": (SECOND,)},
    ]
    for settings in keys:
        async with agent_app(tmp_path, **settings) as client:
            assert (await opened(client, conversation)).is_success

    async with agent_app(tmp_path, spec_seal_keys=("ef" * 32,)) as client:
        refused = (await opened(client, conversation)).json()
    assert refused["code"] == "spec_changed"
    assert "OH_SPEC_SEAL_KEYS" in refused["fix"]


async def test_forks_and_received_conversations_are_signed(tmp_path: Path, scripted_llm: ScriptedLLM) -> None:
    async with agent_app(tmp_path, **SIGNED) as client:
        source = await create(client, scripted_llm, tmp_path)
        fork = (await called(client, "POST", f"/api/conversations/{source}/fork", json={}))["id"]
        zipped = await client.get(f"/api/file/download-trajectory/{source}")
        file = {"file": ("trajectory.zip", zipped.raise_for_status().content)}
        received = (await called(client, "POST", "/api/conversations/import", files=file))["id"]

    async with agent_app(tmp_path, **SIGNED) as client:
        for conversation in (source, fork, received):
            assert (await opened(client, conversation)).is_success


def parts_of(text: str) -> tuple[str, list[str], bool]:
    keys = FirstKeys.of(text)
    return keys.session_key, [*keys.spec_seal_keys], keys.takes_unsealed_specs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key\n", ("key", [], True)),
        (
            FirstKeys(
                session_key="key", spec_seal_keys=[FIRST, SECOND], takes_unsealed_specs=False
            ).model_dump_json(),
            ("key", [FIRST, SECOND], False),
        ),
    ],
)
def test_first_keys_come_as_json_or_as_a_session_key(text: str, expected: object) -> None:
    assert parts_of(text) == expected
