"""Which model to ask, and how."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

MASK = "**********"


class LLM(BaseModel):
    """A model configuration. Fields of the protocol that this runtime does not use are kept as they came."""

    model_config = ConfigDict(frozen=True, extra="allow")

    model: str = Field(
        min_length=1, description="`vendor/name`; `openai/name` is any OpenAI-compatible server"
    )
    api_key: SecretStr | None = None
    base_url: str | None = None
    usage_id: str = Field(default="agent", description="Under which name its cost is counted")
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    max_output_tokens: int | None = Field(default=None, ge=1)
    reasoning_effort: str | None = None
    timeout: float = Field(default=300, gt=0, description="Seconds to wait for a reply that is not streamed")
    stream_idle_timeout: float = Field(default=300, gt=0, description="Seconds without a piece of a stream")
    num_retries: int = Field(default=5, ge=0, le=20)
    retry_multiplier: float = Field(default=8, ge=0)
    retry_min_wait: float = Field(default=8, ge=0, description="Seconds")
    retry_max_wait: float = Field(default=64, ge=0, description="Seconds")
    stream: bool = False
    native_tool_calling: bool = True
    input_cost_per_token: float | None = Field(default=None, ge=0)
    output_cost_per_token: float | None = Field(default=None, ge=0)
    extra_headers: dict[str, str] | None = None
    litellm_extra_body: dict[str, Any] = {}

    @field_validator("api_key", mode="after")
    @classmethod
    def _masked_key_is_no_key(cls, key: SecretStr | None) -> SecretStr | None:
        # What clients read from us they may send back.
        return None if key is None or key.get_secret_value() in {"", MASK} else key
