"""The open session of a conversation: its link to the engine, the events received so far, and the threads
that receive events and call callbacks.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from agent_runtime.client.callbacks import Callbacks
from agent_runtime.client.errors import ConversationRunError, StuckError
from agent_runtime.client.follower import Follower
from agent_runtime.client.link import Link
from agent_runtime.client.loop_thread import LoopThread
from agent_runtime.conversation.errors import AlreadyRunningError, ConversationError
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.state import ConversationStateUpdateEvent, ExecutionStatus
from agent_runtime.events.union import AnyEvent
from agent_runtime.llm.errors import LLMAuthenticationError

Result = TypeVar("Result")


class ConversationSession:
    """The open session of a conversation: it opens the link to the engine that runs the agent, and receives
    the conversation's events until `close` is called.
    """

    def __init__(self, link: Link, callbacks: Callbacks) -> None:
        self.link = link
        self.callbacks = callbacks
        self.thread = LoopThread(f"conversation {link.id}")
        self.is_closed = False
        self._connections_at_start = 0
        try:
            self.thread.call(self._open())
        except BaseException:
            self._end_threads()
            raise

    def call(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Runs a coroutine in the session's thread, waits for it and returns its result. `work`: a coroutine
        that uses the link, which can be used only in the session's thread.
        """
        self._refuse_closed(work)
        return self.thread.call(work)

    def begin(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        self._refuse_closed(work)
        return self.thread.begin(work)

    def close(self) -> None:
        if self.callbacks.is_here:
            raise RuntimeError("A conversation cannot be closed by one of its callbacks.")
        if not self.is_closed:
            self.is_closed = True
            try:
                self.thread.call(self._close())
            finally:
                self._end_threads()

    def events(self) -> Sequence[AnyEvent]:
        """Returns the events of the conversation's log, oldest first. The returned sequence grows when new
        events arrive.

        Outside of callbacks, the method first waits until all events that are in the log now have been
        received, unless the session is closed. In a callback, it does not wait. In an event callback, the
        last event is the event that the callback got.
        """
        if not self.callbacks.is_here and not self.is_closed:
            self.thread.call(self._catch_up())
        return self._follower.events

    async def start(self) -> None:
        """Starts a run: the agent works until it has finished, waits for confirmation, or is stopped. If a
        run is already active, it continues and no error is raised.
        """
        # Counted before the start, because a restarted server may get our keys only while the run begins.
        connections = self._follower.connections
        with contextlib.suppress(AlreadyRunningError):
            await self.link.start()
            self._connections_at_start = connections
        # A server that was started again goes on with a run by itself, perhaps before it has our keys.
        self._connections_before = self._connections_at_start

    async def until_ended(self) -> None:
        """Waits until the active run (the work of the agent) has ended and all its events have been passed to
        the callbacks.

        Raises ConversationRunError if the run failed. Raises StuckError if the agent repeated the same steps.
        If a callback raised an exception, interrupts the run and raises that exception.
        """
        while True:
            beat = self._follower.beat
            has_ended, error = await self._look()
            if has_ended:
                if self._follower.connections == self._connections_before or not _may_go_on(error):
                    break
                await self.start()
            await self._follower.until_beat(after=beat)
        if error is not None:
            raise error

    async def _open(self) -> None:
        await self.link.open()
        self._follower = Follower(self.link, self.callbacks)
        self._following = asyncio.create_task(self._follower.follow(), name="follow")
        try:
            await self._follower.until(lambda: self._follower.connections > 0)
            self._connections_before = self._follower.connections
            await self._catch_up()
        except BaseException:
            await self._close()
            raise

    async def _close(self) -> None:
        self._following.cancel()
        await asyncio.wait([self._following])
        await self.link.close()

    def _end_threads(self) -> None:
        self.callbacks.close()
        self.thread.close()

    def _refuse_closed(self, work: Coroutine[Any, Any, Any]) -> None:
        if self.is_closed:
            work.close()
            raise ConversationError(
                "conversation_closed", "This conversation is closed.", "Open it again by its id."
            )

    async def _catch_up(self) -> None:
        last_seq = await self.link.last_seq()
        await self._follower.until(lambda: self._follower.delivered_seq >= last_seq)

    async def _look(self) -> tuple[bool, ConversationRunError | None]:
        """Returns two values: whether the agent is not working, and the error with which its last run ended
        (None if it ended without an error). If the agent is not working, all events of its last run are
        delivered before this method returns.
        """
        status = (await self.link.info()).execution_status
        if status is not ExecutionStatus.RUNNING:
            await self._catch_up()
        await self._raise_failure()
        return status is not ExecutionStatus.RUNNING, self._error_of(status)

    async def _raise_failure(self) -> None:
        failure = self.callbacks.failure
        if failure is not None:
            self.callbacks.failure = None
            await self.link.interrupt()
            raise failure

    def _error_of(self, status: ExecutionStatus) -> ConversationRunError | None:
        match status:
            case ExecutionStatus.RUNNING:
                return None
            case ExecutionStatus.STUCK:
                return StuckError()
            case ExecutionStatus.ERROR:
                return ConversationRunError(self._last(ConversationErrorEvent))
            case ExecutionStatus.PAUSED if (stopped_by := self._error_of_run()) is not None:
                return ConversationRunError(stopped_by)
            case _ if self._logged_status() == ExecutionStatus.RUNNING:
                return ConversationRunError(_UNRECORDED)
            case _:
                return None

    def _last(self, kind: type[ConversationErrorEvent]) -> ConversationErrorEvent:
        return next((e for e in reversed(self._follower.events) if isinstance(e, kind)), _UNRECORDED)

    def _error_of_run(self) -> ConversationErrorEvent | None:
        """Returns the event with the reason why the agent's last run has stopped, such as an exhausted
        budget. Returns None if there is no such event.
        """
        for event in reversed(self._follower.events):
            if isinstance(event, ConversationErrorEvent):
                return event
            if isinstance(event, ConversationStateUpdateEvent) and event.value == ExecutionStatus.RUNNING:
                return None
        return None

    def _logged_status(self) -> str:
        changes = (e for e in reversed(self._follower.events) if isinstance(e, ConversationStateUpdateEvent))
        return next((str(e.value) for e in changes if e.key == "execution_status"), ExecutionStatus.IDLE)


_UNRECORDED = ConversationErrorEvent(
    code="run_cut_off", detail="The run was cut off: how it ended could not be written down."
)


def _may_go_on(error: ConversationRunError | None) -> bool:
    """Returns whether a run that ended with this error can be continued. This is so only for the two errors
    that a restart of the server can cause. One says that the run was cut off; the other says that the API key
    was refused, which happens if the server has lost it. Returns False for other errors and for None.
    """
    return error is not None and error.code in {_UNRECORDED.code, LLMAuthenticationError.__name__}
