"""A condensation replaces old events by a summary in what the model sees. Tests of which
events it replaces.
"""

from hypothesis import given
from hypothesis import strategies as st

from agent_runtime.context.condense import LLMSummarizingCondenser, plan
from agent_runtime.context.view import Passage
from agent_runtime.llm.config import LLM

sizes = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5_000)), min_size=1, max_size=60)


def passages(drawn: list[tuple[int, int]]) -> list[Passage]:
    """Returns one Passage (messages that must stay together) for each pair. A pair is a number of events and
    of tokens.
    """
    return [
        Passage(tuple(f"{index}-{n}" for n in range(events)), (b"{}",), tokens)
        for index, (events, tokens) in enumerate(drawn)
    ]


@given(sizes, st.integers(4, 60), st.none() | st.integers(10, 50_000), st.integers(0, 5), st.booleans())
def test_beginning_and_end_stay_nothing_is_parted_and_something_is_won(
    drawn: list[tuple[int, int]], max_size: int, max_tokens: int | None, keep_first: int, is_requested: bool
):
    seen = passages(drawn)
    condenser = LLMSummarizingCondenser(
        llm=LLM(model="m"), max_size=max_size, max_tokens=max_tokens, keep_first=keep_first
    )
    total_tokens = sum(passage.tokens for passage in seen)

    found = plan(seen, condenser, context_tokens=total_tokens, is_requested=is_requested)

    if found is None:
        return
    first, last = seen.index(found.forgotten[0]), seen.index(found.forgotten[-1])
    forgotten_events = sum(len(passage.event_ids) for passage in found.forgotten)
    assert list(found.forgotten) == seen[first : last + 1]
    assert found.offset == sum(len(passage.event_ids) for passage in seen[:first])
    assert found.offset >= keep_first
    assert last < len(seen) - 1
    assert forgotten_events >= 2


@given(sizes, st.integers(4, 60))
def test_a_view_within_its_limits_is_left_alone(drawn: list[tuple[int, int]], max_size: int):
    seen = passages(drawn)
    condenser = LLMSummarizingCondenser(llm=LLM(model="m"), max_size=max_size)
    events = sum(len(passage.event_ids) for passage in seen)

    found = plan(seen, condenser, context_tokens=10, window_tokens=1_000)

    assert found is None or events > max_size


def test_a_nearly_full_window_is_condensed_before_it_overflows():
    condenser = LLMSummarizingCondenser(llm=LLM(model="m"))
    seen = passages([(1, 100)] * 20)

    assert plan(seen, condenser, context_tokens=7_900, window_tokens=10_000) is None
    assert plan(seen, condenser, context_tokens=8_100, window_tokens=10_000) is not None


def test_events_alone_are_no_reason_where_the_window_is_known():
    seen = passages([(2, 10)] * 500)
    plain, chosen = (
        LLMSummarizingCondenser(llm=LLM(model="m")),
        LLMSummarizingCondenser(llm=LLM(model="m"), max_size=100),
    )

    assert plan(seen, plain, context_tokens=5_000, window_tokens=100_000) is None
    assert plan(seen, chosen, context_tokens=5_000, window_tokens=100_000) is not None
    assert plan(seen, plain, context_tokens=5_000) is not None


def test_the_system_prompt_stays_whatever_is_kept_at_the_beginning():
    system = Passage(("s",), (b'{"role":"system","content":"You."}',), 10)
    condenser = LLMSummarizingCondenser(llm=LLM(model="m"), keep_first=0)

    found = plan([system, *passages([(2, 10)] * 20)], condenser, context_tokens=400, is_requested=True)

    assert found is not None
    assert (found.offset, "s" in found.forgotten[0].event_ids) == (1, False)
