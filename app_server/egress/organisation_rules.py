"""Reads and saves the rules of the organisation and of teams for the hosts that sandboxes may call or may not
call.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.addresses import HostRule, parse_rule
from app_server.egress.policy import RuleOfLevel
from app_server.levels import items
from app_server.levels.items import LevelItem
from app_server.levels.models import LevelItemKind
from app_server.levels.service import LevelOwner, setting_enforced


class SaveEgressRule(BaseModel):
    """A request to save a rule of the organisation or of a team for one host.

    allows: true allows sandboxes to call the host, false forbids it. enforced: whether the rule has priority
    over the network settings of users.
    """

    model_config = ConfigDict(extra="forbid")

    allows: bool
    description: Annotated[str, StringConstraints(strip_whitespace=True, max_length=1000)] | None = None
    enforced: bool = False


async def rules_for(session: AsyncSession, user_id: UUID) -> Sequence[RuleOfLevel]:
    """Returns the rules of the user's organisation and teams that allow or forbid hosts. Returns an empty
    list if there are none.
    """
    return [
        RuleOfLevel(parse_rule(item.name), replace(item.level_value, value=item.level_value.value["allows"]))
        for found in (await items.items_for(session, user_id, LevelItemKind.EGRESS_RULE)).values()
        for item in found
    ]


async def require_not_denied(session: AsyncSession, user_id: UUID, hosts: Iterable[HostRule]) -> None:
    """Checks the hosts that a user wants to allow. Raises Forbidden `setting_enforced` if an enforced rule of
    the organisation or of a team denies one of these hosts.
    """
    denials = [
        one
        for one in await rules_for(session, user_id)
        if one.level_value.enforced and not one.level_value.value
    ]
    for host in hosts:
        for denial in denials:
            if denial.rule == host or denial.rule.covers(host.host):
                raise setting_enforced(str(denial.rule), denial.level_value)


async def save_for_level(
    session: AsyncSession, owner: LevelOwner, name: str, body: SaveEgressRule, set_by: UUID
) -> LevelItem:
    """Adds or replaces the rule of the organisation or of a team for one host, and returns it. Raises
    Conflict `too_many_items` if the owner already has the maximum number of rules for hosts.

    owner: the organisation or the team. name: the host as text, such as `example.org`, `*.example.org` or
    `example.org:8443`. set_by: the id of the administrator who saves the rule.
    """
    value = {"allows": body.allows, "description": body.description}
    return await items.save_item(
        session,
        owner,
        LevelItemKind.EGRESS_RULE,
        name,
        value,
        encrypted=None,
        enforced=body.enforced,
        set_by=set_by,
    )
