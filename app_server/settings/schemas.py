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
from app_server.settings.options import ProfileOptions, TokenPrice

_NAME_PATTERN = r"^[A-Za-z0-9._-]{1,64}$"
# Of the connection and the body, which are ours.
_OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
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


def _checked_value(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text.isascii() or not text.isprintable():
        raise ValueError("printable ASCII characters only")
    return value


ProfileName = Annotated[str, StringConstraints(pattern=_NAME_PATTERN)]
ProfileNameInPath = Annotated[str, Path(pattern=_NAME_PATTERN)]
ModelName = Annotated[str, StringConstraints(pattern=r"^[^\s\x00-\x1f]+$", max_length=200)]
BaseUrl = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=2000), AfterValidator(_checked_base_url)
]


def _checked_header(name: str) -> str:
    if name.lower() in _OWN_HEADERS:
        raise ValueError(f"the header {name} cannot be set")
    return name


HeaderName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"),
    AfterValidator(_checked_header),
]
HeaderValue = Annotated[SecretStr, Field(max_length=4000), AfterValidator(_checked_value)]


class LLMSettings(ProfileOptions):
    """`api_key` left out keeps the stored key, an empty one clears it. `extra_headers`, which the app server
    adds to each call, are kept if they are left out, and replaced by what is given.

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
    extra_headers: dict[HeaderName, HeaderValue] | None = Field(default=None, max_length=20)

    def options(self) -> dict[str, Any]:
        """Those that are set."""
        return self.model_dump(include=set(ProfileOptions.model_fields), exclude_defaults=True)


class SaveProfile(BaseModel):
    """`llm` left out copies the profile that is in use.

    `include_secrets`: false keeps no key and no extra headers with it, unless `preserve_existing_api_key`
    says that the stored ones stay.
    """

    model_config = ConfigDict(extra="forbid")

    llm: LLMSettings | None = None
    include_secrets: bool = True
    preserve_existing_api_key: bool = False


class RenameProfile(BaseModel):
    new_name: ProfileName


class ModelFacts(BaseModel):
    """What the catalogue says of a model. `is_listed`: false where these are defaults, or what its family is
    known for. Tokens, and dollars per token; null where it is not known. `efforts`: those that may be
    chosen; empty where it takes none.
    """

    is_listed: bool
    context_window: int
    max_output_tokens: int | None
    input_cost_per_token: float | None
    output_cost_per_token: float | None
    cache_read_cost_per_token: float | None
    cache_write_cost_per_token: float | None
    sees_images: bool
    efforts: list[str] | None
    takes_thinking_budget: bool
    refused: list[str]
    protocols: list[str]


class LLMProfileInfo(ProfileOptions):
    """`is_recording`: a recorded reply is played; no key, no cost. `extra_header_names`: their values are
    not shown. `is_shared`: an administrator lets everyone use it; where `is_own` is false, `base_url`,
    `extra_header_names` and `extra_body` are left empty.
    """

    name: str
    is_own: bool
    is_shared: bool
    model: str
    base_url: str | None
    api_key_set: bool
    max_budget_per_task: float | None
    input_cost_per_token: float | None
    output_cost_per_token: float | None
    extra_header_names: list[str]
    is_recording: bool
    facts: ModelFacts


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
