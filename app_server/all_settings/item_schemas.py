"""Request and reply bodies for the items that the organisation and teams give to their members."""

from pydantic import BaseModel

from app_server.core.database import Id, Timestamp
from app_server.levels.models import Level, LevelItemKind
from app_server.mcp_servers.schemas import McpServerInfo
from app_server.sandbox_specs.schemas import GivenSandboxSpec


class GivenItem(BaseModel):
    """A secret, an MCP server, a rule of the network or a sandbox spec that the organisation or a team gives
    to the current user.

    `allows`: whether a rule of the network allows the host or denies it; null for other kinds.
    `sandbox_spec`: null for other kinds. `team_name`: null for the organisation's. `enforced`: an own one of
    this name does not override it. `overridden_by`: the level whose item of this name holds instead; null if
    this one holds.
    """

    kind: LevelItemKind
    name: str
    description: str | None
    allows: bool | None
    sandbox_spec: GivenSandboxSpec | None
    level: Level
    team_name: str | None
    enforced: bool
    overridden_by: Level | None


class AdministeredItem(BaseModel):
    """An item of the organisation or a team, as administrators see it.

    `allows`, `sandbox_spec`: as in GivenItem. `mcp_server`: null for other kinds; without the values of
    headers and variables. `set_by`: the name of the administrator; null if the account is deleted.
    `overriding_teams`: the teams with an item of this name that holds instead. `overriding_people`: how many
    people have added one of this name that holds instead.
    """

    kind: LevelItemKind
    name: str
    description: str | None
    allows: bool | None
    level: Level
    team_id: Id | None
    team_name: str | None
    enforced: bool
    mcp_server: McpServerInfo | None
    sandbox_spec: GivenSandboxSpec | None
    set_by: str | None
    updated_at: Timestamp
    overriding_teams: list[str]
    overriding_people: int
