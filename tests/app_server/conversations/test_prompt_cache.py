"""Tests of the report on a vendor's prompt cache: its hit rate in a conversation, and the likely cause when
the rate falls.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app_server.conversations.log.projection import Projection, fold
from app_server.conversations.log.prompt_cache import cache_statistics
from tests.app_server.conversations.conftest import Home
from tests.app_server.conversations.feeds import Feed, feed_of, state_update

SONNET = "anthropic/claude-sonnet-4-5"


class Calls:
    """Makes the usage events of model calls. Each event has the sums of tokens until then, as the agent
    engine logs them.
    """

    def __init__(self, *, model: str = SONNET) -> None:
        self.model = model
        self.prompt = self.read = self.written = 0

    def next(self, prompt: int, read: int, written: int = 0, *, minute: int = 0) -> dict[str, Any]:
        self.prompt, self.read, self.written = (
            self.prompt + prompt,
            self.read + read,
            self.written + written,
        )
        tokens = {
            "model": self.model,
            "prompt_tokens": self.prompt,
            "cache_read_tokens": self.read,
            "cache_write_tokens": self.written,
            "per_turn_token": prompt + 10,
        }
        agent = {"model_name": self.model, "accumulated_cost": 0.1, "accumulated_token_usage": tokens}
        return {**change("stats", {"usage_to_metrics": {"agent": agent}}), "timestamp": at(minute)}


def change(key: str, value: Any) -> dict[str, Any]:
    return {
        "kind": "ConversationStateUpdateEvent",
        "source": "environment",
        "timestamp": at(0),
        "key": key,
        "value": value,
    }


def at(minute: int) -> str:
    return f"2026-11-20T10:{minute:02}:00.000000"


def after(*events: dict[str, Any]) -> dict[str, Any] | None:
    state = Projection()
    for seq, event in enumerate(events, 1):
        state = fold(state, seq, event)
    cache = cache_statistics(state.metrics)
    return cache.model_dump(mode="json") if cache else None


def test_a_cache_that_serves_every_call_is_shown_without_a_warning() -> None:
    calls = Calls()
    events = [calls.next(10_000, 0, 10_000), calls.next(12_000, 10_000, 2_000)]
    assert after(*events[:1]) is None
    assert after(*events) == {"calls": 2, "hit_rate": 0.4545, "misses": 0, "cause": None}
    events += [calls.next(12_000, 11_400) for _ in range(12)]
    assert after(*events) == {"calls": 10, "hit_rate": 0.95, "misses": 0, "cause": None}


CAUSES: list[tuple[str, dict[str, Any] | None, int]] = [
    ("condensed", {"kind": "Condensation", "source": "environment", "forgotten_event_ids": []}, 0),
    ("tools_changed", change("agent_state", {"mcp_servers": {}}), 0),
    ("tools_changed", change("security_analyzer", None), 0),
    ("agent_changed", change("agent", {"llm": {"model": SONNET}}), 0),
    ("went_back", change("leaf_event_id", "e"), 0),
    ("expired", None, 5),
    ("unknown", None, 4),
]


@pytest.mark.parametrize(("cause", "event", "minute"), CAUSES, ids=lambda value: str(value)[:24])
@pytest.mark.parametrize("tells_of_writing", [True, False])
def test_a_miss_names_what_the_log_shows_before_it(
    cause: str, event: dict[str, Any] | None, minute: int, tells_of_writing: bool
) -> None:
    calls, written = Calls(), 10_000 if tells_of_writing else 0
    # The third call reads few tokens from the cache, as only the system prompt is the same.
    events = [
        calls.next(10_000, 0, written),
        calls.next(10_000, 9_900),
        *([event] if event else []),
        calls.next(10_000, 1_000, minute=minute),
    ]
    assert after(*events) == {"calls": 3, "hit_rate": 0.3633, "misses": 1, "cause": cause}
    events += [calls.next(10_000, 10_000, minute=minute) for _ in range(9)]
    assert after(*events) == {"calls": 10, "hit_rate": 0.91, "misses": 1, "cause": cause}
    events.append(calls.next(10_000, 10_000, minute=minute))
    assert after(*events) == {"calls": 10, "hit_rate": 1.0, "misses": 0, "cause": None}


def test_each_call_that_misses_again_counts() -> None:
    calls = Calls()
    events = [calls.next(10_000, 0), calls.next(10_000, 9_000), *(calls.next(10_000, 0) for _ in range(3))]
    assert after(*events) == {"calls": 5, "hit_rate": 0.18, "misses": 3, "cause": "unknown"}


def test_another_model_starts_with_an_empty_cache() -> None:
    calls = Calls()
    events = [calls.next(10_000, 0), calls.next(10_000, 9_000)]
    calls.model = "openai/gpt-5"
    events += [change("agent", {"llm": {"model": calls.model}}), calls.next(10_000, 0)]
    events += [calls.next(10_000, 0) for _ in range(3)]
    # If a vendor never reports cached tokens, the later calls do not count as misses.
    assert after(*events) == {"calls": 6, "hit_rate": 0.15, "misses": 1, "cause": "model_changed"}


def test_short_prompts_and_vendors_without_a_cache_show_nothing() -> None:
    calls = Calls()
    assert after(*(calls.next(50_000, 0) for _ in range(4))) is None
    calls = Calls()
    short = after(calls.next(1_500, 0, 1_500), calls.next(1_500, 0))
    assert short is not None
    assert short["misses"] == 0


def test_a_copy_begins_with_a_sum_that_is_no_call() -> None:
    calls = Calls()
    calls.prompt, calls.read = 900_000, 800_000
    events = [calls.next(10_000, 9_000), calls.next(10_000, 9_000), calls.next(10_000, 9_000)]
    assert after(*events) == {"calls": 2, "hit_rate": 0.9, "misses": 0, "cause": None}


@pytest.mark.parametrize("value", [None, "x", -1, 10**400, {"a": 1}, True, float("nan")])
def test_no_value_of_a_sandbox_breaks_the_fold(value: Any) -> None:
    calls = Calls()
    broken = calls.next(10_000, 5_000)
    names = ("model", "prompt_tokens", "cache_read_tokens", "per_turn_token")
    tokens = broken["value"]["usage_to_metrics"]["agent"]["accumulated_token_usage"]
    tokens.update(dict.fromkeys(names, value))
    after(calls.next(10_000, 9_000), {**broken, "timestamp": value}, calls.next(10_000, 9_000))


@pytest.fixture
async def feed(home: Home) -> AsyncIterator[Feed]:
    async with feed_of(home) as made:
        yield made


async def test_the_conversation_shows_the_rate_and_the_cause(feed: Feed) -> None:
    calls = Calls()
    url = f"/api/v1/app-conversations?ids={feed.id}"
    events = [calls.next(10_000, 0, 10_000), calls.next(10_000, 9_000), calls.next(10_000, 0)]

    frames = [state_update(seq, "stats", event["value"]) for seq, event in enumerate(events, 1)]
    await feed.report(frames[0])
    assert (await feed.home.client.get(url)).json()[0]["prompt_cache"] is None
    await feed.report(*frames[1:])

    shown_now = (await feed.home.client.get(url)).json()[0]
    assert shown_now["prompt_cache"] == {"calls": 3, "hit_rate": 0.3, "misses": 1, "cause": "unknown"}
    assert "prompt_cache" not in shown_now["metrics"]
