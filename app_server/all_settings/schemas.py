"""The settings in the form of the OpenHands API. A setting of that API that Slipway does not use has one
fixed value and cannot be changed.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from agent_runtime.wire import Dollars
from app_server.git.address import parse_identity
from app_server.marketplaces.schemas import MarketplaceRegistration, Registrations
from app_server.settings.cloning import CloneMode
from app_server.settings.commit_trailers import CommitTrailer
from app_server.settings.grouping import GroupingStrategy
from app_server.settings.options import TokenPrice
from app_server.settings.schemas import ApiKey, BaseUrl, ModelName
from app_server.users.schemas import UserInfo

MAX_DISABLED_SKILLS = 500
MASK = "**********"
MaxIterations = Annotated[int, Field(ge=1, le=100_000)]
# What git takes for a name: it drops angle brackets, and a line end would begin another setting.
GitUserName = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^[^<>\x00-\x1f]*$")
]
GitUserEmail = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=200, pattern=r"^[^<>\s\x00-\x1f]*$")
]


def _by_identity(trailers: dict[str, CommitTrailer]) -> dict[str, CommitTrailer]:
    return {parse_identity(name): trailer for name, trailer in trailers.items()}


CommitTrailers = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=2000)], CommitTrailer],
    Field(max_length=200),
    AfterValidator(_by_identity),
]
"""The last line of agents' commit messages in single repositories. Each key is a repository: its URL,
`host/owner/name`, or a path on this machine.
"""


DisabledSkills = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=MAX_DISABLED_SKILLS)
]


class Fixed(BaseModel):
    """The settings of the OpenHands API that Slipway does not use: each has one fixed value and cannot be
    changed.
    """

    language: None = None
    user_version: None = None
    remote_runtime_resource_factor: None = None
    secrets_store: dict[str, Any] = {}
    enable_sound_notifications: Literal[False] = False
    enable_proactive_conversation_starters: Literal[False] = False
    user_consents_to_analytics: Literal[False] = False
    """Always false: there is no telemetry."""
    sandbox_base_container_image: None = None
    sandbox_runtime_container_image: None = None
    search_api_key: None = None
    sandbox_api_key: None = None
    email: None = None
    email_verified: None = None
    git_full_clone: Literal[True] = True
    v1_enabled: Literal[True] = True
    active_agent_profile_id: None = None
    active_agent_profile_revision: None = None


class ConversationSettings(BaseModel):
    """The settings of new conversations.

    If `confirmation_mode` is true, the agent asks for confirmation: before risky steps if `security_analyzer`
    is `llm`, otherwise before every step.
    """

    schema_version: Literal[1] = 1
    max_iterations: int
    confirmation_mode: bool
    security_analyzer: Literal["llm", "none"] | None


class LLMProfilesByName(BaseModel):
    """The model profiles of the user, in the form of the OpenHands API. `profiles`: the model settings, keyed
    by profile name; `api_key` is always null.
    """

    profiles: dict[str, Any]
    active: str | None


class SettingsOfUser(Fixed):
    agent_settings: dict[str, Any]
    conversation_settings: ConversationSettings
    max_budget_per_task: float | None
    """The maximum cost of one conversation in dollars, from the active model profile; null if not set."""
    git_user_name: str | None
    git_user_email: str | None
    commit_trailer: CommitTrailer
    """The last line of agents' commit messages in repositories for which `commit_trailers` has no entry."""
    commit_trailers: dict[str, CommitTrailer]
    """The last line of agents' commit messages in single repositories, by `host/owner/name`."""
    clone: CloneMode
    """How much of a repository's history is fetched when a conversation starts, if the request that starts
    the conversation does not contain this choice.
    """
    submodules: bool
    """Whether submodules are fetched when a conversation starts, if the request that starts the conversation
    does not contain this choice.
    """
    sandbox_grouping_strategy: GroupingStrategy
    default_sandbox_spec_id: str | None
    disabled_skills: list[str]
    """The names of the skills that are switched off for all conversations. The route
    `/api/v1/skills/choices` also returns the choices for single repositories.
    """
    registered_marketplaces: list[MarketplaceRegistration]
    """The marketplaces that the user has added."""
    inherited_marketplaces: list[MarketplaceRegistration]
    """The marketplaces that all users of this installation have. Administrators change them with `PUT
    /api/v1/marketplaces/shared`.
    """
    llm_profiles: LLMProfilesByName


