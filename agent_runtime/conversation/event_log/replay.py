"""Replays the event log of a conversation: computes again every prompt that was sent to the model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_runtime.conversation.event_log.fold import Fold, fold_branch, is_navigation
from agent_runtime.conversation.event_log.log import LogReader, Record
from agent_runtime.events.union import parse_event


@dataclass(frozen=True)
class Prompted:
    """The chat messages that were sent to the model before one of its replies, byte for byte. `event_id`: the
    id of the first event of that reply.
    """

    event_id: str
    messages: Sequence[bytes]


def replay(log: LogReader, usage_id: str) -> Iterator[Prompted]:
    """Yields each prompt that was sent to the model, in order. Sends nothing to a model, runs no tool and
    writes nothing. The result depends only on the log.

    A prompt contains only the events up to the position that the model had seen. Events that arrived while
    the model wrote its reply are left out.
    """
    fold = Fold(usage_id)
    waiting: list[Record] = []
    replied_to = 0
    for record in log.records():
        if record.seen_seq is not None and record.seen_seq > replied_to:
            replied_to = record.seen_seq
            fold, waiting = _caught_up(fold, waiting, log, usage_id, through_seq=record.seen_seq)
            yield Prompted(record.id, fold.view.messages())
        waiting.append(record)


def _caught_up(
    fold: Fold, waiting: list[Record], log: LogReader, usage_id: str, *, through_seq: int
) -> tuple[Fold, list[Record]]:
    """Adds the records in `waiting` up to the position `through_seq` to `fold`, which computes the
    conversation's state and messages. Returns the Fold to use from now on, and the records after that
    position.

    If a record moves the conversation back to an earlier event, the returned Fold is a new object. It is
    computed from the log and contains only the events that still belong to the chat.
    """
    for record in waiting:
        if record.seq > through_seq:
            continue
        event = parse_event(record.body)
        if is_navigation(event):
            fold = fold_branch(log, usage_id, event.value, through_seq=record.seq)
        else:
            fold.take(event, seq=record.seq, seen_seq=record.seen_seq)
    return fold, [record for record in waiting if record.seq > through_seq]
