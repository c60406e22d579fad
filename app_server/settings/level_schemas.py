"""Request and reply bodies for settings at several levels, and the type of each setting's value."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, TypeAdapter

from agent_runtime.wire import Dollars
from app_server.core.database import Id, Timestamp
from app_server.levels.models import Level, SettingName
from app_server.levels.quotas import QUOTAS
from app_server.settings.cloning import CloneMode
from app_server.settings.commit_trailers import CommitTrailer
from app_server.settings.confirmation import ConfirmationMode
from app_server.settings.grouping import GroupingStrategy
from app_server.settings.schemas import ProfileName

MaxIterations = Annotated[int, Field(ge=1, le=100_000)]
Quota = Annotated[int, Field(ge=1, le=1_000_000)]

TYPES: Mapping[SettingName, TypeAdapter[Any]] = {
    SettingName.CONFIRMATION_MODE: TypeAdapter(ConfirmationMode),
    SettingName.MAX_ITERATIONS: TypeAdapter(MaxIterations),
    SettingName.SANDBOX_GROUPING_STRATEGY: TypeAdapter(GroupingStrategy),
    SettingName.COMMIT_TRAILER: TypeAdapter(CommitTrailer),
    SettingName.CLONE: TypeAdapter(CloneMode),
    SettingName.SUBMODULES: TypeAdapter(StrictBool),
    SettingName.MAX_BUDGET_PER_TASK: TypeAdapter(Dollars),
    SettingName.LLM_PROFILE: TypeAdapter(ProfileName),
    SettingName.MONTHLY_BUDGET: TypeAdapter(Dollars),
    **dict.fromkeys(QUOTAS, TypeAdapter(Quota)),
}
"""What the value of each setting looks like in the API."""

SettingValue = bool | int | float | str


class LevelValueInfo(BaseModel):
    """The value of a setting at one level: organisation, team or user. `team_id`, `team_name`: null unless
    the level is `team`.
    """

    level: Level
    team_id: Id | None
    team_name: str | None
    value: SettingValue
    enforced: bool


class EffectiveSetting(BaseModel):
    """A setting of the current user. `value`: the value that applies; null if no value is set, so that the
    server's default applies. `level`, `team_name`: where the value comes from. `enforced`: whether the user
    is not allowed to change the value. `overridden`: the values that do not apply, the strongest first.
    """

    name: SettingName
    value: SettingValue | None
    level: Level | None
    team_name: str | None
    enforced: bool
    overridden: list[LevelValueInfo]


class SaveLevelValue(BaseModel):
    """The request body that sets a value for the organisation or a team. `enforced`: whether teams and users
    cannot override the value.
    """

    model_config = ConfigDict(extra="forbid")

    value: SettingValue
    enforced: bool = False


class AdministeredValue(LevelValueInfo):
    """A setting value of the organisation or a team, or a person's quota, as administrators see it.

    `user_id`, `user_name`: the person who has the quota; null for the organisation and teams. `set_by`: the
    name of the administrator who set the value; null if the account is deleted. `overriding_teams`: the teams
    whose value applies instead. `overriding_people`: how many people have a value that applies instead.
    """

    name: SettingName
    user_id: Id | None
    user_name: str | None
    set_by: str | None
    updated_at: Timestamp
    overriding_teams: list[str]
    overriding_people: int