class SettingsInfo(SettingsOfUser):
    """The reply with all settings of the user.

    `provider_tokens_set`: the git hosts for which the user has stored a token. The keys are the kinds of git
    hosts in the OpenHands API, such as `github`. The value is the name of the host, or null for the usual
    host of this kind, such as `github.com`.
    """

    llm_api_key_set: bool
    search_api_key_set: Literal[False] = False
    provider_tokens_set: dict[str, str | None]


class CurrentUserInfo(UserInfo, SettingsOfUser):
    """The current user with all settings of this user. `organisation`: the name of the user's
    organisation.
    """

    organisation: str


class LLMDiff(BaseModel):
    """The changes to the model settings in a request body. If `api_key` is left out or is the mask
    `**********`, the stored key stays; an empty text deletes the stored key.
    """

    model_config = ConfigDict(extra="forbid")

    model: ModelName | None = None
    base_url: BaseUrl | None = None
    api_key: ApiKey | None = None
    input_cost_per_token: TokenPrice | None = None
    output_cost_per_token: TokenPrice | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_mask(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("api_key") == MASK:
            return {name: value for name, value in given.items() if name != "api_key"}
        return given


class AgentSettingsDiff(BaseModel):
    model_config = ConfigDict(extra="forbid")

    agent_kind: Literal["openhands"] = "openhands"
    llm: LLMDiff = LLMDiff()


class ConversationSettingsDiff(BaseModel):
    model_config = ConfigDict(extra="forbid")

    schema_version: Literal[1] = 1
    max_iterations: MaxIterations | None = None
    confirmation_mode: bool | None = None
    security_analyzer: Literal["llm", "none"] | None = None


class SaveSettings(BaseModel):
    """The request body that changes the user's settings. A setting that is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    agent_settings_diff: AgentSettingsDiff = AgentSettingsDiff()
    conversation_settings_diff: ConversationSettingsDiff = ConversationSettingsDiff()
    max_budget_per_task: Dollars | None = None
    git_user_name: GitUserName | None = None
    git_user_email: GitUserEmail | None = None
    commit_trailer: CommitTrailer | None = None
    commit_trailers: CommitTrailers | None = None
    clone: CloneMode | None = None
    submodules: bool | None = None
    sandbox_grouping_strategy: GroupingStrategy | None = None
    default_sandbox_spec_id: Annotated[str, Field(max_length=100)] | None = None
    disabled_skills: DisabledSkills | None = None
    """The names of all skills that are switched off for all conversations. Replaces the previous list."""
    registered_marketplaces: Registrations | None = None
    """All marketplaces of the user. Replaces the previous list."""
    inherited_marketplaces: Registrations | None = None
    """The marketplaces that all users have. This request cannot change them: any other list than the present
    one is refused. The field exists because clients send back the settings that they have received.
    """

    @model_validator(mode="before")
    @classmethod
    def _without_fixed(cls, given: Any) -> Any:
        """Removes the settings from a request body that have one fixed value in Slipway, and returns the
        other settings. Clients send the fixed values back because they have received them.

        Accepts null or the fixed value for such a setting. Raises ValueError for any other value.
        """
        if not isinstance(given, Mapping):
            return given
        fixed = Fixed().model_dump()
        for name in sorted(given.keys() & fixed.keys()):
            if given[name] is not None and given[name] != fixed[name]:
                raise ValueError(f"{name} is not supported here")
        return {name: value for name, value in given.items() if name not in fixed}


class Saved(BaseModel):
    message: str
