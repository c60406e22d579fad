"""HTTP routes for items that the organisation and teams give to their members: secrets, MCP servers, network
rules and sandbox specs (images and plugins of new sandboxes). Users read the items that apply to them;
administrators change the items.
"""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.all_settings.item_schemas import AdministeredItem, GivenItem
from app_server.all_settings.item_views import administered, administered_items, given_items
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import ReadSession, Session
from app_server.core.encryption import ServerCipher
from app_server.core.server_objects import ServerConfig
from app_server.egress import organisation_rules
from app_server.egress.organisation_rules import SaveEgressRule
from app_server.egress.schemas import HostText
from app_server.levels import items
from app_server.levels.models import LevelItemKind
from app_server.levels.service import LevelOwner
from app_server.mcp_servers import in_effect as mcp_servers
from app_server.mcp_servers.schemas import SaveMcpServerOfLevel, ServerNameInPath
from app_server.sandbox_specs import in_effect as sandbox_specs
from app_server.sandbox_specs.permission import permission_of, sandbox_specs_not_allowed
from app_server.sandbox_specs.schemas import SaveSandboxSpecOfLevel, SpecName
from app_server.sandboxes.service import ServerSandboxes
from app_server.secrets import in_effect as secrets
from app_server.secrets.schemas import SaveSecretOfLevel, SecretName
from app_server.teams.service import find_team
from app_server.users.models import User

router = APIRouter(prefix="/api/v1/settings/levels/items", tags=["Settings"])
administration_router = APIRouter(prefix="/api/v1/administration/items", tags=["Administration"])

ItemName = Annotated[str, Path(max_length=260)]

_TARGETS = {
    LevelItemKind.SECRET: AuditTarget.SECRET,
    LevelItemKind.MCP_SERVER: AuditTarget.MCP_SERVER,
    LevelItemKind.EGRESS_RULE: AuditTarget.NETWORK,
    LevelItemKind.SANDBOX_SPEC: AuditTarget.SANDBOX_SPEC,
}
_DELETED = {
    LevelItemKind.SECRET: AuditAction.SECRET_DELETED,
    LevelItemKind.MCP_SERVER: AuditAction.MCP_SERVER_DELETED,
    LevelItemKind.EGRESS_RULE: AuditAction.EGRESS_CHANGED,
    LevelItemKind.SANDBOX_SPEC: AuditAction.SANDBOX_SPEC_CHANGED,
}


@router.get("")
async def list_given_items(user: CurrentUser, session: ReadSession) -> list[GivenItem]:
    """Returns the items that the organisation and the user's teams give to the user, sorted by kind and name.
    Items are secrets, MCP servers, network rules and sandbox specs (images and plugins for new sandboxes).
    Values of secrets and URLs of MCP servers are left out.
    """
    return await given_items(session, user.id)


@administration_router.get("")
async def list_administered_items(
    user: CurrentUser, session: ReadSession, cipher: ServerCipher
) -> list[AdministeredItem]:
    """Returns the items of the organisation and of all its teams: secrets, MCP servers, network rules and
    sandbox specs (images and plugins for new sandboxes).

    An item of a team or of a person can apply in place of an item with the same name. For each item, the
    reply names the teams, and gives the number of people, for which this is so.
    """
    return await administered_items(session, cipher, user.organisation_id)


@administration_router.put("/secret/{name}")
async def save_secret_of_level(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    cipher: ServerCipher,
    name: Annotated[SecretName, Path()],
    body: SaveSecretOfLevel,
    team_id: UUID | None = None,
) -> AdministeredItem:
    """Adds or changes a secret of a team, or of the organisation if `team_id` is left out. Agents get the new
    value from their next command on. Returns the secret without its value.

    400 `secret_value_needed` if a new secret has no value. 404 `team_not_found` if there is no such team. 409
    `too_many_items` if the team or organisation has the maximum number of secrets.
    """
    owner = await _owner(user, session, team_id)
    item, is_new = await secrets.save_for_level(session, cipher, owner, name, body, user.id)
    action = AuditAction.SECRET_CREATED if is_new else AuditAction.SECRET_CHANGED
    trail.record(
        session,
        action,
        (AuditTarget.SECRET, name),
        has_new_value=body.value is not None,
        enforced=body.enforced,
        **_whose(owner),
    )
    return await administered(session, cipher, user.organisation_id, item)


