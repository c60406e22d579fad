"""What holds for calls of a profile: what its user has set, else what the catalogue says. Pure."""

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
    """window: tokens. price: None if it is not known. facts: those of the catalogue alone.
    asks_responses: agents ask it through OpenAI's Responses.
    """

    facts: Facts
    options: ProfileOptions
    window: int
    price: Price | None
    sees_images: bool
    asks_responses: bool

    @property
    def capabilities(self) -> Mapping[str, bool]:
        """In the words of `LLM.capability_overrides`: an agent server may have an older catalogue."""
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
    )


def _asks_responses(profile: LLMProfile, options: ProfileOptions, facts: Facts) -> bool:
    """Models of OpenAI that take nothing else; at its own address also those that are better asked so, unless
    there is an extra body, which has the fields of chat completions.
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
    )
