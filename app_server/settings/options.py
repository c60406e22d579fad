"""The options of a model profile, such as the reasoning effort. If a profile does not set an option, the
value in the model catalogue applies.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
TokenPrice = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

MAX_TOKENS = 100_000_000


class ProfileOptions(BaseModel):
    """The options of a model profile. `reasoning_effort`, `thinking_budget` (in tokens), `temperature`,
    `top_p` and `max_output_tokens` are sent with each model call.

    `max_input_tokens`: the context window of the model. `timeout`: a model call fails if the model's server
    sends nothing for this number of seconds. `supports_images`: whether the model accepts images.
    `native_tool_calling`: false means that agents describe their tools in the prompt and read tool calls from
    the text of the model's replies; None means that the model catalogue decides. `cache_read_cost_per_token`,
    `cache_write_cost_per_token`: prices in dollars per token. `extra_body`: fields that the app server adds
    to each call; sandboxes do not see them. `fallbacks`: the names of other profiles that are called in this
    order if the model is not available; names for which the user has no profile are ignored. `location`: the
    region where Vertex AI runs the model, such as `europe-west4`; None means `global`.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    reasoning_effort: Effort | None = None
    thinking_budget: int | None = Field(default=None, ge=1024, le=MAX_TOKENS)
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(default=None, gt=0, le=1, allow_inf_nan=False)
    max_output_tokens: int | None = Field(default=None, ge=1, le=MAX_TOKENS)
    max_input_tokens: int | None = Field(default=None, ge=1024, le=MAX_TOKENS)
    timeout: float | None = Field(default=None, ge=1, le=3600, allow_inf_nan=False)
    supports_images: bool | None = None
    native_tool_calling: bool | None = None
    cache_read_cost_per_token: TokenPrice | None = None
    cache_write_cost_per_token: TokenPrice | None = None
    fallbacks: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]] = Field(
        default=[], max_length=5
    )
    location: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9-]{0,39}$")
    extra_body: dict[str, JsonValue] = Field(default={}, max_length=100)
