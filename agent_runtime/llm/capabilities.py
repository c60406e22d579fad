"""What a model can do, as far as its name tells. Its `capability_overrides` have the last word."""

import re
from dataclasses import dataclass

from agent_runtime.llm.config import LLM

_VISION = re.compile(
    r"gpt-4o|gpt-4\.[1-9]|gpt-4-turbo|gpt-[5-9]|chatgpt|\bo[134](-|$)|codex"
    r"|claude-(3|opus|sonnet|haiku|[4-9])|gemini|gemma-?[3-9]|grok-([4-9]|.*vision)"
    r"|llama-?4|pixtral|mistral-(medium|small|large)-?3|kimi-k2\.[5-9]"
    r"|(^|[-_/.])vl([-_.:]|$)|[0-9]v([-_.:]|$)|vision|llava|nova-(lite|pro|premier)"
)
# OpenAI's models that are best, or only, asked through the Responses protocol.
_RESPONSES = re.compile(r"^(gpt-[5-9]|.*codex|o[134]-pro|o[34]-deep-research|computer-use)")
_ANTHROPIC = re.compile(r"claude")
# These lose the thread of their work if their reasoning is not sent back with the calls it led to.
_REASONING_CONTENT = re.compile(
    r"kimi-k[2-9].*thinking|kimi-k2\.[5-9]|kimi-k[3-9]|deepseek-(v[4-9]|v3\.[2-9]|reasoner)"
    r"|minimax-m[2-9]|glm-(4\.[6-9]|[5-9])|gpt-oss|qwq|qwen-?3"
)


# They refuse a request that asks for an effort. Clients ask for one by default, whatever the model.
_NO_EFFORT = re.compile(r"^(gpt-3|gpt-4|chatgpt)")


@dataclass(frozen=True)
class Capabilities:
    """sees_images: takes images. marks_cache: wants to be told what to cache.
    keeps_thinking: wants its signed thinking blocks back.
    keeps_reasoning: wants its `reasoning_content` back.
    takes_effort: may be told how hard to think.
    prefers_responses: is better asked through the Responses protocol, where its server has it.
    """

    sees_images: bool
    marks_cache: bool
    keeps_thinking: bool
    keeps_reasoning: bool
    takes_effort: bool
    prefers_responses: bool


def capabilities(llm: LLM) -> Capabilities:
    name = (llm.model_canonical_name or llm.model).lower()
    last_part = name.rsplit("/", 1)[-1]
    is_anthropic = bool(_ANTHROPIC.search(name))
    return Capabilities(
        sees_images=not llm.disable_vision and _has(llm, "supports_vision", bool(_VISION.search(last_part))),
        marks_cache=llm.caching_prompt and _has(llm, "supports_prompt_cache", is_anthropic),
        keeps_thinking=_has(llm, "supports_thinking_blocks", is_anthropic),
        keeps_reasoning=_has(llm, "supports_reasoning_content", bool(_REASONING_CONTENT.search(last_part))),
        takes_effort=_has(llm, "supports_reasoning_effort", not _NO_EFFORT.search(last_part)),
        prefers_responses=_has(llm, "supports_responses_api", bool(_RESPONSES.search(last_part))),
    )


def _has(llm: LLM, name: str, guess: bool) -> bool:
    value = llm.capability_overrides.get(name)
    return value if isinstance(value, bool) else guess
