"""Tests of the projection, which computes a conversation's list entry from its log: the result does not
depend on how the log is split, and no event makes the projection fail.
"""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app_server.conversations.log.projection import Projection, fold, title_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda each: st.lists(each, max_size=3)
)
EVENTS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["MessageEvent", "ConversationStateUpdateEvent", "Other"]),
        "source": st.sampled_from(["user", "agent"]),
        "key": st.sampled_from(["execution_status", "stats", "x"]) | JSON,
        "value": JSON
        | st.fixed_dictionaries({"usage_to_metrics": st.dictionaries(st.text(max_size=3), JSON, max_size=2)}),
        "llm_message": JSON | st.fixed_dictionaries({"content": JSON}),
    }
)


@given(st.lists(EVENTS, max_size=10))
def test_no_event_can_break_the_fold(events: list[dict[str, Any]]) -> None:
    state = Projection()
    for seq, event in enumerate(events, 1):
        state = fold(state, seq, event)
    assert state.last_seq == len(events)


def update(key: str, value: Any) -> dict[str, Any]:
    return {"kind": "ConversationStateUpdateEvent", "source": "environment", "key": key, "value": value}


def test_cost_is_that_of_all_models_and_the_name_that_of_the_agents() -> None:
    tokens = {"prompt_tokens": 10, "completion_tokens": 2, "context_window": 1000}
    by_usage = {
        "condenser": {"model_name": "small", "accumulated_cost": 0.5, "accumulated_token_usage": tokens},
        "agent": {"model_name": "large", "accumulated_cost": 1.0, "accumulated_token_usage": tokens},
    }

    metrics = fold(Projection(), 1, update("stats", {"usage_to_metrics": by_usage})).metrics

    assert metrics is not None
    assert (metrics["model_name"], metrics["accumulated_cost"]) == ("large", 1.5)
    assert metrics["accumulated_token_usage"]["prompt_tokens"] == 20
    assert metrics["accumulated_token_usage"]["context_window"] == 1000


@pytest.mark.parametrize(
    "value",
    [float("inf"), float("nan"), -1.0, 10**400, True, "1.5", {"a": 1}, [1], None],
    ids=lambda value: str(value)[:8],
)
def test_invalid_amounts_and_names_are_left_out(value: Any) -> None:
    tokens = {"prompt_tokens": value, "context_window": value, "model": value, "more": "x" * 1000}
    strange = {
        "model_name": value,
        "accumulated_cost": value,
        "max_budget_per_task": value,
        "accumulated_token_usage": tokens,
    }
    by_usage = {"agent": strange, "title": {"accumulated_cost": 0.5}}

    metrics = fold(Projection(), 1, update("stats", {"usage_to_metrics": by_usage})).metrics

    assert metrics is not None
    name = value if isinstance(value, str) else ""
    assert metrics == {
        "model_name": name or "default",
        "accumulated_cost": 0.5,
        "max_budget_per_task": None,
        "accumulated_token_usage": {
            "model": name,
            "context_window": 0,
            "per_turn_token": 0,
            "response_id": "",
            **dict.fromkeys(
                (
                    "prompt_tokens",
                    "completion_tokens",
                    "cache_read_tokens",
                    "cache_write_tokens",
                    "reasoning_tokens",
                ),
                0,
            ),
        },
    }


def test_an_unknown_status_changes_nothing() -> None:
    state = fold(Projection(), 1, update("execution_status", "running"))
    assert fold(state, 2, update("execution_status", "dancing")).execution_status == "running"


def test_a_title_is_the_first_line_that_says_something() -> None:
    assert title_of([{"type": "text", "text": "\n \x00 \n  Mend \t the crane \nsoon"}]) == "Mend the crane"
    assert title_of([{"type": "image", "image_urls": []}]) is None
    huge = "x" * 80 + "\n" * 20_000_000
    begun = time.process_time()
    assert title_of([{"text": huge}]) == "x" * 80
    assert time.process_time() - begun < 0.1
    long = title_of([{"text": "word " * 100}])
    assert long is not None
    assert len(long) <= 80


def test_a_goal_is_shortened_and_an_invalid_one_is_left_out() -> None:
    goal = {"objective": "x\x00" * 500, "status": "running", "iteration": 2, "max_iterations": 10**30}

    kept = fold(Projection(), 1, update("goal", goal)).goal

    assert kept is not None
    assert kept == {"objective": "x " * 100, "status": "running", "iteration": 2, "max_iterations": 0}
    assert fold(Projection(), 1, update("goal", {**goal, "status": "great"})).goal is None
    assert fold(Projection(), 1, update("goal", None)).goal is None
