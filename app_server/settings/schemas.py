"""Request and reply bodies for model profiles. API keys are received and never sent."""

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
# Headers of the connection and the body, which Slipway sets itself.
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
    """Checks the base URL of a model's API and returns it as it was typed, without trailing slashes. Returns
    None for an empty text. Raises ValueError.
    """
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
    """The settings of a model profile.

    `api_key`: if it is left out, the stored key stays; an empty key clears it. `extra_headers`: headers that
    the app server adds to each call; if they are left out, the stored headers stay, otherwise they are all
    replaced. `max_budget_per_task`: the most that a conversation with this model may cost, in dollars, unless
    the conversation sets another limit. `input_cost_per_token`, `output_cost_per_token`: dollars; if they are
    left out, the catalogue's price of the model applies.
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
        """Returns the options of the profile that differ from their defaults."""
        return self.model_dump(include=set(ProfileOptions.model_fields), exclude_defaults=True)


class RenameProfile(BaseModel):
    new_name: ProfileName


class ModelFacts(BaseModel):
    """The catalogue's data about a model.

    `is_listed`: false if the values are defaults, or are known only for the model's family. Sizes are in
    tokens and prices in dollars per token; null if they are not known. `efforts`: the reasoning efforts that
    can be chosen; empty if the model supports none. `calls_tools`: false if agents read calls from the text.
    """

    is_listed: bool
    context_window: int
    max_output_tokens: int | None
    input_cost_per_token: float | None
    output_cost_per_token: float | None
    cache_read_cost_per_token: float | None
    cache_write_cost_per_token: float | None
    sees_images: bool
    calls_tools: bool
    efforts: list[str] | None
    takes_thinking_budget: bool
    refused: list[str]
    protocols: list[str]


class LLMProfileInfo(ProfileOptions):
    """A model profile in a reply.

    `is_recording`: the profile replays recorded replies, without key and cost. `extra_header_names`: the
    names of the extra headers; their values are never shown. `is_shared`: an administrator lets all users use
    the profile. If `is_own` is false, `base_url`, `extra_header_names` and `extra_body` are empty.
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
    """The reply with one model profile and its settings. config: the model's settings in the form in which
    they can be saved again. `api_key` is always null.
    """

    config: dict[str, Any]


class ChangedProfile(LLMProfileInfo):
    """The reply to a change of a model profile: the profile after the change. `message`: a sentence that says
    what was changed.
    """

    message: str


class DeletedProfile(BaseModel):
    name: str
    message: str


class LLMProfiles(BaseModel):
    """The reply with the list of model profiles that the user may use. `callable_profiles`: the names of the
    profiles that agents may call: all of them, unless the organisation or a team enforces a model.
    """

    profiles: list[LLMProfileInfo]
    active_profile: str | None
    callable_profiles: list[str]
