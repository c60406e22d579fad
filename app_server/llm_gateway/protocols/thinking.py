"""Translates the fields about thinking in Anthropic's Messages protocol for other vendors' models: how a
program asks a model to think, and how the program gets the model's thoughts. This module does no I/O.

In Anthropic's protocol, a program states a budget of tokens (`thinking`) or an effort (`output_config`).
Other vendors get what their model accepts according to the model catalogue (the server's list of known
models): a budget, the nearest effort, or nothing. The model profile (the user's saved options of the model)
may also set a budget or an effort. If the program asks for thinking, the profile's value then replaces the
program's value.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_runtime.catalogue.facts import REASONING_CONTENT, THINKING_BLOCKS, Facts
from agent_runtime.catalogue.parameters import thinking_budget
from app_server.settings.options import ProfileOptions

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_LEAST_BUDGET = 1024
_UP_TO = ((2_048, "low"), (8_192, "medium"))
"""Maps budgets to efforts. Each pair contains the largest budget in tokens for an effort, and this effort.
For a larger budget than in the last pair, the effort is `high`.
"""


def is_wanted(thinking: Mapping[str, Any] | None) -> bool:
    """Returns whether a call in the Messages protocol asks the model to think. If not, the reply for the
    program contains no thinking blocks. `thinking`: the field of the call; None if the call does not have it.
    """
    return (thinking or {}).get("type") in {"enabled", "adaptive"}


def thinking_fields(
    model: str,
    facts: Facts,
    chosen: ProfileOptions,
    thinking: Mapping[str, Any] | None,
    output_config: Mapping[str, Any] | None,
    *,
    length: int,
) -> dict[str, Any]:
    """Returns the fields of a chat completion that say how much the model thinks. Returns no fields if the
    program does not ask for thinking, or if it is not known what the model accepts; then the vendor's default
    applies.

    `facts`: what the model catalogue (the server's list of known models) says about the model. `chosen`: the
    options in the model profile (the saved model). `thinking`, `output_config`: the fields of the Messages
    call. `length`: the maximum length of the reply in tokens.
    """
    kind = (thinking or {}).get("type")
    if kind == "disabled":
        return {"reasoning_effort": "none"} if "none" in (facts.efforts or ()) else {}
    stated = (output_config or {}).get("effort")
    if not is_wanted(thinking) and stated not in _EFFORTS:
        return {}
    if chosen.thinking_budget is not None:
        return _budget(model, chosen.thinking_budget, length)
    if chosen.reasoning_effort is not None:
        return {"reasoning_effort": chosen.reasoning_effort}
    budget = (thinking or {}).get("budget_tokens")
    has_budget = kind == "enabled" and isinstance(budget, int) and not isinstance(budget, bool)
    if has_budget and facts.takes_budget:
        return _budget(model, budget, length)
    wanted = stated if stated in _EFFORTS else _effort_of(budget) if has_budget else None
    nearest = _nearest(wanted, facts.efforts or ()) if wanted else None
    return {"reasoning_effort": nearest} if nearest else {}


def _budget(model: str, tokens: int | None, length: int) -> dict[str, Any]:
    most = min(tokens or 0, length - 1)
    return thinking_budget(model, most) if most >= _LEAST_BUDGET else {}


def _effort_of(budget: int | None) -> str:
    return next((effort for most, effort in _UP_TO if (budget or 0) <= most), "high")


def _nearest(wanted: str, taken: Sequence[str]) -> str | None:
    """Returns the highest effort in `taken` that is not above the wanted effort. If all efforts in `taken`
    are above the wanted effort, returns the lowest. `taken`: the efforts that the model accepts.
    """
    ordered = [effort for effort in _EFFORTS if effort in taken and (effort != "none" or wanted == "none")]
    below = [effort for effort in ordered if _EFFORTS.index(effort) <= _EFFORTS.index(wanted)]
    return next(iter([*reversed(below), *ordered]), None)


def sent_back(blocks: Iterable[Mapping[str, Any]], facts: Facts) -> dict[str, Any]:
    """Returns the fields with which a chat message sends the model's thoughts of an earlier reply back to the
    vendor. Returns no fields if the model does not need its thoughts back. `blocks`: the thinking blocks of
    that reply. `facts`: what the model catalogue (the server's list of known models) says about the model.
    """
    if facts.echo == THINKING_BLOCKS:
        signed = [dict(block) for block in blocks if block.get("signature") or block.get("data")]
        return {"thinking_blocks": signed} if signed else {}
    if facts.echo == REASONING_CONTENT:
        text = "".join(block.get("thinking") or "" for block in blocks if not block.get("signature"))
        return {"reasoning_content": text} if text else {}
    return {}


def blocks_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the thoughts of the model in `message` as thinking blocks of Anthropic's Messages protocol.
    `message`: a whole chat message or a piece of a stream. If the vendor sends the thoughts as plain text,
    the block has an empty signature.
    """
    blocks = message.get("thinking_blocks")
    if isinstance(blocks, list) and blocks:
        return [_block(block) for block in blocks if isinstance(block, dict)]
    open_text = message.get("reasoning_content") or message.get("reasoning")
    if not isinstance(open_text, str) or not open_text:
        return []
    return [{"type": "thinking", "thinking": open_text, "signature": ""}]


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    if block.get("type") == "redacted_thinking":
        return {"type": "redacted_thinking", "data": str(block.get("data") or "")}
    return {
        "type": "thinking",
        "thinking": str(block.get("thinking") or ""),
        "signature": str(block.get("signature") or ""),
    }
