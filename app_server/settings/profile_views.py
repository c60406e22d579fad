"""Converts model profiles, and the data of the model catalogue, to the objects that HTTP replies contain. The
functions here do no I/O.
"""

from uuid import UUID

from agent_runtime.catalogue.facts import Facts
from agent_runtime.catalogue.lookup import facts_of
from app_server.settings.models import LLMProfile
from app_server.settings.schemas import LLMProfileInfo, ModelFacts


def profile_info(profile: LLMProfile, user_id: UUID) -> LLMProfileInfo:
    """Converts a model profile to the form in which a user sees it.

    `user_id`: the user who reads the profile. If the profile belongs to another user, the result does not
    contain its base URL, extra headers and extra body.
    """
    is_own = profile.user_id == user_id
    options = profile.chosen if is_own else profile.chosen.model_copy(update={"extra_body": {}})
    return LLMProfileInfo(
        name=profile.name,
        model=profile.model,
        is_own=is_own,
        is_shared=profile.is_shared,
        base_url=profile.base_url if is_own else None,
        api_key_set=profile.api_key_set,
        max_budget_per_task=profile.max_budget_per_task,
        input_cost_per_token=profile.input_cost_per_token,
        output_cost_per_token=profile.output_cost_per_token,
        extra_header_names=profile.extra_header_names if is_own else [],
        is_recording=profile.is_recording,
        facts=model_facts(facts_of(profile.model)),
        **options.model_dump(),
    )


def model_facts(facts: Facts) -> ModelFacts:
    price = facts.price
    return ModelFacts(
        is_listed=facts.is_listed,
        context_window=facts.window,
        max_output_tokens=facts.max_output,
        input_cost_per_token=price and price.prompt,
        output_cost_per_token=price and price.completion,
        cache_read_cost_per_token=price and price.cache_read,
        cache_write_cost_per_token=price and price.cache_write,
        sees_images=facts.sees_images,
        calls_tools=facts.calls_tools,
        efforts=None if facts.efforts is None else list(facts.efforts),
        takes_thinking_budget=facts.takes_budget,
        refused=sorted(facts.refused),
        protocols=list(facts.protocols),
    )
