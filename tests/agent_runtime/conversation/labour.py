"""A scripted model for long runs: it works for many steps and writes a summary when a
condenser asks for one.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.agent_runtime.conversation.conftest import Conversations
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, calls, say, text_of


def condenser(llm: ScriptedLLM, **fields: Any) -> dict[str, Any]:
    model = {"model": "openai/scripted-condenser", "base_url": llm.base_url, "api_key": llm.api_key}
    model |= {"retry_min_wait": 0, "retry_max_wait": 0.01}
    return {"kind": "LLMSummarizingCondenser", "llm": model, **fields}


def asks_for_summary(request: Request) -> bool:
    return request.body["model"] == "scripted-condenser"


def think(thought: str, **options: Any) -> Turn:
    """Returns a model's reply that calls the tool `think`, which changes nothing. options: fields of Turn."""
    return replace(calls(("think", {"thought": thought})), **options)


def working(steps: int, *, last: Turn | None = None, **options: Any) -> Callable[[Request], Turn]:
    """Returns a function that plays a model: it answers `steps` requests with a call of `think`, and the next
    request with `last` (None: a call of `finish`). It answers each request for a summary with a summary.
    options: fields of the replies with `think`.
    """
    made = 0

    def answer(request: Request) -> Turn:
        nonlocal made
        if asks_for_summary(request):
            return say(f"SUMMARY after {made}")
        made += 1
        if made > steps:
            return last or call("finish", message="Worked.")
        return think(f"{made} ".ljust(200, "x"), **options)

    return answer


def agent_requests(llm: ScriptedLLM) -> list[Request]:
    return [request for request in llm.requests if not asks_for_summary(request)]


def condensing(conversations: Conversations, **fields: Any) -> dict[str, Any]:
    """Returns the `agent` argument of `Conversations.create` for an agent with a condenser. fields: fields of
    the condenser.
    """
    return {"condenser": condenser(conversations.llm, **fields)}


def assert_pairs(messages: list[dict[str, Any]]) -> None:
    """Checks that each reply with tool calls is followed by exactly the results of these calls, in order, and
    that there are no other results.
    """
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert waiting == []
        waiting = [one["id"] for one in message.get("tool_calls") or []]
    assert waiting == []


def texts(request: Request) -> list[str]:
    return [text_of(message) for message in request.messages]
