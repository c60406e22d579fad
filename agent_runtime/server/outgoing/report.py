"""Reports to the app server: one outbox for each conversation that is live."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import httpx

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.server.keys.session_keys import SessionKeys
from agent_runtime.server.outgoing.outbox import Outbox
from agent_runtime.wire import API_KEY_HEADER

TIMEOUT_SECONDS = 30


class Reporter:
    """Follows conversations with one task each. Close it before the conversations."""

    def __init__(self, url: str | None, keys: SessionKeys) -> None:
        """url: of the app server; None: nothing is reported."""
        self._url = url
        self._keys = keys
        self._http: httpx.AsyncClient | None = None
        self._outboxes: dict[UUID, Outbox] = {}
        self._tasks: dict[UUID, asyncio.Task[None]] = {}

    @property
    def is_on(self) -> bool:
        return self._url is not None

    def when_current(self, conversation_id: UUID, then: Callable[[], None]) -> None:
        """Has `then` called once the receiver has said that it knows no more of it than its log."""
        self._outboxes[conversation_id].when_current(then)

    def follow(self, conversation: ConversationEngine) -> None:
        """Reports the conversation from its last confirmed position on."""
        if self._url is None:
            return
        url = f"{self._url}/events/{conversation.id.hex}"
        outbox = self._outboxes[conversation.id] = Outbox(conversation, url, self._connections())
        self._tasks[conversation.id] = asyncio.create_task(
            outbox.deliver_forever(), name=f"report {conversation.id}"
        )

    async def forget(self, conversation_id: UUID) -> None:
        self._outboxes.pop(conversation_id, None)
        task = self._tasks.pop(conversation_id, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        for conversation_id in tuple(self._tasks):
            await self.forget(conversation_id)
        if self._http is not None:
            await self._http.aclose()

    def _connections(self) -> httpx.AsyncClient:
        if self._http is None:
            # Reports go to the app server's own listener, never through a proxy meant for the outside.
            self._http = httpx.AsyncClient(
                event_hooks={"request": [self._sign]}, timeout=TIMEOUT_SECONDS, trust_env=False
            )
        return self._http

    async def _sign(self, request: httpx.Request) -> None:
        """With the key of this moment: it changes while reports go on."""
        if self._keys.present is not None:
            request.headers[API_KEY_HEADER] = self._keys.present
