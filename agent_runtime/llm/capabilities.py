"""Finds out what a model can do, from the model catalogue (a list of known models and their features). The
field `capability_overrides` in the model's configuration overrides the catalogue.
"""

from dataclasses import dataclass

from agent_runtime.catalogue.facts import REASONING_CONTENT, THINKING_BLOCKS, Facts
from agent_runtime.catalogue.lookup import facts_of
from agent_runtime.llm.config import LLM


@dataclass(frozen=True)
class Capabilities:
    """The features that a model supports or needs.

    `sees_images`: accepts images. `marks_cache`: the vendor caches a part of the prompt only if the request
    marks this part. `keeps_thinking`: the model's signed thinking blocks must be sent back with the next
    request. `keeps_reasoning`: the field `reasoning_content` must be sent back with the next request.
    `takes_effort`: accepts a reasoning effort. `prefers_responses`: works better with OpenAI's Responses
    protocol, if the model's server has this protocol.
    """

    sees_images: bool
    marks_cache: bool
    keeps_thinking: bool
    keeps_reasoning: bool
    takes_effort: bool
    prefers_responses: bool


def listed(llm: LLM) -> Facts:
    """Returns the facts about the model `llm` from the model catalogue, a list of known models and their
    features.
    """
    return facts_of(llm.model_canonical_name, llm.model)


def capabilities(llm: LLM) -> Capabilities:
    facts = listed(llm)
    return Capabilities(
        sees_images=not llm.disable_vision and _has(llm, "supports_vision", facts.sees_images),
        marks_cache=llm.caching_prompt and _has(llm, "supports_prompt_cache", facts.marks_cache),
        keeps_thinking=_has(llm, "supports_thinking_blocks", facts.echo == THINKING_BLOCKS),
        keeps_reasoning=_has(llm, "supports_reasoning_content", facts.echo == REASONING_CONTENT),
        takes_effort=_has(llm, "supports_reasoning_effort", facts.takes_effort),
        prefers_responses=_has(llm, "supports_responses_api", facts.protocols[0] == "responses"),
    )


def _has(llm: LLM, name: str, known: bool) -> bool:
    value = llm.capability_overrides.get(name)
    return value if isinstance(value, bool) else known
