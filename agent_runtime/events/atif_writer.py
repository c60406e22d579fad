"""Converts events to the Agent Trajectory Interchange Format (ATIF), version 1.7, piece by piece.

https://github.com/laude-institute/harbor/blob/main/docs/rfcs/0001-trajectory-format.md
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from agent_runtime.events.action import ActionEvent
from agent_runtime.events.condensation import Condensation
from agent_runtime.events.errors import ConversationErrorEvent
from agent_runtime.events.message import MessageEvent, SystemPromptEvent
from agent_runtime.events.observation import AgentErrorEvent, ObservationEvent, UserRejectObservation
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.events.union import AnyEvent

SCHEMA_VERSION = "ATIF-v1.7"

Step = dict[str, Any]


class AtifUsage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0


class AtifMetrics(BaseModel):
    accumulated_cost: float = 0
    accumulated_token_usage: AtifUsage = AtifUsage()


class AtifStats(BaseModel):
    """The statistics in a document in the Agent Trajectory Interchange Format (ATIF): tokens and cost of each
    model.
    """

    usage_to_metrics: dict[str, AtifMetrics] = {}

    def totals(self) -> dict[str, float]:
        """Returns the number of tokens and the cost in dollars of all models together, under the field names
        of the Agent Trajectory Interchange Format (ATIF).
        """
        metrics = list(self.usage_to_metrics.values())
        usages = [one.accumulated_token_usage for one in metrics]
        return {
            "prompt_tokens": sum(one.prompt_tokens for one in usages),
            "completion_tokens": sum(one.completion_tokens for one in usages),
            "cached_tokens": sum(one.cache_read_tokens for one in usages),
            "cost_usd": sum(one.accumulated_cost for one in metrics),
        }


class AtifWriter:
    """A writer of documents in the Agent Trajectory Interchange Format (ATIF). A reply of the model, together
    with the results of the reply's tool calls, becomes one step of the document. Each message that is not a
    reply of the model becomes one step, too.

    Call `begin` first. Then call `add`, in order, for each event of the current chat and for each state
    update. If the user has returned to an earlier event, leave out the later events that no longer belong to
    the chat. Call `end` last.

    The writer holds a reply back to collect the results of its tool calls. Messages that arrive before all
    results are held back, too, and are written after the reply. The reply is written when the next reply
    begins, when a message arrives after all results, or by `end`. The writer ignores updates of `stats` (the
    token usage and cost) with an unknown shape.
    """

    def __init__(
        self, session_id: str, *, version: str, model: str | None, moment_of: Callable[[str], datetime]
    ) -> None:
        """Creates a writer of one document, which describes one conversation in the Agent Trajectory
        Interchange Format (ATIF).

        `session_id`: the conversation's id. `version`: the version of Slipway. `model`: the name of the
        agent's model; None leaves it out of the document. `moment_of`: a function that parses the timestamp
        of an event, which is a text without a time zone, and returns a time with a zone.
        """
        self._head = {
            "schema_version": SCHEMA_VERSION,
            "session_id": session_id,
            "agent": {"name": "slipway", "version": version, **({"model_name": model} if model else {})},
        }
        self._moment_of = moment_of
        self._count = 0
        self._reply: Step | None = None
        self._reply_id: str | None = None
        self._unanswered: set[str] = set()
        self._later: list[Step] = []
        self._totals = AtifStats().totals()

    def begin(self) -> bytes:
        return orjson.dumps(self._head)[:-1] + b',"steps":['

    def add(self, event: AnyEvent) -> bytes:
        """Adds one event to the ATIF document. Returns the JSON of the steps that can now be written, as the
        next part of the document; empty if there are none.
        """
        return b"".join(self._written(step) for step in self._take(event))

    def end(self) -> bytes:
        rest = b"".join(self._written(step) for step in self._rest())
        final = {f"total_{name}": value for name, value in self._totals.items()}
        return rest + b'],"final_metrics":' + orjson.dumps({**final, "total_steps": self._count}) + b"}"

    def _written(self, step: Step) -> bytes:
        self._count += 1
        return (b"," if self._count > 1 else b"") + orjson.dumps({"step_id": self._count, **step})

    def _take(self, event: AnyEvent) -> Iterator[Step]:
        match event:
            case SystemPromptEvent():
                yield from self._say(self._step(event, "system", event.system_prompt.text))
            case MessageEvent(source="agent"):
                yield from self._rest()
                reasoning = event.llm_message.reasoning_content
                self._reply = self._step(event, "agent", event.llm_message.text, reasoning_content=reasoning)
            case MessageEvent():
                source = "user" if event.source == "user" else "system"
                yield from self._say(self._step(event, source, event.llm_message.text))
            case ActionEvent():
                yield from self._call(event)
            case ObservationEvent() | AgentErrorEvent() | UserRejectObservation():
                self._answer(event.tool_call_id, _result_text(event))
            case Condensation():
                yield from self._say(
                    self._step(event, "system", f"[Older events were summed up] {event.summary or ''}")
                )
            case ConversationErrorEvent():
                yield from self._say(self._step(event, "system", f"[{event.code}] {event.detail}"))
            case ConversationStateUpdateEvent(key="stats"):
                self._measure(event.value)
            case _:
                return

    def _rest(self) -> Iterator[Step]:
        """Yields the steps that were not written yet: the reply that is held back, if there is one, and the
        messages after it.
        """
        if self._reply is not None:
            yield self._reply
        yield from self._later
        self._reply, self._reply_id, self._later = None, None, []
        self._unanswered.clear()

    def _say(self, step: Step) -> Iterator[Step]:
        if self._unanswered:
            self._later.append(step)
            return
        yield from self._rest()
        yield step

    def _call(self, event: ActionEvent) -> Iterator[Step]:
        if self._reply is None or self._reply_id != event.llm_response_id:
            yield from self._rest()
            thought = "\n".join(part.text for part in event.thought)
            self._reply = self._step(event, "agent", thought, reasoning_content=event.reasoning_content)
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

    def _measure(self, value: Any) -> None:
        try:
            now = AtifStats.model_validate(value).totals()
        except ValidationError:
            return
        if self._reply is not None and "metrics" not in self._reply:
            self._reply["metrics"] = {name: now[name] - self._totals.get(name, 0) for name in now}
        self._totals = now

    def _step(self, event: AnyEvent, source: str, message: str, **more: str | None) -> Step:
        known = {name: value for name, value in more.items() if value is not None}
        moment = self._moment_of(event.timestamp).isoformat()
        return {"timestamp": moment, "source": source, "message": message, **known}


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
