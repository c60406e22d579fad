"""Sends commands to Chromium and receives its events, with the DevTools protocol over one socket.

https://chromedevtools.github.io/devtools-protocol/ describes the messages.
"""

import asyncio
import itertools
import logging
import socket
from collections.abc import Callable
from typing import Any

import orjson

from agent_runtime.time_limits import time_limit

Json = dict[str, Any]
Listener = Callable[[str, str, Json], None]
"""The type of a function that is called with each event of the browser: the session id ("" for the browser
itself), the name and the parameters of the event. The function must return at once.
"""

CALL_SECONDS = 20.0
MAX_MESSAGE_BYTES = 64 * 1024**2
_END = b"\0"

logger = logging.getLogger(__name__)


class BrowserGoneError(Exception):
    """The error that is raised when the browser has ended, or sends messages that the runtime cannot
    understand.
    """


class CommandError(Exception):
    """The error that is raised when the browser refuses a DevTools command. The text is the browser's error
    message.
    """


class NoAnswerError(Exception):
    """The error that is raised when the browser or a page does not reply to a DevTools command in time, for
    example because the scripts of the page keep it busy.
    """


class Connection:
    """The DevTools connection to a running browser. Several commands may wait for results at the same
    time.
    """

    def __init__(self, on_event: Listener) -> None:
        self._on_event = on_event
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._reading is not None and not self._reading.done()

    async def open(self, ours: socket.socket) -> None:
        reader, self._writer = await asyncio.open_connection(sock=ours, limit=MAX_MESSAGE_BYTES)
        self._reading = asyncio.create_task(self._read(reader))

    async def call(
        self, method: str, params: Json | None = None, *, session: str = "", seconds: float = CALL_SECONDS
    ) -> Json:
        """Sends a DevTools command and returns the result of the command. `session`: the id of the DevTools
        session that gets the command; an empty text means the browser itself.

        Raises BrowserGoneError if the browser has ended. Raises CommandError if the browser refuses the
        command. Raises NoAnswerError if there is no reply within `seconds`.
        """
        if self._writer is None or not self.is_open:
            raise BrowserGoneError
        number = next(self._ids)
        message: Json = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with time_limit(seconds):
                self._writer.write(orjson.dumps(message) + _END)
                return await answer
        except TimeoutError as error:
            raise NoAnswerError(method) from error
        finally:
            del self._waiting[number]

    async def close(self) -> None:
        """Closes the connection to the browser. Safe to call twice."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                self._take(orjson.loads((await reader.readuntil(_END))[:-1]))
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # it has ended
        except asyncio.LimitOverrunError:
            logger.warning("a message of the browser is too large")
        finally:
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(BrowserGoneError())

    def _take(self, message: Json) -> None:
        if "id" not in message:
            self._on_event(message.get("sessionId", ""), message["method"], message.get("params", {}))
            return
        answer = self._waiting.get(message["id"])
        if answer is None or answer.done():
            return  # no call waits for it any more
        if "error" in message:
            answer.set_exception(CommandError(str(message["error"].get("message", ""))))
        else:
            answer.set_result(message["result"])
