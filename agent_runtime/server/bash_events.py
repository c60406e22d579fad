"""Commands and their output as the bash routes show them, kept in bounded memory."""

from collections.abc import Callable, Iterator
from enum import StrEnum

from pydantic import BaseModel

from agent_runtime.wire import BashCommand, BashOutput

MAX_EVENTS = 20_000
MAX_CHARS = 64 * 1024 * 1024


class SortOrder(StrEnum):
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_DESC = "TIMESTAMP_DESC"


class BashEventPage(BaseModel):
    items: list[BashCommand | BashOutput]
    next_page_id: str | None = None


Filter = Callable[[BashCommand | BashOutput], bool]


class BashEventStore:
    """Events in the order they happened; the oldest make room for new ones."""

    def __init__(self) -> None:
        self._events: dict[str, BashCommand | BashOutput] = {}
        self._chars = 0

    def add(self, event: BashCommand | BashOutput) -> None:
        self._events[event.id] = event
        self._chars += _size(event)
        while len(self._events) > MAX_EVENTS or (self._chars > MAX_CHARS and len(self._events) > 1):
            self._chars -= _size(self._events.pop(next(iter(self._events))))

    def get(self, event_id: str) -> BashCommand | BashOutput | None:
        return self._events.get(event_id)

    def clear(self) -> int:
        """How many events there were."""
        count = len(self._events)
        self._events.clear()
        self._chars = 0
        return count

    def search(
        self, matches: Filter, *, sort_order: SortOrder, page_id: str | None, limit: int
    ) -> BashEventPage:
        """Up to `limit` matching events, from the event `page_id` on."""
        items: list[BashCommand | BashOutput] = []
        for event in self._from(page_id, sort_order):
            if not matches(event):
                continue
            if len(items) == limit:
                return BashEventPage(items=items, next_page_id=event.id)
            items.append(event)
        return BashEventPage(items=items)

    def _from(self, page_id: str | None, sort_order: SortOrder) -> Iterator[BashCommand | BashOutput]:
        ids = iter(self._events if sort_order is SortOrder.TIMESTAMP else reversed(self._events))
        is_reached = page_id is None
        for event_id in ids:
            is_reached = is_reached or event_id == page_id
            if is_reached:
                yield self._events[event_id]


def _size(event: BashCommand | BashOutput) -> int:
    if isinstance(event, BashCommand):
        return len(event.command)
    return len(event.stdout or "") + len(event.stderr or "")
