"""Measures how long searches take: in 10,000 conversations, and in 100,000 events of one conversation.

    .venv/bin/python -m benchmarks.searches [CONVERSATIONS EVENTS]

Each line of the output is for one kind of search over HTTP, which is repeated many times: its p50 and p95.
The goals: 20 ms for a page of conversations, 10 ms for a page of events.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from sqlalchemy import insert, select

from app_server.conversations.log.message_texts import MessageText
from app_server.conversations.models import IMPORTED, Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.events import log
from app_server.events.schemas import DurableFrame
from app_server.users.models import User
from benchmarks.figures import quantile
from tests.support.server import AppServerProcess

CONVERSATIONS, EVENTS = 10_000, 100_000
AT_ONCE = 500
REQUESTS = 50
GOAL_CONVERSATIONS_MS, GOAL_EVENTS_MS = 20, 10
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
OF_CONVERSATIONS: Mapping[str, dict[str, Any]] = {
    "all": {},
    "a word of a message": {"query": "anchor77"},
    "words of many messages": {"query": "harbour ship"},
    "repository": {"selected_repository__contains": "repo-42"},
    "tag": {"tag": "kind:7"},
    "status": {"execution_status__eq": "error"},
    "model and time": {
        "llm_model__eq": "model-3",
        "created_at__gte": (BEGIN + timedelta(days=3)).isoformat(),
    },
}
OF_EVENTS: Mapping[str, dict[str, Any]] = {
    "first page": {},
    "last page": {"sort_order": "TIMESTAMP_DESC"},
    "of one kind": {"kind__eq": "PauseEvent"},
    "from a time on": {"timestamp__gte": (BEGIN + timedelta(seconds=90_000)).isoformat()},
    "before a time, newest first": {
        "timestamp__lt": (BEGIN + timedelta(seconds=50_000)).isoformat(),
        "sort_order": "TIMESTAMP_DESC",
    },
    "of one kind from a time on": {
        "kind__eq": "PauseEvent",
        "timestamp__gte": (BEGIN + timedelta(seconds=1_000)).isoformat(),
    },
    "with a word of all": {"query": "harbour", "sort_order": "TIMESTAMP_DESC"},
    "with the beginning of a word of all": {"query": "harb", "sort_order": "TIMESTAMP_DESC"},
    "with a word of every 1,000th": {"query": "anchor ship", "sort_order": "TIMESTAMP_DESC"},
    "with a word of one": {"query": "buoy77777"},
}


def main(conversations: int, events: int) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory,
        AppServerProcess(Path(directory) / "home", sandbox="process") as server,
    ):
        server.api_key()  # makes the owner
        conversation_id = asyncio.run(_fill(Config(home=server.home), conversations, events))
        with server.client() as client:
            print(f"{conversations} conversations, goal: p95 of {GOAL_CONVERSATIONS_MS} ms")
            for name, params in OF_CONVERSATIONS.items():
                _measure(client, "/app-conversations/search", name, {"limit": 20, **params})
            print(f"{events} events, goal: p95 of {GOAL_EVENTS_MS} ms")
            for name, params in OF_EVENTS.items():
                _measure(client, f"/conversation/{conversation_id.hex}/events/search", name, params)


def _measure(client: httpx.Client, route: str, name: str, params: dict[str, Any]) -> None:
    times = []
    for _ in range(REQUESTS):
        began = time.monotonic()
        found = client.get(route, params=params).raise_for_status().json()["items"]
        times.append(1000 * (time.monotonic() - began))
    print(f"  {name}: {quantile(times, 0.5):.1f} / {quantile(times, 0.95):.1f} ms ({len(found)} on the page)")


async def _fill(config: Config, conversations: int, events: int) -> UUID:
    database = Database(config.resolved_database_url)
    try:
        async with database.session() as session:
            owner = (await session.scalars(select(User).limit(1))).one().id
        ids = [uuid4() for _ in range(conversations)]
        for begin in range(0, conversations, AT_ONCE):
            part = list(enumerate(ids[begin : begin + AT_ONCE], start=begin))
            async with database.session() as session:
                await session.execute(insert(Conversation), [_conversation(n, one, owner) for n, one in part])
                await session.execute(insert(StartTask), [_start(one, owner) for _, one in part])
                await session.execute(insert(MessageText), [_text(n, one) for n, one in part])
        for begin in range(1, events + 1, AT_ONCE):
            frames = [_frame(seq) for seq in range(begin, min(begin + AT_ONCE, events + 1))]
            async with database.session() as session:
                await log.append(session, ids[0], frames)
        return ids[0]
    finally:
        await database.close()


def _conversation(number: int, conversation_id: UUID, owner: UUID) -> dict[str, Any]:
    return {
        "id": conversation_id,
        "user_id": owner,
        "sandbox_id": conversation_id,
        "title": f"Work number {number}",
        "trigger": IMPORTED,
        "selected_repository": f"acme/repo-{number % 100}",
        "llm_profile": "",
        "llm_model": f"model-{number % 5}",
        "execution_status": "error" if number % 50 == 0 else "finished",
        "tags": {"kind": str(number % 20)},
        "last_seq": 0,
        "created_at": BEGIN + timedelta(minutes=number),
    }


def _start(conversation_id: UUID, owner: UUID) -> dict[str, Any]:
    return {
        "id": conversation_id,
        "user_id": owner,
        "sandbox_id": conversation_id,
        "status": StartStatus.READY,
        "request": {},
        "stages": new_stages(),
    }


def _text(number: int, conversation_id: UUID) -> dict[str, Any]:
    text = f"Look after the harbour and ship {number}, and tie it to anchor{number}. " + "More words. " * 30
    return {"conversation_id": conversation_id, "text": text}


def _frame(seq: int) -> DurableFrame:
    event = {
        "id": f"event-{seq}",
        "kind": "PauseEvent" if seq % 1000 == 0 else "MessageEvent",
        "source": "user",
        "timestamp": (BEGIN + timedelta(seconds=seq)).replace(tzinfo=None).isoformat(),
        "llm_message": {"role": "user", "content": [{"type": "text", "text": _message_text(seq)}]},
    }
    return DurableFrame(type="durable", seq=seq, event=event)


def _message_text(seq: int) -> str:
    """Returns the text of the message with this number: about 50 words. Some of the words are in no other
    message.
    """
    rare = "anchor" if seq % 1000 == 500 else "mast"
    others = " ".join(f"word{(seq * step) % 20_000}" for step in range(1, 40))
    return f"Look after the harbour and ship {seq}, with {rare} and buoy{seq}. {others}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3] or (CONVERSATIONS, EVENTS)))
