"""Request and reply bodies for the items (secrets, MCP servers, network rules and sandbox specs) that the
organisation and teams give to their members.
"""

from pydantic import BaseModel

from app_server.core.database import Id, Timestamp
from app_server.levels.models import Level, LevelItemKind
from app_server.mcp_servers.schemas import McpServerInfo
from app_server.sandbox_specs.schemas import GivenSandboxSpec


class GivenItem(BaseModel):
    """An item that the organisation or a team gives to the current user: a secret, an MCP server, a network
    rule or a sandbox spec (image and plugins for new sandboxes).

    `allows`: only for a network rule: true if the rule allows the host, false if it denies the host; null for
    other kinds of items. `sandbox_spec`: null for other kinds of items. `team_name`: null for items of the
    organisation. `enforced`: whether this item applies even if the user has added an item of the same name.
    `overridden_by`: who owns the item of the same name that applies in place of this item (the user, a team
    or the organisation); null if this item applies.
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
    """An item of the organisation or a team, as administrators see it: a secret, an MCP server, a network
    rule or a sandbox spec (image and plugins for new sandboxes).

    `allows`: only for a network rule: true if the rule allows the host, false if it denies the host.
    `mcp_server`: the MCP server without the values of headers and variables. `allows`, `mcp_server` and
    `sandbox_spec` are null for other kinds of items. `set_by`: the name of the administrator who saved the
    item; null if the account is deleted.

    `overriding_teams`: the teams with another item of this name that applies to their members in place of
    this item. `overriding_people`: how many people have added an item of this name that applies to them in
    place of this item.
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
