"""Records new events of a conversation in a fixed order: appends them to the log, updates the conversation's
state, then publishes the events to readers.
"""

import logging
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from agent_runtime.context.view import View
from agent_runtime.conversation.event_log import frames
from agent_runtime.conversation.event_log import list_entry as summary
from agent_runtime.conversation.event_log.fold import fold_branch, fold_log, is_navigation
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.conversation.event_log.log import EventLog, Record
from agent_runtime.conversation.event_log.masked_events import masked
from agent_runtime.conversation.event_log.state import State
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.base import Event, encode
from agent_runtime.events.message import MessageEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.events.union import AnyEvent, parse_event
from agent_runtime.secrets.masking import Masker

logger = logging.getLogger(__name__)

SNAPSHOT_EVENTS = 200
"""The number of new events after which a new snapshot of the state is saved. With fewer new events, a
snapshot saves almost no time, because the new events are read from the log in a few milliseconds.
"""
SNAPSHOT_EVENTS_WHILE_RUNNING = 1_000
"""The number of new events after which a new snapshot of the state is saved during a run (work of the agent).
With this number, saving takes almost no time, and the server still loads a conversation quickly after a
crash.
"""

Subscriber = Callable[[EventFrame], None]
"""A function that is called with every published frame (a message to clients), in order. The function must
return at once and must not raise an error.
"""


class History:
    """The object that writes the event log of a conversation; no other object writes to this log. It also
    holds the state that is computed from the log.
    """

    def __init__(self, log: EventLog, usage_id: str, masker: Masker) -> None:
        """Computes the conversation's state from the events of the log. `usage_id`: the id under which the
        tokens and cost of the agent's model are counted. The caller closes the log.

        `masker`: hides secret values that must not be logged, published or shown to the model.
        """
        self._log = log
        self._masker = masker
        self._usage_id = usage_id
        self._fold = fold_log(log, usage_id, snapshot=log.get_meta("snapshot"))
        self._snapshot_seq = self.state.last_seq
        self._summary_seq = self.state.last_seq
        self._subscribers: list[Subscriber] = []

    @property
    def state(self) -> State:
        return self._fold.state

    @property
    def view(self) -> View:
        """The chat messages for the model, computed from the current log of the conversation."""
        return self._fold.view

    @property
    def context_tokens(self) -> int:
        """The estimated number of tokens in the next prompt."""
        return self._fold.context_tokens

    @property
    def window_tokens(self) -> int | None:
        """The size of the context window of the agent's model in tokens, as reported with the model's last
        reply. None if the size is not known.
        """
        return self._fold.window_tokens

    def emit(self, *events: Event, seen_seq: int | None = None) -> None:
        """Appends events to the log in one transaction, then updates the state and publishes the events.
        Drops a result if its tool call already has a result.

        `seen_seq`: for events that the model wrote, the position of the last event in the model's prompt.
        Messages after this position count as not seen by the model. None for events that the model did not
        write.
        """
        called = {event.tool_call_id for event in events if isinstance(event, ActionEvent)}
        wanted = [event for event in events if self._is_wanted(event, called)]
        if not wanted:
            return
        batch = self._to_records(wanted, seen_seq)
        self._log.append([record for _, record in batch])
        for event, record in batch:
            self._take(event, record)
        for _, record in batch:
            self.publish(frames.durable(record.seq, record.body))
        self.save_snapshot(after_events=SNAPSHOT_EVENTS_WHILE_RUNNING)

    def recent_events(self, limit: int) -> Iterator[AnyEvent]:
        """Yields the newest events of the log, at most `limit`, newest first. Reads them one by one."""
        return map(parse_event, self._log.newest(limit))

    def publish(self, frame: EventFrame) -> None:
        for subscriber in tuple(self._subscribers):
            subscriber(frame)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Calls `subscriber` with every frame (an event or another message for clients) that is published
        from now on. Returns a function that ends the subscription.
        """
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def save_snapshot(self, *, after_events: int = SNAPSHOT_EVENTS) -> None:
        """Saves a snapshot of the conversation's state and messages. When the server loads the conversation
        again, only the events after the snapshot must be read. Does nothing if the log has fewer than
        `after_events` events since the last snapshot, or while a tool call has no result.
        """
        if self._log.last_seq - self._snapshot_seq < after_events:
            return
        snapshot = self._fold.snapshot()
        if snapshot is None:
            return
        try:
            self._log.set_meta("snapshot", snapshot)
        except sqlite3.Error:
            # For example, the disk is full. Nothing is lost, because the log has everything.
            logger.warning("a snapshot cannot be written", exc_info=True)
        self._snapshot_seq = self._log.last_seq

    def save_summary(self) -> None:
        """Saves a short summary of the conversation's state in the log file, so that a list of conversations
        can show this conversation without reading all its events.
        """
        if self._summary_seq == self._log.last_seq:
            return
        try:
            summary.save(self._log, self.state)
        except sqlite3.Error:
            # The same as for snapshots: nothing is lost.
            logger.warning("a summary cannot be written", exc_info=True)
        self._summary_seq = self._log.last_seq

    def _to_records(self, events: Sequence[Event], seen_seq: int | None) -> list[tuple[AnyEvent, Record]]:
        parent, earliest = self.state.leaf_event_id, self.state.last_timestamp
        batch: list[tuple[AnyEvent, Record]] = []
        for position, event in enumerate(events, start=self._log.last_seq + 1):
            stamped: Any = event.stamped(parent_id=parent, not_before=earliest)
            seen = seen_seq if isinstance(event, ActionEvent | MessageEvent) else None
            body = encode(stamped)
            if self._masker.is_in_json(body):
                stamped = masked(stamped, self._masker)
                body = encode(stamped)
            record = Record(position, stamped.id, stamped.kind, stamped.source, stamped.timestamp, seen, body)
            batch.append((stamped, record))
            earliest = stamped.timestamp
            if not isinstance(event, ConversationStateUpdateEvent):
                parent = stamped.id
        return batch

    def _is_wanted(self, event: Event, called: Collection[str]) -> bool:
        if isinstance(event, ObservationEvent | AgentErrorEvent | UserRejectObservation):
            return event.tool_call_id in called or self.state.is_pending(event.tool_call_id)
        return True

    def _take(self, event: AnyEvent, record: Record) -> None:
        if is_navigation(event):
            self._fold = fold_branch(self._log, self._usage_id, event.value, through_seq=record.seq)
        else:
            self._fold.take(event, seq=record.seq, seen_seq=record.seen_seq)
