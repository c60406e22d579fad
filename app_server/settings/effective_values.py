"""Computes the context window, the price and the other values that apply when a profile's model is called. A
value that the user has set in the profile has priority over the value in the model catalogue. The functions
here do no I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent_runtime.catalogue.facts import REASONING_CONTENT, THINKING_BLOCKS, Facts
from agent_runtime.catalogue.lookup import facts_of
from agent_runtime.metering.prices import Price, set_price
from agent_runtime.vendors import OPENAI_URL
from app_server.settings.models import LLMProfile
from app_server.settings.options import ProfileOptions


@dataclass(frozen=True)
class Effective:
    """The values that apply to the calls of a profile's model. They come from the profile and from the model
    catalogue.

    `facts`: the entry of the model in the catalogue, unchanged. `options`: the options that the profile sets,
    such as the temperature. `window`: the context window in tokens. `price`: None if the price is not known.
    `sees_images`: whether the model accepts images. `asks_responses`: whether agents call the model through
    OpenAI's Responses API. `calls_tools`: whether the API of the model supports tool calls. If it does not,
    agents read tool calls from the text of the model's replies.
    """

    facts: Facts
    options: ProfileOptions
    window: int
    price: Price | None
    sees_images: bool
    asks_responses: bool
    calls_tools: bool

    @property
    def capabilities(self) -> Mapping[str, bool]:
        """Returns for each capability, such as `supports_vision`, whether the model has it. The app server
        sends the result to the agent server together with the profile, because the agent server may have an
        older model catalogue. The agent server uses the protocol of OpenHands, so the keys are the names that
        OpenHands uses (in `LLM.capability_overrides`).
        """
        return {
            "supports_vision": self.sees_images,
            "supports_prompt_cache": self.facts.marks_cache,
            "supports_thinking_blocks": self.facts.echo == THINKING_BLOCKS,
            "supports_reasoning_content": self.facts.echo == REASONING_CONTENT,
            "supports_reasoning_effort": self.facts.takes_effort,
            "supports_responses_api": self.asks_responses,
        }


def effective(profile: LLMProfile) -> Effective:
    facts, options = facts_of(profile.model), profile.chosen
    return Effective(
        facts=facts,
        options=options,
        window=options.max_input_tokens or facts.window,
        price=_price(profile, options, facts),
        sees_images=facts.sees_images if options.supports_images is None else options.supports_images,
        asks_responses=_asks_responses(profile, options, facts),
        calls_tools=facts.calls_tools if options.native_tool_calling is None else options.native_tool_calling,
    )


def _asks_responses(profile: LLMProfile, options: ProfileOptions, facts: Facts) -> bool:
    """Returns whether the model is called through OpenAI's Responses API, and not through the older chat
    completions API.

    The Responses API is used for OpenAI models that do not support the chat completions API. It is also used
    for models that support both APIs but work better with the Responses API, if two conditions are met: the
    calls go to OpenAI's own URL, and the profile has no extra body. An extra body contains fields that are
    added to each model call. These fields belong to the chat completions API.
    """
    if not profile.model.startswith("openai/") or facts.protocols[0] != "responses":
        return False
    is_own_address = (profile.base_url or OPENAI_URL).rstrip("/") == OPENAI_URL
    return "chat" not in facts.protocols or (is_own_address and not options.extra_body)


def _price(profile: LLMProfile, options: ProfileOptions, facts: Facts) -> Price | None:
    price = set_price(profile.input_cost_per_token, profile.output_cost_per_token) or facts.price
    if price is None:
        return None
    read, write = options.cache_read_cost_per_token, options.cache_write_cost_per_token
    return replace(
        price,
        cache_read=price.cache_read if read is None else read,
        cache_write=price.cache_write if write is None else write,
        cache_write_hour=price.cache_write_hour if write is None else None,
    )
