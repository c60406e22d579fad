"""Calls a program's callbacks for new events and for pieces of the model's replies."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from agent_runtime.client.frames import StreamEvent
from agent_runtime.events.union import AnyEvent

EventCallback = Callable[[AnyEvent], None]
StreamCallback = Callable[[StreamEvent], None]


class Callbacks:
    """An object that calls the callbacks of a program in order, one at a time, in a separate thread.
    Callbacks may block and may call methods of the conversation.

    `failure`: the first exception that a callback has raised; None if there is none. After an exception, the
    callbacks are still called for later events.
    """

    def __init__(self, on_event: Sequence[EventCallback], on_stream: Sequence[StreamCallback]) -> None:
        self._on_event = tuple(on_event)
        self._on_stream = tuple(on_stream)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="callbacks")
        self._thread_id: int | None = None
        self.failure: BaseException | None = None

    @property
    def is_here(self) -> bool:
        """Whether the current thread is the thread in which callbacks are called."""
        return threading.get_ident() == self._thread_id

    async def event(self, event: AnyEvent) -> None:
        await self._call_all(self._on_event, event)

    async def stream(self, piece: StreamEvent) -> None:
        await self._call_all(self._on_stream, piece)

    def close(self) -> None:
        self._thread.shutdown()

    async def _call_all(self, callbacks: Sequence[Callable[..., None]], argument: object) -> None:
        if callbacks:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._thread, self._call_each, callbacks, argument)

    def _call_each(self, callbacks: Sequence[Callable[..., None]], argument: object) -> None:
        self._thread_id = threading.get_ident()
        for callback in callbacks:
            try:
                callback(argument)
            except BaseException as error:  # noqa: BLE001 (the caller that waits for the run gets it)
                self.failure = self.failure or error
