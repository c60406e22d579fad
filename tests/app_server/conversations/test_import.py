"""Tests of importing an exported conversation: the imported conversation can be read, and hostile files are
refused.
"""

import asyncio
import io
import json
import threading
import zipfile
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from app_server.conversations import imports
from app_server.conversations.log import imported
from app_server.conversations.log.imported import ImportedLog, NotAnExport, TooManyValues, read_export
from app_server.conversations.models import Conversation
from app_server.users.models import Role
from tests.app_server.conversations.conftest import ROOT, Home, client_of, eventually
from tests.app_server.conversations.test_export import worked
from tests.app_server.problems import assert_problem
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM

MESSAGE: dict[str, Any] = {
    "id": "m1",
    "kind": "MessageEvent",
    "source": "user",
    "timestamp": "2026-11-26T10:00:00",
    "llm_message": {"role": "user", "content": [{"type": "text", "text": "Repair the crane"}]},
}


def zipped(files: Mapping[str, object]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return made.getvalue()


async def test_an_export_is_read_again_by_another_user(home: Home, scripted_llm: ScriptedLLM) -> None:
    old = await worked(home, scripted_llm)
    exported = (await home.client.get(f"{ROOT}/{old}/download")).content

    async with client_of(home.config, await home.key_of(Role.MEMBER)) as other:
        reply = await other.post(
            f"{ROOT}/import", content=exported, headers={"Content-Type": "application/zip"}
        )
        new = reply.json()
        events = await other.get(f"/api/v1/conversation/{new['id']}/events/search")
        found = await other.get(f"{ROOT}/search", params={"query": "plan it"})
        message = {"content": [{"type": "text", "text": "Go on"}]}
        refused = await other.post(f"{ROOT}/{new['id']}/send-message", json=message)
        queued = await other.post(f"/api/v1/conversations/{new['id']}/pending-messages", json=message)
        again = await other.get(f"{ROOT}/{new['id']}/download")
        file = await other.get(f"{ROOT}/{new['id']}/file")
        workspace = await other.get(f"{ROOT}/{new['id']}/workspace")
        deleted = await other.delete(f"{ROOT}/{new['id']}")
        gone = await other.get(ROOT, params={"ids": new["id"]})

    async def removed() -> bool:
        async with home.database.read() as session:
            return await session.get(Conversation, UUID(new["id"])) is None

    await eventually(removed)
    before = await home.client.get(f"/api/v1/conversation/{old}/events/search")
    assert reply.status_code == 201
    assert (new["title"], new["trigger"], new["access"]) == ("The plan", "import", "own")
    assert (new["start_status"], new["sandbox_status"], new["execution_status"]) == ("READY", "MISSING", None)
    assert events.json()["items"] == before.json()["items"]
    assert [each["id"] for each in found.json()["items"]] == [new["id"]]
    assert_problem(refused, 409, "conversation_imported")
    assert_problem(queued, 409, "conversation_imported")
    assert_problem(workspace, 409, "conversation_imported")
    assert zipfile.ZipFile(io.BytesIO(again.content)).namelist()[1:] == [
        name for name in zipfile.ZipFile(io.BytesIO(exported)).namelist() if name != "meta.json"
    ]
    assert file.status_code == 409
    assert deleted.status_code == 200
    assert gone.json() == [None]


def test_the_agent_servers_own_names_are_read_in_their_order() -> None:
    second = {**MESSAGE, "id": "m2"}
    files = {"meta.json": {}, "events/event-00001-m2.json": second, "events/event-00000-m1.json": MESSAGE}

    log = read_export(zipped({**files, "../../etc/passwd": "ignored", "TASKS.json": []}))

    assert [(frame.seq, frame.envelope.id) for frame in log.frames] == [(1, "m1"), (2, "m2")]
    assert (log.title, log.repository) == (None, None)


@pytest.mark.parametrize("repository", ["/etc", "https://me:token@git.acme.dev/p.git", 5, "::"])
def test_a_repository_is_taken_over_without_passwords_and_paths(repository: object) -> None:
    files = {"meta.json": {"selected_repository": repository}, "event_000000_m1.json": MESSAGE}

    assert read_export(zipped(files)).repository in {None, "https://git.acme.dev/p.git"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no zip", "cannot be read"),
        (zipped({"event_000000_m1.json": MESSAGE}), "meta.json"),
        (zipped({"meta.json": []}), "not a JSON object"),
        (zipped({"meta.json": "{"}), "cannot be read"),
        (zipped({"meta.json": {}}), "no events"),
        (zipped({"meta.json": {}, "event_000000_x.json": {"kind": "MessageEvent"}}), "Field required"),
        (zipped({"meta.json": {}, "event_0_a.json": MESSAGE, "event_1_b.json": MESSAGE}), "occurs twice"),
    ],
)
def test_other_files_are_refused_with_a_reason(content: bytes, reason: str) -> None:
    with pytest.raises(NotAnExport, match=reason):
        read_export(content)


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_file_is_refused(packing: int) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", packing) as archive:
        archive.writestr("meta.json", json.dumps({"title": "a title " * 200}))
    content = whole.getvalue()
    start = 30 + len("meta.json")  # after the ZIP header of the first file
    for place in range(start, content.index(b"PK\x01\x02") - 4):
        with pytest.raises(NotAnExport):
            read_export(
                content[:place]
                + bytes(byte ^ 0xFF for byte in content[place : place + 4])
                + content[place + 4 :]
            )


