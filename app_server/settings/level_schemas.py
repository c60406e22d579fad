"""The request and reply bodies of the routes for settings that the organisation, its teams and its users can
set, and the type of each setting's value.
"""

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
"""The type of each setting's value. Slipway checks that the values in requests have this type."""

SettingValue = bool | int | float | str


class LevelValueInfo(BaseModel):
    """The value of a setting that the organisation, a team or a user has set, in an HTTP reply.

    `level`: whether the organisation, a team or a user has set the value. `team_id`, `team_name`: the team
    that has set the value; null if no team has set it. `enforced`: whether the value cannot be overridden.
    Teams and users cannot override an enforced value of the organisation. Members of a team cannot override
    an enforced value of the team.
    """

    level: Level
    team_id: Id | None
    team_name: str | None
    value: SettingValue
    enforced: bool


class EffectiveSetting(BaseModel):
    """A setting with the value that applies to the current user, in an HTTP reply.

    `value`: null if no value is set, so that the server's default applies. `level`: whether the organisation,
    a team or the user has set the value; null if no value is set. `team_name`: the team that has set the
    value; null if no team has set it. `enforced`: whether the user cannot change the value. `overridden`: the
    other values that were set but do not apply; the value with the highest priority comes first.
    """

    name: SettingName
    value: SettingValue | None
    level: Level | None
    team_name: str | None
    enforced: bool
    overridden: list[LevelValueInfo]


class SaveLevelValue(BaseModel):
    """A request to set the value of a setting for the organisation or a team, or a quota for a person.
    `enforced`: if true, teams and users cannot override a value of the organisation, and members cannot
    override a value of their team.
    """

    model_config = ConfigDict(extra="forbid")

    value: SettingValue
    enforced: bool = False


class AdministeredValue(LevelValueInfo):
    """The value of a setting of the organisation or a team, or the quota of a person, in an HTTP reply to an
    administrator.

    `user_id`, `user_name`: the person who has the quota; null for the organisation and teams. `set_by`: the
    name of the user who has set the value; null if the account is deleted. `overriding_teams`: the names of
    the teams that have set another value for this setting. `overriding_people`: the number of people who have
    another value for it. For these teams and people, the other value applies.
    """

    name: SettingName
    user_id: Id | None
    user_name: str | None
    set_by: str | None
    updated_at: Timestamp
    overriding_teams: list[str]
    overriding_people: int
