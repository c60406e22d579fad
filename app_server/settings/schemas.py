"""LLM profiles on the wire. Keys go in and never come out."""

from typing import Annotated, Any

from fastapi import Path
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    SecretStr,
    StringConstraints,
    TypeAdapter,
)

from agent_runtime.wire import Dollars

_NAME_PATTERN = r"^[A-Za-z0-9._-]{1,64}$"
_HTTP_URL: TypeAdapter[HttpUrl] = TypeAdapter(HttpUrl)


def _checked_base_url(text: str) -> str | None:
    """The URL as it was typed, less trailing slashes; nothing typed: None. Raises ValueError."""
    if not text:
        return None
    url = _HTTP_URL.validate_python(text)
    if url.username or url.password:
        raise ValueError("credentials belong in api_key, not in the URL")
    if url.query or url.fragment:
        raise ValueError("the URL must end with its path")
    return text.rstrip("/")


ProfileName = Annotated[str, StringConstraints(pattern=_NAME_PATTERN)]
ProfileNameInPath = Annotated[str, Path(pattern=_NAME_PATTERN)]
ModelName = Annotated[str, StringConstraints(pattern=r"^[^\s\x00-\x1f]+$", max_length=200)]
BaseUrl = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=2000), AfterValidator(_checked_base_url)
]


TokenPrice = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class LLMSettings(BaseModel):
    """`api_key` left out keeps the stored key, an empty one clears it.

    `max_budget_per_task`: what a conversation with this model may cost unless it says otherwise, in dollars.
    `input_cost_per_token`, `output_cost_per_token`: dollars; left out, what is listed for the model.
    """

    model_config = ConfigDict(extra="forbid")

    model: ModelName
    base_url: BaseUrl | None = None
    api_key: SecretStr | None = Field(default=None, max_length=10_000)
    max_budget_per_task: Dollars | None = None
    input_cost_per_token: TokenPrice | None = None
    output_cost_per_token: TokenPrice | None = None


class SaveProfile(BaseModel):
    """`llm` left out copies the profile that is in use.

    `include_secrets`: false keeps no key with it, unless `preserve_existing_api_key` says that the stored one
    stays.
    """

    model_config = ConfigDict(extra="forbid")

    llm: LLMSettings | None = None
    include_secrets: bool = True
    preserve_existing_api_key: bool = False


class RenameProfile(BaseModel):
    new_name: ProfileName


class LLMProfileInfo(BaseModel):
    """`is_recording`: a recorded reply is played; no key, no cost."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    model: str
    base_url: str | None
    api_key_set: bool
    max_budget_per_task: float | None
    input_cost_per_token: float | None
    output_cost_per_token: float | None
    is_recording: bool


class LLMProfileDetails(LLMProfileInfo):
    """config: the model's settings, as they can be sent again. `api_key` is always null."""

    config: dict[str, Any]


class ChangedProfile(LLMProfileInfo):
    """What became of it; `message` says it in words."""

    message: str


class DeletedProfile(BaseModel):
    name: str
    message: str


class LLMProfiles(BaseModel):
    profiles: list[LLMProfileInfo]
    active_profile: str | None
