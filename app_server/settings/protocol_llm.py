"""The settings of a model profile in the form that clients of the OpenHands API send. Slipway accepts this
form, so that these clients can use Slipway.

The fields are those of `StrictLLM` of the OpenHands V1 app server, version 1.11.0.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from app_server.settings.options import MAX_TOKENS
from app_server.settings.schemas import LLMSettings

_DEFAULT_THINKING_BUDGET = 200_000
_MAX_ENTRIES = 100


class FallbackStrategy(BaseModel):
    model_config = ConfigDict(extra="forbid")

    fallback_llms: Annotated[list[str], Field(max_length=_MAX_ENTRIES)] = []
    profile_store_dir: str | None = None


class ProtocolLLM(LLMSettings):
    """The settings of a model profile in a request. They include the fields that only the OpenHands API has,
    so that OpenHands clients can send all their fields.

    `litellm_extra_body`, `seed`, `top_k`: become entries of `extra_body`. `extended_thinking_budget`: the
    same as `thinking_budget`; the value 200,000 is ignored, because clients send it as the API's default.
    `disable_vision`: true means that `supports_images` is false. `stream`: has no effect, because replies are
    always streamed. The fields from `auth_type` on have no effect. They accept only null or the API's default
    value, because Slipway does not support other values.
    """

    litellm_extra_body: Annotated[dict[str, JsonValue], Field(max_length=_MAX_ENTRIES)] | None = None
    seed: int | None = None
    top_k: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    extended_thinking_budget: Annotated[int, Field(ge=1024, le=MAX_TOKENS)] | None = None
    disable_vision: bool | None = None
    stream: bool | None = None

    auth_type: Literal["api_key"] | None = None
    subscription_vendor: None = None
    api_version: None = None
    aws_access_key_id: None = None
    aws_secret_access_key: None = None
    aws_session_token: None = None
    aws_region_name: None = None
    aws_profile_name: None = None
    aws_role_name: None = None
    aws_session_name: None = None
    aws_bedrock_runtime_endpoint: None = None
    openrouter_site_url: Literal["https://docs.all-hands.dev/"] | None = None
    openrouter_app_name: Literal["OpenHands"] | None = None
    num_retries: Literal[5] | None = None
    retry_multiplier: Literal[8] | None = None
    retry_min_wait: Literal[8] | None = None
    retry_max_wait: Literal[64] | None = None
    max_message_chars: Literal[30_000] | None = None
    model_canonical_name: None = None
    ollama_base_url: None = None
    drop_params: Literal[True] | None = None
    modify_params: Literal[True] | None = None
    disable_stop_word: Literal[False] | None = None
    caching_prompt: Literal[True] | None = None
    log_completions: Literal[False] | None = None
    log_completions_folder: Literal["logs/completions"] | None = None
    custom_tokenizer: None = None
    force_string_serializer: None = None
    inline_image_urls: None = None
    reasoning_summary: None = None
    enable_encrypted_reasoning: Literal[True] | None = None
    prompt_cache_retention: Literal["24h"] | None = None
    usage_id: Literal["default"] | None = None
    fallback_strategy: FallbackStrategy | None = None
    """Must be null. The fallbacks of a profile are in the field `fallbacks` instead."""

    @model_validator(mode="after")
    def _can_be_stored(self) -> Self:
        if self.fallback_strategy is not None:
            raise ValueError("fallback_strategy is not supported: name other profiles in fallbacks")
        self.settings()
        return self

    def settings(self) -> LLMSettings:
        """Returns the settings in the form that Slipway stores. The fields that only the OpenHands API has
        are converted to Slipway's fields or left out.
        """
        given: dict[str, Any] = {
            name: getattr(self, name) for name in LLMSettings.model_fields if name in self.model_fields_set
        }
        sampling = {name: getattr(self, name) for name in ("seed", "top_k")}
        given["extra_body"] = {
            **{name: value for name, value in sampling.items() if value is not None},
            **(self.litellm_extra_body or {}),
            **self.extra_body,
        }
        if self.thinking_budget is None and self.extended_thinking_budget != _DEFAULT_THINKING_BUDGET:
            given["thinking_budget"] = self.extended_thinking_budget
        if self.disable_vision and self.supports_images is None:
            given["supports_images"] = False
        return LLMSettings.model_validate(given)


class SaveProfile(BaseModel):
    """A request to save a model profile. If `llm` is null, the settings of the active profile are copied.

    `include_secrets`: if true, the API key and the extra headers of these settings are saved. If false, they
    are not saved, and `preserve_existing_api_key` decides about the key and headers that the profile already
    has: true keeps them, false deletes them.
    """

    model_config = ConfigDict(extra="forbid")

    llm: ProtocolLLM | None = None
    include_secrets: bool = True
    preserve_existing_api_key: bool = False
