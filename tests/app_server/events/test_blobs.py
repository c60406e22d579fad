"""Tests of large parts of events: they are stored beside the log, and are read back without a change."""

import base64
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest

from app_server.events import blobs, log
from app_server.events.blobs import MAX_INLINE_CHARACTERS
from app_server.events.schemas import DurableFrame
from tests.app_server.events.test_append import open_database

CONVERSATION = UUID(int=7)
LONG = "ä line with “quotes” \\ and \x01\n" * 4000
PICTURE = f"data:image/png;base64,{base64.b64encode(bytes(n * n % 251 for n in range(90_000))).decode()}"
ODD: dict[str, Any] = {"small": 5e-324, "large": 2**63, "zero": -0.0, "huge": 1e300, "nothing": None}


def event(**fields: Any) -> dict[str, Any]:
    return {"id": "e", "kind": "K", "source": "agent", "timestamp": "2026-01-01T00:00:00", **ODD, **fields}


def observed(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return event(observation={"kind": "BrowserObservation", "content": list(content), **fields})


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def image(*urls: str) -> dict[str, Any]:
    return {"type": "image", "image_urls": list(urls)}


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return event(llm_message={"role": "user", "content": list(content)})


def frame(event: dict[str, Any], seq: int = 1) -> DurableFrame:
    return DurableFrame(type="durable", seq=seq, event=event)


LARGE = [
    observed(text(LONG), image(PICTURE, "https://example.com/a.png")),
    observed(text("short"), old_content=LONG, new_content=LONG + "."),
    message(text("look"), image(PICTURE)),
    observed(image(PICTURE), image(PICTURE)),
]


@pytest.mark.parametrize("given", LARGE)
def test_an_event_comes_back_exactly(given: dict[str, Any]) -> None:
    reported = frame(given)
    kept = reported.keep(CONVERSATION)
    assert len(kept.body) < MAX_INLINE_CHARACTERS / 2
    assert all(reference["sha256"] in kept.body for reference in kept.references)
    parts = {blob.sha256: blobs._part(blob.media_type, blob.content) for blob in kept.blobs}
    assert blobs.restored(kept.body, kept.references, parts) == reported.body
    assert frame(given).body == reported.body, "the event itself is left as it was"


def test_a_reader_of_the_protocol_finds_an_address_and_both_ends_of_a_text() -> None:
    kept = frame(LARGE[0]).keep(CONVERSATION)
    shown_text, shown_image = orjson.loads(kept.body)["observation"]["content"]
    long_text, picture = kept.references
    assert shown_image["image_urls"] == [
        blobs.address_of(CONVERSATION, picture["sha256"]),
        "https://example.com/a.png",
    ]
    assert picture["path"] == ["observation", "content", 1, "image_urls", 0]
    assert (picture["media_type"], picture["size"]) == ("image/png", 90_000)
    assert shown_text["text"].startswith(LONG[:1000])
    assert shown_text["text"].endswith(LONG[-1000:])
    assert blobs.address_of(CONVERSATION, long_text["sha256"]) in shown_text["text"]


@pytest.mark.parametrize(
    "given",
    [
        observed(text("x" * MAX_INLINE_CHARACTERS)),
        message(text(LONG)),
        message(image(f"data:image/png;base64,{'A' * 70_001}")),
        message(image(f"data:text/html;base64,{'A' * 70_000}")),
        message(image("https://example.com/" + "a" * 70_000)),
        event(action={"kind": "FileEditorAction", "file_text": LONG}),
        event(observation=None, llm_message=[LONG]),
    ],
    ids=["as-long-as-allowed", "said", "no-base64", "no-image", "elsewhere", "called", "odd"],
)
def test_small_outputs_and_texts_stay_in_the_event(given: dict[str, Any]) -> None:
    reported = frame(given)
    kept = reported.keep(CONVERSATION)
    assert (kept.body, kept.references, kept.blobs) == (reported.body, [], [])


async def test_a_log_keeps_each_part_once_and_removes_it_with_the_conversation(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "log.sqlite3")
    one, other = uuid4(), uuid4()
    frames = [frame({**given, "id": f"e{seq}"}, seq) for seq, given in enumerate(LARGE, start=1)]
    for conversation_id in (one, other):
        for _ in range(2):
            async with database.session() as session:
                await log.append(session, conversation_id, frames)
    async with database.session() as session:
        for conversation_id in (one, other):
            bodies = await log.read_bodies(session, conversation_id, from_seq=1, limit=10)
            assert bodies == [each.body for each in frames]
            assert await log.read_body(session, conversation_id, 3) == frames[2].body
            assert await log.find(session, conversation_id, "e2") == frames[1].event
        shown = await log.read_frames(session, one, after_seq=0, through_seq=9, limit=10)
        assert sum(len(each.text) for each in shown) < 60_000
        [first] = {ref["sha256"] for ref in frames[3].keep(one).references}
        assert (await blobs.find(session, one, first)) is not None
        await log.delete_log(session, one)
        assert (await blobs.find(session, one, first)) is None
        assert (await blobs.find(session, other, first)) is not None
    await database.close()
