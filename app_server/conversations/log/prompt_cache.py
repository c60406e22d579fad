"""Computes from the event log how well the vendor's prompt cache works for a conversation: which part of the
agent's prompts comes from the cache. Does no I/O.

A model call is a miss if it reads much less from the cache than the call before it has stored in the cache.
The likely cause of a miss is derived from the events between these two calls.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

RECENT_CALLS = 10

# Vendors cache nothing shorter than about 1,024 tokens; some need 2,048 or more.
_LEAST_TOKENS = 2048
# Anthropic keeps a cached prompt for five minutes, the other vendors keep it for about as long.
_CACHE_SECONDS = 300
_MAX_TOKENS = 10**15
_COUNTED = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens")


class MissCause(StrEnum):
    """The likely cause of a cache miss, which makes the vendor process a prompt again. `agent_changed`: the
    same model was used with another model profile (other saved options) or with an additional plugin.
    `condensed`: a summary has replaced older messages. `went_back`: the user went back to an earlier point of
    the conversation. `expired`: five minutes or more passed since the last call. `unknown`: the log shows no
    cause; probably the vendor or the model server has deleted the prompt from the cache.
    """

    MODEL_CHANGED = "model_changed"
    TOOLS_CHANGED = "tools_changed"
    AGENT_CHANGED = "agent_changed"
    CONDENSED = "condensed"
    WENT_BACK = "went_back"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


class PromptCache(BaseModel):
    """Statistics of the vendor's prompt cache for at most the last ten model calls of the agent.

    `hit_rate`: the fraction of the prompt tokens that came from the cache, from 0 to 1. `misses`: how many
    calls read much less from the cache than the call before had stored in the cache. `cause`: the likely
    cause of the last miss; null if there was no miss.
    """

    calls: int
    hit_rate: float
    misses: int
    cause: MissCause | None


def cache_statistics(metrics: Mapping[str, Any] | None) -> PromptCache | None:
    """Returns the statistics of the prompt cache in the form that Slipway's API returns. `metrics`: the
    stored metrics of a conversation. Returns None before the second model call, and if the vendor reported no
    cached tokens for the last calls.
    """
    recent = ((metrics or {}).get("prompt_cache") or {}).get("recent", ())
    causes = [call["cause"] for call in recent if call["cause"] is not None]
    is_cached = causes or any(call["read"] + call["written"] for call in recent)
    if len(recent) < 2 or not is_cached:
        return None
    read = sum(min(call["read"], call["prompt"]) for call in recent)
    return PromptCache(
        calls=len(recent),
        hit_rate=round(read / sum(call["prompt"] for call in recent), 4),
        misses=len(causes),
        cause=causes[-1] if causes else None,
    )


def change_of(event: Mapping[str, Any]) -> MissCause | None:
    """Returns why this event makes the next prompt of the agent begin differently. For example, a summary
    that replaces older messages (Condensation) gives CONDENSED. Returns None for an event that leaves the
    beginning of the prompt unchanged.

    The reason is needed to explain a cache miss: the vendor cannot use its prompt cache for a prompt with a
    changed beginning.
    """
    match event:
        case {"kind": "Condensation"}:
            return MissCause.CONDENSED
        case {"kind": "ConversationStateUpdateEvent", "key": "agent"}:
            return MissCause.AGENT_CHANGED
        case {"kind": "ConversationStateUpdateEvent", "key": "leaf_event_id"}:
            return MissCause.WENT_BACK
        case {"kind": "ConversationStateUpdateEvent", "key": "security_analyzer"}:
            return MissCause.TOOLS_CHANGED
        case {
            "kind": "ConversationStateUpdateEvent",
            "key": "agent_state",
            "value": {"mcp_servers": _} | {"mcp_changes": _},
        }:
            return MissCause.TOOLS_CHANGED
        case _:
            return None


_ORDER = (
    MissCause.TOOLS_CHANGED,
    MissCause.AGENT_CHANGED,
    MissCause.CONDENSED,
    MissCause.WENT_BACK,
)


def after_change(metrics: Mapping[str, Any] | None, cause: MissCause) -> Mapping[str, Any] | None:
    """Stores in the metrics of a conversation why the agent's next prompt begins differently, and returns the
    changed copy of the metrics. If the next model call is a miss of the prompt cache, the stored cause
    explains the miss.

    `metrics`: the stored metrics; they are returned unchanged if they contain no statistics of the prompt
    cache. `cause`: the cause from the function `change_of`. If a cause is already stored, only the cause that
    comes first in the list _ORDER is kept.
    """
    stored = (metrics or {}).get("prompt_cache")
    if metrics is None or stored is None:
        return metrics
    causes = [one for one in _ORDER if one in {cause, stored["change"]}]
    return {**metrics, "prompt_cache": {**stored, "change": causes[0] if causes else None}}


def after_stats(
    metrics: Mapping[str, Any] | None, usage: Mapping[str, Any], timestamp: Any
) -> dict[str, dict[str, Any]]:
    """Computes the statistics of the prompt cache from an event that reports the tokens that the agent has
    used. Returns a dict with these statistics under the key `prompt_cache`, to be stored in the metrics of
    the conversation. Returns an empty dict before the first model call.

    `metrics`: the stored metrics before the event. `usage`: the tokens of all calls of the agent so far,
    added together, and the name of the model. `timestamp`: the time of the event. `usage` and `timestamp`
    come from the log and may contain values of any type.
    """
    stored = (metrics or {}).get("prompt_cache")
    totals = [_tokens(usage.get(name)) for name in _COUNTED]
    model = str(usage.get("model"))[:200]
    if stored is None and not any(totals):
        return {}
    if stored is None:
        stored = {
            "model": model,
            "totals": [0, 0, 0],
            "at": None,
            "is_cached": False,
            "change": None,
            "recent": [],
        }
    prompt, read, written = (now - before for now, before in zip(totals, stored["totals"], strict=True))
    # A copy of a conversation begins with the sum of many calls.
    is_one_call = 0 < prompt <= (_tokens(usage.get("per_turn_token")) or prompt)
    if not is_one_call:
        return {"prompt_cache": {**stored, "totals": totals}}
    at = timestamp[:40] if isinstance(timestamp, str) else None
    cause = _cause(stored, model, at) if read < _expected(stored) / 2 else None
    call = {"prompt": prompt, "read": max(read, 0), "written": max(written, 0), "cause": cause}
    is_same = model == stored["model"]
    after = {
        "model": model,
        "totals": totals,
        "at": at,
        "is_cached": (stored["is_cached"] and is_same) or call["read"] + call["written"] > 0,
        "change": None,
        "recent": [*stored["recent"], call][-RECENT_CALLS:],
    }
    return {"prompt_cache": after}


def _expected(stored: Mapping[str, Any]) -> int:
    """Returns how many prompt tokens the vendor's cache should contain after the last model call. Returns 0
    if this number is unknown, or too small to tell whether the next call used the cache. `stored`: the stored
    statistics of the prompt cache.
    """
    if not stored["recent"]:
        return 0
    last = stored["recent"][-1]
    left: int = last["prompt"] if stored["is_cached"] else last["read"] + last["written"]
    return left if left >= _LEAST_TOKENS else 0


def _cause(stored: Mapping[str, Any], model: str, at: str | None) -> MissCause:
    if model != stored["model"]:
        return MissCause.MODEL_CHANGED
    if stored["change"] is not None:
        return MissCause(stored["change"])
    return MissCause.EXPIRED if _seconds(stored["at"], at) >= _CACHE_SECONDS else MissCause.UNKNOWN


def _seconds(before: str | None, after: str | None) -> float:
    """Returns the seconds between two timestamps of a log. Returns 0 if a timestamp is missing or is not a
    valid time.
    """
    try:
        passed = datetime.fromisoformat(after or "") - datetime.fromisoformat(before or "")
    except (ValueError, TypeError):
        return 0
    return passed.total_seconds()


def _tokens(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_TOKENS
    return value if is_count else 0
