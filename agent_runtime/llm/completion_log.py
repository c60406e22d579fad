"""Makes logs of requests to models and the models' replies, in the format that clients of the agent server
expect.
"""

import re
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import uuid4

import orjson

from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import Prompt, Reply

_SETTINGS = (
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning_effort",
    "thinking_budget",
    "stop",
    "stream",
)


@dataclass(frozen=True)
class CompletionLog:
    """The log of one model call. `filename`: the name of the log file, without a folder. The settings of the
    model contain the folder.
    """

    llm: LLM
    filename: str
    body: dict[str, Any]


OnLog = Callable[[CompletionLog], None]
"""The type of a function that is called with the log of a model call."""


class CompletionLogger:
    """An object that logs one model call. Create it when the call begins, because the log contains the
    duration of the call. The call is logged only if logging is turned on in the settings of the model.

    `llm`: the configured model; a route or a fallback may let another model reply in its place. `on_log`: a
    function that is called with the log; None means that nothing is logged.
    """

    def __init__(self, llm: LLM, prompt: Prompt, on_log: OnLog | None) -> None:
        self._llm = llm
        self._prompt = prompt
        self._on_log = on_log
        self._began = time.time()

    def failed(self, error: LLMError) -> None:
        """Logs that the call has failed for good: no model is asked again. `error`: why it failed."""
        if self._on_log is not None and self._llm.log_completions:
            self._on_log(_failed(self._llm, self._prompt, error, self._began))

    def replied(self, reply: Reply) -> None:
        """Logs the model's reply to the call, if logging is turned on for the model that has replied."""
        answered_by = reply.answered_by or self._llm
        if self._on_log is not None and answered_by.log_completions:
            self._on_log(_answered(answered_by, self._prompt, reply, self._began))


def _answered(llm: LLM, prompt: Prompt, reply: Reply, began: float) -> CompletionLog:
    usage = asdict(reply.usage)
    cost = usage.pop("cost") or 0.0
    body = {**_asked(llm, prompt, began), "response": _response(llm, reply), "cost": cost}
    return CompletionLog(llm, _filename(llm, ""), {**body, "usage_summary": usage})


def _failed(llm: LLM, prompt: Prompt, error: LLMError, began: float) -> CompletionLog:
    found = {
        "type": type(error).__name__,
        "message": str(error),
        "repr": repr(error),
        "traceback": "".join(traceback.format_exception(error)),
    }
    return CompletionLog(
        llm, _filename(llm, "-error"), {**_asked(llm, prompt, began), "error": found, "cost": 0.0}
    )


def _asked(llm: LLM, prompt: Prompt, began: float) -> dict[str, Any]:
    now = time.time()
    return {
        "messages": [orjson.loads(message) for message in prompt.messages],
        "tools": list(prompt.tools) or None,
        "kwargs": {name: getattr(llm, name) for name in _SETTINGS if getattr(llm, name) is not None},
        "context_window": llm.max_input_tokens or 0,
        "timestamp": now,
        "latency_sec": now - began,
    }


def _response(llm: LLM, reply: Reply) -> dict[str, Any]:
    """Returns the reply in the form of a chat completion, even if the model uses another protocol."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reply.tool_calls
    ]
    said = {
        "role": "assistant",
        "content": reply.text,
        "reasoning_content": reply.reasoning or None,
        "tool_calls": calls or None,
    }
    ending = "length" if reply.was_cut else "tool_calls" if calls else "stop"
    return {
        "id": reply.id,
        "object": "chat.completion",
        "model": llm.model,
        "choices": [{"index": 0, "finish_reason": ending, "message": said}],
    }


def _filename(llm: LLM, ending: str) -> str:
    model = re.sub(r"[^A-Za-z0-9._-]", "_", llm.model.replace("/", "__"))[:100]
    return f"{model}-{time.time():.3f}-{uuid4().hex[:4]}{ending}.json"