def test_a_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped({"meta.json": {}, "event_0_a.json": b" " * 100_000})
    many = zipped({"meta.json": {}, **{f"event_{n}_m.json": {**MESSAGE, "id": f"m{n}"} for n in range(3)}})
    monkeypatch.setattr(imported, "MAX_EVENT_BYTES", 1000)
    with pytest.raises(NotAnExport, match="too large"):
        read_export(bomb)
    monkeypatch.setattr(imported, "MAX_TOTAL_BYTES", 300)
    with pytest.raises(NotAnExport, match="too large"):
        read_export(many)
    monkeypatch.setattr(imported, "MAX_EVENTS", 2)
    with pytest.raises(NotAnExport, match="more than 2"):
        read_export(many)


def state_update(name: str, value: str) -> str:
    return (
        f'{{"id": "{name}", "kind": "ConversationStateUpdateEvent", "source": "environment", '
        f'"timestamp": "2026-11-26T10:00:00", "key": "x", "value": {value}}}'
    )


@pytest.mark.parametrize(
    "files",
    [
        {"meta.json": {}, "event_0_a.json": state_update("a", "[" + "[]," * 400_000 + "0]")},
        {
            "meta.json": {},
            **{f"event_{n}_a.json": state_update(f"a{n}", "[" + "0," * 450_000 + "0]") for n in range(5)},
        },
        {"meta.json": "[" + "0," * 510_000 + "0]", "event_0_m.json": MESSAGE},
    ],
)
def test_a_small_file_with_very_many_values_is_refused_before_they_are_decoded(
    files: dict[str, object],
) -> None:
    content = zipped(files)

    assert len(content) < 64 * 1024
    with pytest.raises(TooManyValues, match="JSON values") as refused:
        read_export(content)
    assert (refused.value.status, refused.value.code) == (413, "import_too_many_values")


def test_a_file_with_many_values_is_imported() -> None:
    values = "[" + "0," * 300_000 + "0]"
    files = {f"event_{n}_a.json": state_update(f"a{n}", values) for n in range(4)}

    assert len(read_export(zipped({"meta.json": {}, **files})).frames) == 4


async def test_a_user_imports_one_file_at_a_time(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def read_slowly(content: bytes) -> ImportedLog:
        begun.set()
        assert may_end.wait(PATIENCE_SECONDS)
        return read_export(content)

    content = zipped({"meta.json": {}, "event_0_m.json": MESSAGE})
    with monkeypatch.context() as patched:
        patched.setattr(imports, "read_export", read_slowly)
        first = asyncio.create_task(home.client.post(f"{ROOT}/import", content=content))
        assert await asyncio.to_thread(begun.wait, PATIENCE_SECONDS)
    second = await home.client.post(f"{ROOT}/import", content=content)
    async with client_of(home.config, await home.key_of(Role.MEMBER)) as other:
        of_another = await other.post(f"{ROOT}/import", content=content)
    may_end.set()
    third = (await first, await home.client.post(f"{ROOT}/import", content=content))

    assert_problem(second, 429, "import_running")
    assert of_another.status_code == 201
    assert [reply.status_code for reply in third] == [201, 201]
