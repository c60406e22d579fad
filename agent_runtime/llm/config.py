"""Defines the configuration of a model, and the rules that choose other models for some calls."""

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from agent_runtime.llm.known_fields import KnownFieldsOnly

MASK = "**********"


class LLM(KnownFieldsOnly):
    """The configuration of a model. Fields that this runtime does not use are kept unchanged, because clients
    of other versions may send them.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    model: str = Field(
        min_length=1, description="`vendor/name`; `openai/name` is any OpenAI-compatible server"
    )
    api_key: SecretStr | None = None
    base_url: str | None = None
    api_version: str | None = Field(default=None, description="Azure's")
    aws_access_key_id: SecretStr | None = None
    aws_secret_access_key: SecretStr | None = None
    aws_session_token: SecretStr | None = None
    aws_region_name: str | None = None
    aws_profile_name: str | None = None
    aws_role_name: str | None = None
    aws_session_name: str | None = None
    aws_bedrock_runtime_endpoint: str | None = None
    api_mode: Literal["auto", "chat", "responses"] = Field(
        default="auto", description="Which of OpenAI's two protocols; `auto` decides by the model"
    )
    model_canonical_name: str | None = Field(
        default=None, description="What the model is, where `model` is an alias: decides what it can do"
    )
    capability_overrides: dict[str, bool | str] = Field(
        default={},
        description="`supports_vision`, `supports_prompt_cache`, `supports_thinking_blocks`, "
        "`supports_reasoning_content`, `supports_reasoning_effort`, `supports_responses_api`: true or false, "
        "against what its name tells",
    )
    usage_id: str = Field(default="agent", description="Under which name its cost is counted")
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    max_output_tokens: int | None = Field(default=None, ge=1)
    stop: list[str] | None = None
    reasoning_effort: str | None = None
    thinking_budget: int | None = Field(
        default=None,
        ge=1,
        description="Tokens to think with, where a model is not told an effort",
    )
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None
    enable_encrypted_reasoning: bool = True
    caching_prompt: bool = Field(default=True, description="Mark what the vendor may cache, where it asks so")
    disable_vision: bool | None = None
    disable_stop_word: bool | None = None
    timeout: float | None = Field(
        default=300, gt=0, description="Seconds to wait for a reply that is not streamed; null: for ever"
    )
    stream_idle_timeout: float | None = Field(
        default=300, gt=0, description="Seconds without a piece of a stream; null: any number"
    )
    num_retries: int = Field(default=5, ge=0, le=20)
    retry_multiplier: float = Field(default=8, ge=0)
    retry_min_wait: float = Field(default=8, ge=0, description="Seconds")
    retry_max_wait: float = Field(default=64, ge=0, description="Seconds")
    stream: bool = False
    native_tool_calling: bool = True
    input_cost_per_token: float | None = Field(default=None, ge=0)
    output_cost_per_token: float | None = Field(default=None, ge=0)
    cache_read_cost_per_token: float | None = Field(
        default=None, ge=0, description="Of what the vendor's cache had; unset: as of any input"
    )
    cache_write_cost_per_token: float | None = Field(default=None, ge=0, description="Of what is kept there")
    extra_headers: dict[str, str] | None = None
    litellm_extra_body: dict[str, Any] = {}
    max_input_tokens: int | None = Field(default=None, ge=1, description="The size of its context window")
    max_budget_per_task: float | None = Field(
        default=None, gt=0, description="Dollars the conversation may cost; then its run stops and asks"
    )
    log_completions: bool = Field(
        default=False, description="Publish what is asked and answered, as events `LLMCompletionLogEvent`"
    )
    log_completions_folder: str = Field(
        default="logs/completions", description="Where a client of the conversation writes those down"
    )
    fallback_strategy: "FallbackStrategy | None" = None
    routes: list["Route"] = Field(default=[], description="The first whose conditions hold takes the call")

    @field_validator(
        "api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token", mode="after"
    )
    @classmethod
    def _masked_key_is_no_key(cls, key: SecretStr | None) -> SecretStr | None:
        # Clients may send back the masked key that they have read from us.
        return None if key is None or key.get_secret_value() in {"", MASK} else key


class FallbackStrategy(BaseModel):
    """The fallback models, in the order in which they are asked if the configured model cannot be reached.
    Each call asks the configured model first.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    fallback_llms: list[LLM]


class Route(BaseModel):
    """A rule that sends certain calls to the model `llm`: the calls that meet all conditions of the rule. The
    other fields are the conditions. A condition that is None is not checked.

    `role`: the purpose of the call, such as `agent` or `condenser`. `pattern`: a regular expression that is
    searched in the user's last message.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    llm: LLM
    has_images: bool | None = None
    role: str | None = None
    min_prompt_chars: int | None = Field(default=None, ge=1)
    pattern: str | None = None

    @field_validator("pattern")
    @classmethod
    def _is_regular_expression(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return pattern


LLM.model_rebuild()
