"""Reports conversations to the app server, with one outbox (a sender of events) for each conversation in
memory.
"""

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
    """An object that reports conversations to the app server, each in a separate asyncio task. The reporter
    must be closed before the conversations are closed.
    """

    def __init__(self, url: str | None, keys: SessionKeys) -> None:
        """Creates the reporter. `url`: the app server's URL for reports; None means that nothing is reported.
        `keys`: the session keys; the current key is sent with each report.
        """
        self._url = url
        self._keys = keys
        self._http: httpx.AsyncClient | None = None
        self._outboxes: dict[UUID, Outbox] = {}
        self._tasks: dict[UUID, asyncio.Task[None]] = {}

    @property
    def is_on(self) -> bool:
        return self._url is not None

    def when_current(self, conversation_id: UUID, then: Callable[[], None]) -> None:
        """Calls the function `then` if this server's log of the conversation contains all events that the app
        server has. Otherwise `then` is not called; for example, the log has fewer events if the sandbox was
        restored from a backup.

        `then`: for example a function that lets the agent continue after a restart. See
        `Outbox.when_current`.
        """
        self._outboxes[conversation_id].when_current(then)

    def follow(self, conversation: ConversationEngine) -> None:
        """Starts to send events of the conversation to the app server. The first event that is sent is the
        first one that the app server has not confirmed. Does nothing if the reporter has no URL.
        """
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
        """Adds the current session key to the request that sends a report. The key may change between two
        reports.
        """
        if self._keys.present is not None:
            request.headers[API_KEY_HEADER] = self._keys.present
