"""Measures the cost of a long conversation: `python -m benchmarks.long_run [STEPS]`, 2,000 steps by default.

The model is scripted and local. So almost all of the time is used by the agent runtime. For each quarter of
the run, prints the CPU milliseconds per step (of the whole process, including the scripted model) and the
number of messages per prompt. Then prints how long it takes to open the conversation from its snapshot, and
to compute its state from all events.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.creation import create_conversation, open_conversation
from agent_runtime.conversation.event_log.fold import fold_log
from agent_runtime.conversation.event_log.frames import EventFrame
from agent_runtime.events.message import Message
from agent_runtime.llm.complete import LLMClient
from agent_runtime.wire import StartConversationRequest
from tests.agent_runtime.conversation.labour import agent_requests, assert_pairs, condenser, working
from tests.support.scripted_llm import ScriptedLLM

DEFAULT_STEPS = 2_000

T = TypeVar("T")


def main(steps: int) -> None:
    with ScriptedLLM() as llm, tempfile.TemporaryDirectory() as directory:
        llm.fallback = working(steps)
        asyncio.run(_measure(Path(directory), llm, steps))


async def _measure(path: Path, llm: ScriptedLLM, steps: int) -> None:
    client = LLMClient()
    try:
        conversation = create_conversation(path / "c", _request(path, llm, steps), client)
        clock: list[float] = []
        conversation.subscribe(_stamp_replies(clock))
        conversation.send(Message.of("user", "Work."))
        await conversation.run()
        _report(conversation, llm, clock, steps)
        await conversation.close()
        milliseconds, again = _timed(lambda: open_conversation(path / "c", client))
        print(f"opened from its snapshot in {milliseconds:.1f} ms")
        milliseconds, whole = _timed(lambda: fold_log(again.log, "agent"))
        print(f"folded from all {again.log.last_seq} events in {milliseconds:.1f} ms")
        assert (whole.state, whole.view.run_context.model_input.messages()) == (again.state, again.messages())
        await again.close()
    finally:
        await client.close()


def _request(path: Path, llm: ScriptedLLM, steps: int) -> StartConversationRequest:
    model = {"model": "openai/scripted", "base_url": llm.base_url, "api_key": llm.api_key}
    agent: dict[str, Any] = {"kind": "Agent", "llm": model, "tools": [], "condenser": condenser(llm)}
    body = {"agent": agent, "workspace": {"working_dir": str(path / "w")}, "max_iterations": steps + 10}
    return StartConversationRequest.model_validate(body)


def _stamp_replies(clock: list[float]) -> Callable[[EventFrame], None]:
    def stamp(frame: EventFrame) -> None:
        if frame.event is not None and b'"kind":"ActionEvent"' in frame.event:
            clock.append(time.process_time())

    return stamp


def _report(conversation: ConversationEngine, llm: ScriptedLLM, clock: list[float], steps: int) -> None:
    prompts = agent_requests(llm)
    quarter = steps // 4
    for first in range(0, 4 * quarter, quarter):
        milliseconds = 1000 * (clock[first + quarter - 1] - clock[first]) / (quarter - 1)
        messages = sum(len(prompt.messages) for prompt in prompts[first : first + quarter]) / quarter
        print(
            f"steps {first + 1:>5}-{first + quarter:<5} {milliseconds:6.2f} ms/step {messages:6.1f} messages"
        )
    for prompt in prompts:
        assert_pairs(prompt.messages)
    assert conversation.log.last_seq == sum(1 for _ in conversation.log.records())
    made = len(llm.requests) - len(prompts)
    print(f"{made} condensations, {conversation.log.last_seq} events, no pair parted")


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = work()
    return 1000 * (time.perf_counter() - started), result


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_STEPS)
