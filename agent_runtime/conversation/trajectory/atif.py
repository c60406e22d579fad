"""Exports a conversation in the Agent Trajectory Interchange Format, version 1.7, piece by piece.

https://github.com/laude-institute/harbor/blob/main/docs/rfcs/0001-trajectory-format.md
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from agent_runtime.conversation.event_log.list_entry import read_info
from agent_runtime.conversation.event_log.log import reading
from agent_runtime.conversation.info import to_utc
from agent_runtime.events.action import ActionEvent
from agent_runtime.events.condensation import Condensation
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.message import MessageEvent, SystemPromptEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.events.union import AnyEvent, parse_event
from agent_runtime.version import VERSION

SCHEMA_VERSION = "ATIF-v1.7"
_COUNTED = {
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "cached_tokens": "cache_read_tokens",
}

Step = dict[str, Any]


def atif_chunks(directory: Path) -> Iterator[bytes]:
    """Yields the document piece by piece, for the conversation's current branch. Raises LogMissingError."""
    info = read_info(directory)
    model = info.agent["llm"]["model"]
    head = {
        "schema_version": SCHEMA_VERSION,
        "session_id": str(info.id),
        "agent": {"name": "slipway", "version": VERSION, "model_name": model},
    }
    yield orjson.dumps(head)[:-1] + b',"steps":['
    count = 0
    with reading(directory) as log:
        records = log.branch(info.leaf_event_id, through_seq=log.last_seq)
        for step in _steps(parse_event(record.body) for record in records):
            count += 1
            yield (b"," if count > 1 else b"") + orjson.dumps({"step_id": count, **step})
    final = {**_prefixed(_totals(info.stats)), "total_steps": count}
    yield b'],"final_metrics":' + orjson.dumps(final) + b"}"


def _steps(events: Iterable[AnyEvent]) -> Iterator[Step]:
    """Yields one step per reply of the model, with the results of its calls, and one per message."""
    builder = _Builder()
    for event in events:
        yield from builder.take(event)
    yield from builder.rest()


class _Builder:
    """Builds the steps. Holds a reply back until its calls are answered; messages that arrive meanwhile come
    after it.
    """

    def __init__(self) -> None:
        self._reply: Step | None = None
        self._reply_id: str | None = None
        self._unanswered: set[str] = set()
        self._later: list[Step] = []
        self._totals: dict[str, float] = {}

    def take(self, event: AnyEvent) -> Iterator[Step]:
        match event:
            case SystemPromptEvent():
                yield from self._say(_step(event, "system", event.system_prompt.text))
            case MessageEvent(source="agent"):
                yield from self.rest()
                reasoning = event.llm_message.reasoning_content
                self._reply = _step(event, "agent", event.llm_message.text, reasoning_content=reasoning)
            case MessageEvent():
                source = "user" if event.source == "user" else "system"
                yield from self._say(_step(event, source, event.llm_message.text))
            case ActionEvent():
                yield from self._call(event)
            case ObservationEvent() | AgentErrorEvent() | UserRejectObservation():
                self._answer(event.tool_call_id, _result_text(event))
            case Condensation():
                yield from self._say(
                    _step(event, "system", f"[Older events were summed up] {event.summary or ''}")
                )
            case ConversationErrorEvent():
                yield from self._say(_step(event, "system", f"[{event.code}] {event.detail}"))
            case ConversationStateUpdateEvent(key="stats"):
                self._measure(event.value)
            case _:
                return

    def rest(self) -> Iterator[Step]:
        """Yields the steps that were held back."""
        if self._reply is not None:
            yield self._reply
        yield from self._later
        self._reply, self._reply_id, self._later = None, None, []
        self._unanswered.clear()

    def _say(self, step: Step) -> Iterator[Step]:
        if self._unanswered:
            self._later.append(step)
            return
        yield from self.rest()
        yield step

    def _call(self, event: ActionEvent) -> Iterator[Step]:
        if self._reply is None or self._reply_id != event.llm_response_id:
            yield from self.rest()
            thought = "\n".join(part.text for part in event.thought)
            self._reply = _step(event, "agent", thought, reasoning_content=event.reasoning_content)
            self._reply |= {"tool_calls": [], "observation": {"results": []}}
            self._reply_id = event.llm_response_id
        self._unanswered.add(event.tool_call_id)
        self._reply["tool_calls"].append(
            {
                "tool_call_id": event.tool_call_id,
                "function_name": event.tool_call.name,
                "arguments": _arguments(event.tool_call.arguments),
            }
        )

    def _answer(self, call_id: str, text: str) -> None:
        if self._reply is None or call_id not in self._unanswered:
            return
        self._unanswered.discard(call_id)
        self._reply["observation"]["results"].append({"source_call_id": call_id, "content": text})

    def _measure(self, stats: dict[str, Any]) -> None:
        now = _totals(stats)
        if self._reply is not None and "metrics" not in self._reply:
            self._reply["metrics"] = {name: now[name] - self._totals.get(name, 0) for name in now}
        self._totals = now


def _step(event: AnyEvent, source: str, message: str, **more: str | None) -> Step:
    known = {name: value for name, value in more.items() if value is not None}
    return {"timestamp": to_utc(event.timestamp).isoformat(), "source": source, "message": message, **known}


def _result_text(event: ObservationEvent | AgentErrorEvent | UserRejectObservation) -> str:
    match event:
        case AgentErrorEvent():
            return event.error
        case UserRejectObservation():
            return f"Action rejected: {event.rejection_reason}"
        case _:
            parts = event.observation.get("content") or []
            return "\n".join(part.get("text", f"[{part.get('type')}]") for part in parts)


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = orjson.loads(text)
    except orjson.JSONDecodeError:
        arguments = text
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


def _totals(stats: dict[str, Any]) -> dict[str, float]:
    metrics = list(stats["usage_to_metrics"].values())
    counted = {
        name: sum(one["accumulated_token_usage"][ours] for one in metrics) for name, ours in _COUNTED.items()
    }
    return {**counted, "cost_usd": sum(one["accumulated_cost"] for one in metrics)}


def _prefixed(totals: dict[str, float]) -> dict[str, float]:
    return {f"total_{name}": value for name, value in totals.items()}
