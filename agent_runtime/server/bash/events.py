"""Stores events about the commands of clients and about their output in memory, up to a limit. The routes
below /api/bash return these events.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel

from agent_runtime.wire import BashCommand, BashError, BashOutput

MAX_EVENTS = 20_000
MAX_CHARS = 64 * 1024 * 1024


class BashEventSortOrder(StrEnum):
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_DESC = "TIMESTAMP_DESC"


class BashEventPage(BaseModel):
    items: list[BashCommand | BashOutput]
    next_page_id: str | None = None


Filter = Callable[[BashCommand | BashOutput], bool]


class BashEventStore:
    """A store of the events about commands that clients run (starts, output and errors), oldest first.

    The oldest events are dropped if the store contains more than MAX_EVENTS events or MAX_CHARS characters,
    or if they are older than the constructor's argument `retention_seconds`.
    """

    def __init__(self, retention_seconds: float | None = None) -> None:
        """Creates an empty store. `retention_seconds`: events older than this number of seconds are dropped;
        None means that the age of events does not matter.
        """
        self._retention = None if retention_seconds is None else timedelta(seconds=retention_seconds)
        self._events: dict[str, BashCommand | BashOutput] = {}
        self._chars = 0
        self._subscribers: list[Callable[[str], None]] = []

    def subscribe(self, subscriber: Callable[[str], None]) -> Callable[[], None]:
        """Calls the function `subscriber` with each event that is added from now on, as JSON. `subscriber`
        must return quickly.

        Returns a function that ends the subscription.
        """
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def all(self) -> list[BashCommand | BashOutput]:
        self._drop_old()
        return list(self._events.values())

    def add(self, event: BashCommand | BashOutput) -> None:
        self._events[event.id] = event
        self._chars += _size(event)
        while len(self._events) > MAX_EVENTS or (self._chars > MAX_CHARS and len(self._events) > 1):
            self._drop_first()
        self._drop_old()
        if self._subscribers:
            text = to_json(event)
            for subscriber in tuple(self._subscribers):
                subscriber(text)

    def get(self, event_id: str) -> BashCommand | BashOutput | None:
        self._drop_old()
        return self._events.get(event_id)

    def clear(self) -> int:
        """Removes all events from the store. Returns the number of removed events."""
        count = len(self._events)
        self._events.clear()
        self._chars = 0
        return count

    def search(
        self, matches: Filter, *, sort_order: BashEventSortOrder, page_id: str | None, limit: int
    ) -> BashEventPage:
        """Returns a page of at most `limit` events for which the function `matches` returns True. The page
        begins at the event with the id `page_id`; None means the first event in the order `sort_order`.
        """
        self._drop_old()
        items: list[BashCommand | BashOutput] = []
        for event in self._from(page_id, sort_order):
            if not matches(event):
                continue
            if len(items) == limit:
                return BashEventPage(items=items, next_page_id=event.id)
            items.append(event)
        return BashEventPage(items=items)

    def _drop_old(self) -> None:
        if self._retention is None:
            return
        oldest_kept = datetime.now(UTC) - self._retention
        while self._events and next(iter(self._events.values())).timestamp < oldest_kept:
            self._drop_first()

    def _drop_first(self) -> None:
        self._chars -= _size(self._events.pop(next(iter(self._events))))

    def _from(
        self, page_id: str | None, sort_order: BashEventSortOrder
    ) -> Iterator[BashCommand | BashOutput]:
        ids = iter(self._events if sort_order is BashEventSortOrder.TIMESTAMP else reversed(self._events))
        is_reached = page_id is None
        for event_id in ids:
            is_reached = is_reached or event_id == page_id
            if is_reached:
                yield self._events[event_id]


def to_json(event: BashCommand | BashOutput | BashError) -> str:
    """Encodes the event as JSON without null fields, as it is sent over a WebSocket."""
    return event.model_dump_json(exclude_none=True)


def _size(event: BashCommand | BashOutput) -> int:
    if isinstance(event, BashCommand):
        return len(event.command)
    return len(event.stdout or "") + len(event.stderr or "")
