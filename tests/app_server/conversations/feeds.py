"""A conversation for which a test reports events as the sandbox does, and helpers that read the event
stream.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import httpx
import websockets
from websockets.asyncio.client import ClientConnection

from app_server.conversations.models import Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.sandbox_records.models import Sandbox
from app_server.users.service import find_owner
from app_server.users.tokens import token_hash
from tests.app_server.conversations.conftest import Home
from tests.support.patience import PATIENCE_SECONDS
from tests.support.plain_http import NO_TLS


class Feed:
    """A conversation that is READY. The test acts as its sandbox and reports the events."""

    def __init__(self, home: Home, conversation_id: UUID, key: str) -> None:
        self.home = home
        self.id = conversation_id.hex
        self.inner = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{home.config.inner_port}",
            headers={"X-Session-API-Key": key},
            timeout=PATIENCE_SECONDS,
            verify=NO_TLS,
        )

    async def report(self, *frames: dict[str, Any], to: str | None = None) -> httpx.Response:
        return await self.inner.post(f"/api/v1/webhooks/events/{to or self.id}", json={"frames": frames})

    async def report_events(self, first: int, last: int) -> None:
        reply = await self.report(*(durable(seq) for seq in range(first, last + 1)))
        assert reply.json() == {"acknowledged_seq": last}, reply.text

    def watch(
        self, after_seq: int | str = 0, *, key: str | None = None, conversation: str | None = None
    ) -> Any:
        url = f"{self.home.stream_url}/{conversation or self.id}/events/stream?after_seq={after_seq}"
        headers = {"Authorization": f"Bearer {key or self.home.key}"}
        return websockets.connect(url, additional_headers=headers, open_timeout=PATIENCE_SECONDS)


@asynccontextmanager
async def feed_of(home: Home) -> AsyncIterator[Feed]:
    """Creates a conversation that is READY but has no agent server. Yields its `Feed`."""
    conversation_id = uuid4()
    key = f"session-{conversation_id.hex}"
    await home.state["start_worker"].close()
    async with home.database.session() as session:
        owner = await find_owner(session)
        assert owner is not None
        ids = {"id": conversation_id, "user_id": owner.id}
        session.add(Conversation(**ids, llm_profile="demo", last_seq=0))
        session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        sandbox: Sandbox = await home.state["sandboxes"].create(
            session, sandbox_id=conversation_id, user_id=owner.id
        )
        sandbox.session_key_hash = token_hash(key)
    feed = Feed(home, conversation_id, key)
    try:
        yield feed
    finally:
        await feed.inner.aclose()


def durable(seq: int, **event: Any) -> dict[str, Any]:
    body = {
        "id": f"event-{seq}",
        "timestamp": "2026-11-20T20:55:11.603891",
        "source": "agent",
        "kind": "MessageEvent",
        "llm_message": {"role": "assistant", "content": [{"type": "text", "text": f"näch {seq}"}]},
    }
    return {"type": "durable", "seq": seq, "event": {**body, **event}}


def state_update(seq: int, key: str, value: Any) -> dict[str, Any]:
    return durable(seq, kind="ConversationStateUpdateEvent", source="environment", key=key, value=value)


async def read_until(socket: ClientConnection, **fields: Any) -> list[dict[str, Any]]:
    """Reads frames from the WebSocket until a frame has these fields. Returns all frames that it read, in
    order.
    """
    frames = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            frames.append(json.loads(await socket.recv()))
            if fields.items() <= frames[-1].items():
                return frames


def message(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "hello"}], **fields}
