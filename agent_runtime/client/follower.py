"""Receives the frames (messages of a live stream) that a conversation sends to its clients. Each event is
received once and in order, also after the connection was lost.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from agent_runtime.client.callbacks import Callbacks
from agent_runtime.client.errors import DisconnectedError
from agent_runtime.client.frames import Durable, StateChanged, Sync, parse_frame
from agent_runtime.client.link import Link, LinkLostError
from agent_runtime.events.union import AnyEvent

FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 5.0


class Follower:
    """The receiver of the events of a conversation. It calls the program's callbacks for each new event.

    `events`: all events of the log so far. `delivered_seq`: the position of the last delivered event.
    Callbacks have been called for it, or it is from before the start; no callbacks are called for such
    events. `beat`: a counter that grows each time the state of the conversation may have changed, for example
    because the agent has stopped. `connections`: how often the follower has connected to the conversation.
    `failure`: the error with which `follow` failed; None if it has not failed.
    """

    def __init__(self, link: Link, callbacks: Callbacks) -> None:
        self.events: list[AnyEvent] = []
        self.delivered_seq = 0
        self.beat = 0
        self.connections = 0
        self.failure: Exception | None = None
        self._link = link
        self._callbacks = callbacks
        self._known_seq = 0
        self._changed = asyncio.Condition()

    async def follow(self) -> None:
        """Receives frames (messages of the conversation's live stream) until this task is cancelled or the
        stream fails. If it fails, stores the error in `failure`; every call of `until` then raises this
        error.
        """
        try:
            await self._follow()
        except Exception as error:  # noqa: BLE001 (all waiting callers get it)
            self.failure = error
        await self._tell()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Waits until the function `is_so` returns True. The function is called again after each new frame.
        If `follow` has already failed, or fails during the wait, raises the error of `follow`.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self.failure is not None or is_so())
        if self.failure is not None:
            raise self.failure

    async def until_beat(self, *, after: int) -> None:
        """Waits for the next possible change of the conversation's state, for example the end of the agent's
        work. Returns when the counter `beat` is greater than `after`, or when a callback has raised an
        exception. If `follow` fails, raises the error of `follow`.
        """
        await self.until(lambda: self.beat > after or self._callbacks.failure is not None)

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        lost_at, wait = None, FIRST_WAIT_SECONDS
        while True:
            try:
                # The stream is closed here. The garbage collector might close its socket only after the event
                # loop has ended.
                async with aclosing(self._link.frames(len(self.events))) as frames:
                    async for wire in frames:
                        lost_at, wait = None, FIRST_WAIT_SECONDS
                        await self._take(wire)
            except LinkLostError as error:
                lost_at = loop.time() if lost_at is None else lost_at
                if loop.time() - lost_at > self._link.patience_seconds:
                    raise DisconnectedError("disconnected", f"The connection was lost: {error}") from error
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    async def _take(self, wire: bytes | str) -> None:
        match parse_frame(wire):
            case Sync(through_seq):
                self._connected(through_seq)
            case Durable(seq, event) if seq == len(self.events) + 1:
                self.events.append(event)
                if seq > self._known_seq:
                    await self._callbacks.event(event)
                self.delivered_seq = seq
            case Durable() | None:
                return  # received before, or of an unknown newer kind
            case StateChanged():
                self.beat += 1
            case piece:
                await self._callbacks.stream(piece)
        await self._tell()

    def _connected(self, through_seq: int) -> None:
        if not self.connections:
            self._known_seq = through_seq  # no callbacks for events from before the start
        elif through_seq < len(self.events):
            raise DisconnectedError("disconnected", "The agent server has lost events of this conversation.")
        self.connections += 1
        self.beat += 1

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()
