"""The request and reply bodies of the routes for model profiles. Requests can contain API keys. Replies never
contain them.
"""

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
from app_server.http.strict_body import StrictBody
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
    """Checks the base URL of a model's API, and returns it without slashes at its end. Returns None for an
    empty text. Raises ValueError if the URL is not valid, or contains credentials, a query or a fragment.
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


def _checked_key(key: SecretStr) -> SecretStr:
    # A key that was copied from a page or a file often has a line break at its end.
    return _checked_value(SecretStr(key.get_secret_value().strip()))


ApiKey = Annotated[SecretStr, Field(max_length=10_000), AfterValidator(_checked_key)]
"""The API key of a model, without white space around it. It is sent in an HTTP header."""


class LLMSettings(ProfileOptions):
    """The settings of a model profile, in a request.

    `api_key`: null keeps the stored key; an empty text deletes it. `extra_headers`: HTTP headers that the app
    server adds to each model call. Null keeps the stored headers. Any other value replaces all stored
    headers, so an empty object deletes them. `max_budget_per_task`: the maximum cost of a conversation with
    this model, in dollars; a conversation can set another limit. `input_cost_per_token`,
    `output_cost_per_token`: the prices in dollars; null means that the prices in the model catalogue apply.
    """

    model_config = ConfigDict(extra="forbid")

    model: ModelName
    base_url: BaseUrl | None = None
    api_key: ApiKey | None = None
    max_budget_per_task: Dollars | None = None
    input_cost_per_token: TokenPrice | None = None
    output_cost_per_token: TokenPrice | None = None
    extra_headers: dict[HeaderName, HeaderValue] | None = Field(default=None, max_length=20)

    def options(self) -> dict[str, Any]:
        """Returns the options of the profile, in the form in which the database stores them. The keys are
        names of fields of ProfileOptions. Options with the default value are left out.
        """
        return self.model_dump(include=set(ProfileOptions.model_fields), exclude_defaults=True)


class RenameProfile(StrictBody):
    new_name: ProfileName


class ModelFacts(BaseModel):
    """The data of the model catalogue about a model, in an HTTP reply. Sizes are in tokens, and prices in
    dollars per token. Null means that a value is not known.

    `is_listed`: whether the catalogue has an entry for exactly this model. If not, the values come from the
    entry of the model's family, or are defaults. `calls_tools`: whether the API of the model supports tool
    calls. If not, agents read tool calls from the text of the model's replies. `efforts`: the reasoning
    efforts that the user can choose; empty if the model supports none. `refused`: the parameters that the
    model refuses, such as `temperature`. `protocols`: the API protocols of the model, the preferred one
    first.
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
    """A model profile in an HTTP reply.

    `is_own`: whether the profile belongs to the current user. If not, `base_url`, `extra_header_names` and
    `extra_body` are empty. `is_shared`: whether an administrator shares the profile with all users of the
    organisation. `api_key_set`: whether an API key is stored. `extra_header_names`: the names of the extra
    headers; the values are never shown. `is_recording`: whether the profile replays stored model replies,
    without a key and without cost. `facts`: the data of the model catalogue about the model.
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
    """The HTTP reply with one model profile and its settings.

    config: the settings of the profile, in the form of the request that saves a profile. The `api_key` in it
    is always null, because keys are never shown.
    """

    config: dict[str, Any]


class ChangedProfile(LLMProfileInfo):
    """A model profile after a change, in the HTTP reply to the request that has changed it. `message`: a
    sentence that says what was changed.
    """

    message: str


class DeletedProfile(BaseModel):
    name: str
    message: str


class LLMProfiles(BaseModel):
    """The HTTP reply with all model profiles that the user may use.

    `active_profile`: the name of the active profile. `callable_profiles`: the names of the profiles whose
    models agents may call. If the organisation or a team enforces a profile (so that users cannot choose
    another), these are only that profile and the profiles that replay stored model replies. If none is
    enforced, these are all profiles.
    """

    profiles: list[LLMProfileInfo]
    active_profile: str | None
    callable_profiles: list[str]
