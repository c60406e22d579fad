"""Computes the state of a conversation and the messages for its model from the events of its log."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TypeGuard

import orjson
from pydantic import TypeAdapter

from agent_runtime.context.view import Passage, View
from agent_runtime.conversation.event_log.log import LogReader, Record
from agent_runtime.conversation.event_log.state import LEAF, State, after
from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.events.union import AnyEvent, parse_event

logger = logging.getLogger(__name__)

_VERSION = 8
"""The version of the stored snapshots. A developer must increase this number when a change of the code makes
the class Fold compute a different state or different messages from the same events. Snapshots with an earlier
version are not used.
"""

_FORMAT = [_VERSION, *(one.name for one in fields(State))]
_STATE: TypeAdapter[State] = TypeAdapter(State)


@dataclass(frozen=True)
class _Measure:
    """Two measurements of the last prompt that was sent to the model together with the reply, in tokens. The
    size of the next prompt is computed from them. `counted`: the number that the model's vendor reported.
    `rough`: the number that Slipway has estimated for the messages in the view at that time.
    """

    counted: int = 0
    rough: int = 0


class Fold:
    """An object that computes the state of a conversation, and the messages for its model, from the records
    (stored events) of its log. The records must be added in order. If the computation starts from a saved
    snapshot of the state, the result is the same as if it starts from the beginning of the log.
    """

    def __init__(self, usage_id: str) -> None:
        """Creates a Fold (the state and messages of a conversation) for an empty log. `usage_id`: the id
        under which the tokens and cost of the agent's model are counted.
        """
        self.state = State()
        self.view = View()
        self._usage_id = usage_id
        self._measure = _Measure()

    @property
    def context_tokens(self) -> int:
        """The estimated number of tokens in the next prompt: the vendor's count for the last prompt, plus
        Slipway's estimate for the messages that were added since then, minus its estimate for the messages
        that were removed.
        """
        return max(self._measure.counted + self.view.tokens - self._measure.rough, 0)

    @property
    def window_tokens(self) -> int | None:
        """The size of the context window of the agent's model in tokens, as reported with the model's last
        reply. None if the size is not known.
        """
        return self._last_usage().get("context_window") or None

    def take(self, event: AnyEvent, *, seq: int, seen_seq: int | None) -> None:
        before = self._metrics()
        self.state = after(self.state, event, seen_seq, seq=seq)
        self.view.add(event, seq=seq, seen_seq=seen_seq)
        if isinstance(event, ConversationStateUpdateEvent) and event.key == "stats":
            self._calibrate(before)

    def take_records(self, records: Iterable[Record]) -> "Fold":
        for record in records:
            self.take(parse_event(record.body), seq=record.seq, seen_seq=record.seen_seq)
        return self

    def snapshot(self) -> str | None:
        """Returns the computed state and messages as a text, from which the method `restore` can create this
        object again. Returns None while a tool call has no result.
        """
        if self.state.pending:
            return None
        body = {
            "format": _FORMAT,
            "state": _STATE.dump_python(self.state, mode="json"),
            "measure": [self._measure.counted, self._measure.rough],
            "passages": [
                [
                    passage.event_ids,
                    [message.decode() for message in passage.messages],
                    passage.tokens,
                    passage.seq,
                    passage.rules,
                ]
                for passage in self.view.passages
            ],
        }
        return orjson.dumps(body).decode()

    @classmethod
    def restore(cls, snapshot: str | None, usage_id: str) -> "Fold":
        """Creates a Fold (the state and the messages of a conversation) from a text that its method
        `snapshot` has returned. Returns a Fold with the state of an empty log if `snapshot` is None or cannot
        be parsed.

        Snapshots make loading a conversation faster. They are not needed otherwise, because a Fold can also
        be computed from all events of the log.
        """
        if snapshot is None:
            return cls(usage_id)
        try:
            return cls._of_snapshot(orjson.loads(snapshot), usage_id)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            # The text of the error may quote messages, which must not be in the server's log. So only its
            # type is logged.
            logger.warning(
                "a snapshot cannot be read; the log is read instead", extra={"error": type(error).__name__}
            )
            return cls(usage_id)

    @classmethod
    def _of_snapshot(cls, body: JsonObject, usage_id: str) -> "Fold":
        fold = cls(usage_id)
        if body["format"] != _FORMAT:
            return fold
        fold.state = _STATE.validate_python(body["state"])
        fold.view = View(
            Passage(tuple(ids), tuple(message.encode() for message in messages), tokens, seq, tuple(rules))
            for ids, messages, tokens, seq, rules in body["passages"]
        )
        fold._measure = _Measure(*body["measure"])
        return fold

    def _metrics(self) -> JsonObject:
        """Returns the number of tokens and the cost of all requests to the agent's model so far. Requests to
        other models, such as the condenser's, do not count.
        """
        agent = self.state.agent
        usage_id = agent["llm"]["usage_id"] if agent else self._usage_id
        metrics: JsonObject = self.state.stats["usage_to_metrics"].get(usage_id, {})
        return metrics

    def _last_usage(self) -> JsonObject:
        usage: JsonObject = self._metrics().get("accumulated_token_usage", {})
        return usage

    def _calibrate(self, before: JsonObject) -> None:
        if self._metrics() == before:
            return
        counted = self._last_usage().get("per_turn_token", 0)
        if counted:
            self._measure = _Measure(counted, self.view.tokens)


def fold_log(log: LogReader, usage_id: str, *, snapshot: str | None = None) -> Fold:
    """Computes the state of a conversation and the messages for its model from the whole log. If `snapshot`
    is given, starts from this snapshot and reads only later records.
    """
    fold = Fold.restore(snapshot, usage_id)
    if fold.state.last_seq > log.last_seq:
        fold = Fold(usage_id)  # a snapshot of events that the log has lost
    for record in log.records(after_seq=fold.state.last_seq):
        event = parse_event(record.body)
        if is_navigation(event):
            fold = fold_branch(log, usage_id, event.value, through_seq=record.seq)
        else:
            fold.take(event, seq=record.seq, seen_seq=record.seen_seq)
    return fold


def fold_branch(log: LogReader, usage_id: str, leaf: str | None, *, through_seq: int) -> Fold:
    """Computes the state of a conversation and the messages for its model from the branch that ends at the
    event `leaf`. A log has several branches if the conversation was moved back to an earlier event and
    continued from there. Leaves out the events of all other branches. `leaf`: None means a branch without
    events. `through_seq`: the last position of the log to read.
    """
    return Fold(usage_id).take_records(log.branch(leaf, through_seq=through_seq))


def is_navigation(event: AnyEvent) -> TypeGuard[ConversationStateUpdateEvent]:
    return isinstance(event, ConversationStateUpdateEvent) and event.key == LEAF
