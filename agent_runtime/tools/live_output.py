"""Publishes the output of running tool calls, for people who watch the conversation. The output is published
at a limited rate and is not written to the event log.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

MAX_OUTPUT_CHARS = 12_000
"""The largest number of characters that are shown of all running calls of a conversation together. Each call
gets an equal share of them. If the output of a call is longer, only its end is shown.
"""
MAX_STYLES = 500
INTERVAL_SECONDS = 0.25
REPEAT_SECONDS = 15.0
"""Output that has not changed is published again after this time, because a receiver may have restarted."""


@dataclass(frozen=True)
class OutputTail:
    """The last part of the output of a running tool call, with secrets masked.

    `text`: the characters of the output. `styles`: the parts of `text` that have a colour or another style.
    Each is a tuple: index of the first character, index after the last character, style.
    """

    text: str
    styles: Sequence[tuple[int, int, str]] = ()


Peek = Callable[[int], OutputTail]
"""The type of a function that returns the end of a tool call's output. Its argument is the maximum number of
characters.
"""


class LiveOutputs:
    """The output of the running tool calls of one conversation. All methods must be called in the same event
    loop.
    """

    def __init__(self, publish: Callable[[Mapping[str, OutputTail]], None] | None = None) -> None:
        """Creates the object without any output. `publish`: a function that gets a mapping with the output
        of all running calls, by the id of the call's event. When the last call has ended, the function gets
        an empty mapping. If `publish` is None, nothing is published.
        """
        self._publish = publish
        self._peeks: dict[str, Peek] = {}
        self._timer: asyncio.Handle | None = None
        self._due = 0.0
        self._published_at = float("-inf")
        self._shows_something = False

    def now(self) -> dict[str, OutputTail]:
        """Returns the current output of the running calls, by the id of the call's event. Calls without
        output are left out.
        """
        room = MAX_OUTPUT_CHARS // max(1, len(self._peeks))
        shown = {action_id: peek(room) for action_id, peek in self._peeks.items()}
        return {action_id: one for action_id, one in shown.items() if one.text}

    @contextmanager
    def showing(self, action_id: str, peek: Peek) -> Iterator[None]:
        """Publishes the output of a running tool call until the `with` block ends. `action_id`: the id of the
        call's event. `peek`: a function that returns the end of the output.
        """
        if not self._peeks:
            # A call that ends at once shows only its result.
            self._published_at = max(self._published_at, asyncio.get_running_loop().time())
        self._peeks[action_id] = peek
        try:
            yield
        finally:
            del self._peeks[action_id]
            if self._shows_something:
                self._publish_after(INTERVAL_SECONDS)

    def touch(self) -> None:
        """Schedules the next publication of the output of all running calls. The caller calls this method
        when a tool call may have printed something.
        """
        if self._peeks:
            self._publish_after(INTERVAL_SECONDS)

    def close(self) -> None:
        """Permanently stops publishing the output of the conversation's running tool calls."""
        self._publish = None
        if self._timer is not None:
            self._timer.cancel()

    def _publish_after(self, seconds: float) -> None:
        """Schedules the next publication of the output. Its time is `seconds` after the last publication, or
        now if this time has already passed. Does nothing if a publication is already scheduled for this time
        or an earlier time.
        """
        if self._publish is None:
            return
        loop = asyncio.get_running_loop()
        due = max(loop.time(), self._published_at + seconds)
        if self._timer is not None:
            # Not every event loop's handle knows its time.
            if self._due <= due:
                return
            self._timer.cancel()
        self._due, self._timer = due, loop.call_at(due, self._publish_now)

    def _publish_now(self) -> None:
        self._timer = None
        if self._publish is None:
            return
        self._published_at = asyncio.get_running_loop().time()
        shown = self.now()
        if shown or self._shows_something:
            self._publish(shown)
        self._shows_something = bool(shown)
        if shown:
            self._publish_after(REPEAT_SECONDS)
