"""Stores the chat messages that are sent to the model. The messages are updated with each event, and each
message is encoded as JSON only once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from agent_runtime.context import to_llm
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.condensation import Condensation
from agent_runtime.events.hook import HookExecutionEvent
from agent_runtime.events.message import MessageEvent, SystemPromptEvent
from agent_runtime.events.observation import (
    AgentErrorEvent,
    ObservationEvent,
    ToolResult,
    UserRejectObservation,
)
from agent_runtime.events.union import AnyEvent


@dataclass(frozen=True)
class Passage:
    """A group of chat messages that must stay together in the prompt, with the ids of the events from which
    the messages were made. The group is one message, or one reply of the model with all its tool calls and
    their results.

    `tokens`: the estimated number of tokens. `seq`: the position in the log of the first event in
    `event_ids`. `rules`: the path rules (instructions for certain files) in the messages; they stay in the
    prompt when a summary replaces the messages.
    """

    event_ids: tuple[str, ...]
    messages: tuple[bytes, ...]
    tokens: int
    seq: int = 0
    rules: tuple[str, ...] = ()


@dataclass
class _Exchange:
    """A reply of the model with tool calls of which at least one has no result yet. `actions`: the tool
    calls. `results`: the results so far. `messages_meanwhile`: the messages that arrived before all calls had
    results, with their positions in the log; they are placed after the results.
    """

    response_id: str
    seq: int
    seen_seq: int | None
    actions: list[ActionEvent] = field(default_factory=list)
    results: dict[str, ToolResult] = field(default_factory=dict)
    messages_meanwhile: list[tuple[MessageEvent, int]] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return all(action.tool_call_id in self.results for action in self.actions)


class View:
    """The chat messages that are sent to the model, built from the events of a log. Call `add` with the
    events in the order of the log. Call `messages` only when every tool call has a result.

    A reply is placed before the messages that arrived while the model wrote the reply. Otherwise it would
    look as if the reply answered these messages, and the prompt would end with a reply of the model. Some
    vendors refuse a prompt that ends with a reply; the models of other vendors try to complete this reply.
    """

    def __init__(self, passages: Iterable[Passage] = ()) -> None:
        """Creates a View (the chat messages that are sent to the model). `passages`: groups of chat messages
        with which the View begins, for example groups that were stored in a snapshot. They must contain the
        first events of the log, so that `add` is called only for the later events. Every tool call in them
        must have a result. By default, the View begins without messages.
        """
        self._passages: list[Passage] = list(passages)
        self._exchange: _Exchange | None = None
        self.tokens = sum(passage.tokens for passage in self._passages)
        """The estimated number of tokens of all chat messages for the model."""

    @property
    def passages(self) -> Sequence[Passage]:
        return self._passages

    def messages(self) -> Sequence[bytes]:
        """Returns the chat messages, each as JSON. Every tool call is directly followed by its result."""
        return [message for passage in self._passages for message in passage.messages]

    def add(self, event: AnyEvent, *, seq: int = 0, seen_seq: int | None = None) -> None:
        """Updates the chat messages for the model with the next event of the log. For example, a message adds
        a chat message, and a Condensation replaces chat messages by a summary. `seq`: the position of the
        event in the log.

        `seen_seq`: if the model wrote the event, the position of the last event that was in the model's
        prompt at this time. The event is placed before all messages with a later position, because the model
        had not seen them. None means that the position is not known, or that the model did not write the
        event.
        """
        match event:
            case SystemPromptEvent():
                self._put(_passage([event.id], [to_llm.system_message(event)], seq))
            case MessageEvent():
                self._add_message(event, seq, seen_seq if event.source == "agent" else None)
            case ActionEvent():
                self._add_action(event, seq, seen_seq)
            case ObservationEvent() | AgentErrorEvent() | UserRejectObservation():
                self._add_result(event)
            case HookExecutionEvent() if event.blocked and event.message_id:
                self._forget(event.message_id)
            case Condensation():
                self._condense(event, seq)
            case _:
                pass  # the model sees nothing of the rest

    def _add_message(self, event: MessageEvent, seq: int, seen_seq: int | None = None) -> None:
        if self._exchange is not None:
            self._exchange.messages_meanwhile.append((event, seq))
        else:
            self._put(_passage([event.id], [to_llm.spoken_message(event)], seq), seen_seq)

    def _add_action(self, event: ActionEvent, seq: int, seen_seq: int | None) -> None:
        if self._exchange is None:
            self._exchange = _Exchange(event.llm_response_id, seq, seen_seq)
        self._exchange.actions.append(event)

    def _add_result(self, event: ToolResult) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        exchange.results.setdefault(event.tool_call_id, event)
        if exchange.is_complete:
            self._exchange = None
            self._close(exchange)

    def _close(self, exchange: _Exchange) -> None:
        answered = [(action, exchange.results[action.tool_call_id]) for action in exchange.actions]
        answers = [message for pair in answered for message in to_llm.result_messages(*pair)]
        # All tool messages first: a user message among them would part a call from its result.
        answers.sort(key=lambda message: message["role"] != "tool")
        ids = [event.id for pair in answered for event in pair]
        rules = [rule for _, result in answered for rule in to_llm.rules_of(result)]
        messages = [to_llm.assistant_message(exchange.actions), *answers]
        self._put(_passage(ids, messages, exchange.seq, rules), exchange.seen_seq)
        for message, seq in exchange.messages_meanwhile:
            self._add_message(message, seq)

    def _forget(self, message_id: str) -> None:
        """Removes a user's message that a hook refused, so that the message is never sent to the model."""
        self._passages = [passage for passage in self._passages if passage.event_ids != (message_id,)]
        self.tokens = sum(passage.tokens for passage in self._passages)

    def _condense(self, event: Condensation, seq: int) -> None:
        forgotten = set(event.forgotten_event_ids)
        gone = [passage for passage in self._passages if forgotten.issuperset(passage.event_ids)]
        remaining = [passage for passage in self._passages if not forgotten.issuperset(passage.event_ids)]
        rules = [rule for passage in gone for rule in passage.rules]
        messages = [to_llm.summary_message(event.summary)] if event.summary is not None else []
        messages += [to_llm.rules_message(rules)] if rules else []
        if messages:
            remaining.insert(
                _index_of(event.summary_offset or 0, remaining), _passage([event.id], messages, seq, rules)
            )
        self._passages = remaining
        self.tokens = sum(passage.tokens for passage in remaining)

    def _put(self, passage: Passage, seen_seq: int | None = None) -> None:
        at = len(self._passages)
        while seen_seq is not None and at > 0 and self._passages[at - 1].seq > seen_seq:
            at -= 1
        self._passages.insert(at, passage)
        self.tokens += passage.tokens


def _index_of(offset: int, passages: Sequence[Passage]) -> int:
    """Returns the index in `passages` (groups of chat messages) at which a summary is inserted. The summary
    is inserted at the first place that has at least `offset` events before it. A passage is never split, so
    there may be more than `offset` events. If all passages together have fewer events, returns the end of the
    list.
    """
    for index, passage in enumerate(passages):
        if offset <= 0:
            return index
        offset -= len(passage.event_ids)
    return len(passages)


def _passage(
    event_ids: Iterable[str], messages: Iterable[to_llm.ChatMessage], seq: int, rules: Iterable[str] = ()
) -> Passage:
    decoded = list(messages)
    encoded = tuple(orjson.dumps(message) for message in decoded)
    tokens = sum(map(to_llm.rough_tokens, decoded, map(len, encoded)))
    return Passage(tuple(event_ids), encoded, tokens, seq, tuple(rules))
