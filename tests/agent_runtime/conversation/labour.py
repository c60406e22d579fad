"""A scripted model that works for many steps, and sums up when its condenser asks."""

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
    """A step that changes nothing. Options are fields of Turn."""
    return replace(calls(("think", {"thought": thought})), **options)


def working(steps: int, *, last: Turn | None = None, **options: Any) -> Callable[[Request], Turn]:
    """One thought per request until `steps` are made, then the last turn. Options are fields of each Turn."""
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
    """The `agent` argument of `create` for an agent with a condenser."""
    return {"condenser": condenser(conversations.llm, **fields)}


def assert_pairs(messages: list[dict[str, Any]]) -> None:
    """Each reply with calls is followed by exactly their results, and no result stands elsewhere."""
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