@administration_router.put("/mcp_server/{name}")
async def save_mcp_server_of_level(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    cipher: ServerCipher,
    name: ServerNameInPath,
    body: SaveMcpServerOfLevel,
    team_id: UUID | None = None,
) -> AdministeredItem:
    """Adds or replaces an MCP server of a team, or of the organisation if `team_id` is left out.
    Conversations that are started from now on can use the server. A changed URL and changed headers are used
    from the next call on. Returns the saved MCP server.

    400 `mcp_sign_in_is_personal` if the server needs a sign-in of each person. 409 `mcp_headers_needed` if
    the stored value of a header would be sent to a new URL. 409 `mcp_variables_needed` if the stored value of
    a variable would be sent to new hosts. 404 `team_not_found` if there is no such team. 409 `too_many_items`
    if the team or organisation has the maximum number of MCP servers.
    """
    owner = await _owner(user, session, team_id)
    item, is_new = await mcp_servers.save_for_level(session, cipher, owner, name, body, user.id)
    trail.record(
        session,
        AuditAction.MCP_SERVER_CHANGED,
        (AuditTarget.MCP_SERVER, name),
        change="added" if is_new else "changed",
        enforced=body.enforced,
        **_whose(owner),
    )
    return await administered(session, cipher, user.organisation_id, item)


@administration_router.put("/egress_rule/{name}")
async def save_egress_rule_of_level(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    cipher: ServerCipher,
    name: Annotated[HostText, Path()],
    body: SaveEgressRule,
    team_id: UUID | None = None,
) -> AdministeredItem:
    """Adds or changes a network rule, which says whether sandboxes may send requests to a host. The rule
    belongs to a team, or to the organisation if `team_id` is left out. It applies to new requests at once.

    `name`: the host to which the rule applies: a host name or an IP address, with or without a port. A host
    name that begins with `*.` means all subdomains, for example `*.example.com`.

    404 `team_not_found` if there is no such team. 409 `too_many_items` if the team or organisation has the
    maximum number of rules.
    """
    owner = await _owner(user, session, team_id)
    item = await organisation_rules.save_for_level(session, owner, name, body, user.id)
    target = (AuditTarget.NETWORK, name)
    details = {"allows": body.allows, "enforced": body.enforced, **_whose(owner)}
    trail.record(session, AuditAction.EGRESS_CHANGED, target, **details)
    return await administered(session, cipher, user.organisation_id, item)


@administration_router.put(
    "/sandbox_spec/{name}",
    responses={
        400: {"description": "What it would be built from cannot be used"},
        403: {"description": "Sandboxes of this server cannot be built on other images"},
    },
)
async def save_sandbox_spec_of_level(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    cipher: ServerCipher,
    config: ServerConfig,
    sandboxes: ServerSandboxes,
    name: Annotated[SpecName, Path()],
    body: SaveSandboxSpecOfLevel,
    team_id: UUID | None = None,
) -> AdministeredItem:
    """Adds or replaces a sandbox spec of a team, or of the organisation if `team_id` is left out. A sandbox
    spec describes from which image and with which plugins a sandbox is started. New sandboxes can use the
    spec. The image is built when the first sandbox with this spec is created.

    400 `image_not_allowed` if the image is one of Slipway's own images. 403 `sandbox_specs_not_allowed` if
    the user may not choose specs. 404 `team_not_found` if there is no such team. 409 `too_many_items` if the
    team or organisation has the maximum number of specs.
    """
    if reason := permission_of(
        config, sandboxes.describe(), administers=user.administers_installation
    ).why_not_own:
        raise sandbox_specs_not_allowed(reason)
    owner = await _owner(user, session, team_id)
    item = await sandbox_specs.save_for_level(session, owner, name, body, user.id)
    target = (AuditTarget.SANDBOX_SPEC, name)
    details = {"is_default": body.is_default, "enforced": body.enforced, **_whose(owner)}
    trail.record(session, AuditAction.SANDBOX_SPEC_CHANGED, target, **details)
    return await administered(session, cipher, user.organisation_id, item)


@administration_router.delete("/{kind}/{name}", status_code=204)
async def delete_item_of_level(
    user: CurrentUser,
    trail: CurrentTrail,
    session: Session,
    kind: LevelItemKind,
    name: ItemName,
    team_id: UUID | None = None,
) -> None:
    """Deletes an item of a team, or of the organisation if `team_id` is left out. An item is a secret, an MCP
    server, a network rule or a sandbox spec (image and plugins for new sandboxes). Agents cannot use the
    item any more. 404 `item_not_set` if there is no such item. 404 `team_not_found` if there is no such team.
    """
    owner = await _owner(user, session, team_id)
    await items.delete_item(session, owner, kind, name)
    trail.record(session, _DELETED[kind], (_TARGETS[kind], name), change="deleted", **_whose(owner))


async def _owner(user: User, session: Session, team_id: UUID | None) -> LevelOwner:
    organisation_id = user.organisation_id
    team = None if team_id is None else await find_team(session, team_id, organisation_id)
    return LevelOwner(organisation_id, team=team)


def _whose(owner: LevelOwner) -> dict[str, Any]:
    return {"level": owner.level.value, "owner": owner.team.id.hex if owner.team else None}
