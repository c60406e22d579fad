"""In a long run, a late step costs as much work and memory as an early one."""

import resource
import sys
from collections import Counter
from pathlib import Path
from typing import Self

import pytest

from agent_runtime.conversation.conversation import ConversationEngine
from tests.agent_runtime.conversation.conftest import Conversations, events_of, of_kind, user
from tests.agent_runtime.conversation.labour import asks_for_summary, assert_pairs, condensing, working
from tests.support.scripted_llm import Request, ScriptedLLM, Turn

STEPS = 2_000
# The window covers several condensations, so that EARLY and LATE contain the same share of them.
WINDOW = 200
EARLY, LATE = range(100, 100 + WINDOW), range(STEPS - WINDOW - 10, STEPS - 10)
# From this step on, caches and pools are full.
SETTLED = 500
GROWTH = 1.05
GROWTH_BYTES = 6 * 1024 * 1024
MEMORY = Path("/proc/self/statm")


class Work:
    """Measures what each step of a run costs, in numbers that do not depend on the load of the machine.

    The fields hold one number for each step. calls: calls of Python and C functions in the thread of the
    event loop. written: bytes of events. asked: bytes of requests to the model. resident: bytes of memory of
    the process.
    """

    def __init__(self, conversation: ConversationEngine, llm: ScriptedLLM) -> None:
        self.calls: Counter[int] = Counter()
        self.written: Counter[int] = Counter()
        self.asked: Counter[int] = Counter()
        self.resident: list[int] = []
        self.most_messages = 0
        self._answer = working(STEPS)
        self._llm = llm
        llm.fallback = self._reply
        conversation.subscribe(self._hear)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    @property
    def _step(self) -> int:
        return len(self.resident)

    def _reply(self, request: Request) -> Turn:
        self.asked[self._step] += len(str(request.body))
        if not asks_for_summary(request):
            self.most_messages = max(self.most_messages, len(request.messages))
            assert_pairs(request.messages)
        # The requests that the scripted model keeps must not count as memory of the conversation.
        del self._llm.requests[:-1]
        return self._answer(request)

    def _hear(self, frame) -> None:
        if frame.event is None:
            return
        self.written[self._step] += len(frame.event)
        if b'"kind":"ActionEvent"' in frame.event:
            self.resident.append(resident_bytes())
            is_counted = self._step in EARLY or self._step in LATE
            sys.setprofile(self._count if is_counted else None)

    def _count(self, _frame, event: str, _argument: object) -> None:
        if event in {"call", "c_call"}:
            self.calls[self._step] += 1


def resident_bytes() -> int:
    pages = MEMORY.read_text().split()[1]
    return int(pages) * resource.getpagesize()


def growth(per_step: Counter[int]) -> float:
    """Returns the cost of the late steps divided by the cost of the early steps."""
    return sum(per_step[step] for step in LATE) / sum(per_step[step] for step in EARLY)


@pytest.mark.skipif(not MEMORY.exists(), reason="memory is read from /proc")
async def test_a_long_run_does_the_same_work_per_step_in_the_same_memory_from_beginning_to_end(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    conversation = conversations.create(
        agent=condensing(conversations, max_size=40), llm={"stream": False}, max_iterations=STEPS + 10
    )
    conversation.send(user("Work."))

    with Work(conversation, scripted_llm) as work:
        await conversation.run()

    assert conversation.status == "finished"
    assert [growth(cost) < GROWTH for cost in (work.calls, work.written, work.asked)] == [True] * 3, (
        growth(work.calls),
        growth(work.written),
        growth(work.asked),
    )
    assert work.resident[-1] - work.resident[SETTLED] < GROWTH_BYTES
    assert work.most_messages <= 42
    assert len(of_kind(conversation, "ObservationEvent")) == STEPS + 1
    assert [record.seq for record in conversation.log.records()] == list(
        range(1, len(events_of(conversation)) + 1)
    )
