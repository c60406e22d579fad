"""What running calls have printed so far, for those who watch: published at a bounded rate, never logged."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

SHOWN_CHARS = 12_000
"""Of all calls of a conversation together. Of each call, the end is shown."""
MAX_SHOWN_STYLES = 500
INTERVAL_SECONDS = 0.25
REPEAT_SECONDS = 15.0
"""After so long the same is published again: a receiver that has restarted knows nothing of it."""


@dataclass(frozen=True)
class Shown:
    """The end of an output, without secrets. styles: first character, the one behind the last, the style."""

    text: str
    styles: Sequence[tuple[int, int, str]] = ()


Peek = Callable[[int], Shown]
"""Gives the last characters of an output, at most so many."""


class LiveOutputs:
    """Those of one conversation. Use it from one event loop."""

    def __init__(self, publish: Callable[[Mapping[str, Shown]], None] | None = None) -> None:
        """publish: gets all that is shown, by the id of the call's event; nothing once the last has ended."""
        self._publish = publish
        self._peeks: dict[str, Peek] = {}
        self._timer: asyncio.Handle | None = None
        self._due = 0.0
        self._published_at = float("-inf")
        self._shows_something = False

    def now(self) -> dict[str, Shown]:
        """What running calls have printed, by the ids of their events. Silent calls are not there."""
        room = SHOWN_CHARS // max(1, len(self._peeks))
        shown = {action_id: peek(room) for action_id, peek in self._peeks.items()}
        return {action_id: one for action_id, one in shown.items() if one.text}

    @contextmanager
    def showing(self, action_id: str, peek: Peek) -> Iterator[None]:
        """Shows what the call prints, until it ends."""
        if not self._peeks:
            # Of a call that ends at once its result is shown, and nothing before.
            self._published_at = max(self._published_at, asyncio.get_running_loop().time())
        self._peeks[action_id] = peek
        try:
            yield
        finally:
            del self._peeks[action_id]
            if self._shows_something:
                self._publish_after(INTERVAL_SECONDS)

    def touch(self) -> None:
        """A call may have printed something."""
        if self._peeks:
            self._publish_after(INTERVAL_SECONDS)

    def close(self) -> None:
        """Nothing more is published."""
        self._publish = None
        if self._timer is not None:
            self._timer.cancel()

    def _publish_after(self, seconds: float) -> None:
        """So long after the last time, unless it is due before."""
        if self._publish is None:
            return
        loop = asyncio.get_running_loop()
        due = max(loop.time(), self._published_at + seconds)
        if self._timer is not None:
            # Not every loop's handle says when it is due.
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
