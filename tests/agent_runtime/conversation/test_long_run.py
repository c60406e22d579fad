"""The thousandth step costs what the tenth did."""

import sys
from collections import Counter
from typing import Self

from agent_runtime.conversation.conversation import Conversation
from tests.agent_runtime.conversation.conftest import Conversations, events_of, of_kind, user
from tests.agent_runtime.conversation.labour import agent_requests, assert_pairs, condensing, working
from tests.support.scripted_llm import ScriptedLLM

STEPS = 400
QUARTER = STEPS // 4


class Work:
    """Counts the calls of Python functions per request of the model: work, whatever the machine's load."""

    def __init__(self, conversation: Conversation) -> None:
        self.per_step: Counter[int] = Counter()
        self._step = 0
        conversation.subscribe(self._hear)

    def _hear(self, frame) -> None:
        if frame.event and b'"kind":"ActionEvent"' in frame.event:
            self._step += 1

    def __enter__(self) -> Self:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _count(self, frame, event: str, _: object) -> None:
        if event == "call" and "agent_runtime" in frame.f_code.co_filename:
            self.per_step[self._step] += 1

    def of(self, first: int) -> int:
        """Calls in the quarter that begins with that step."""
        return sum(self.per_step[step] for step in range(first, first + QUARTER))


async def test_a_long_run_does_the_same_work_per_step_from_beginning_to_end(
    conversations: Conversations, scripted_llm: ScriptedLLM
):
    scripted_llm.fallback = working(STEPS)
    conversation = conversations.create(
        agent=condensing(conversations, max_size=40), llm={"stream": False}, max_iterations=STEPS + 10
    )
    conversation.send(user("Work."))

    with Work(conversation) as work:
        await conversation.run()

    asked = agent_requests(scripted_llm)
    assert conversation.status == "finished"
    assert work.of(3 * QUARTER) < 1.25 * work.of(QUARTER)
    assert max(len(request.messages) for request in asked) <= 42
    for request in asked:
        assert_pairs(request.messages)
    assert len(of_kind(conversation, "ObservationEvent")) == STEPS + 1
    assert [record.seq for record in conversation.log.records()] == list(
        range(1, len(events_of(conversation)) + 1)
    )
