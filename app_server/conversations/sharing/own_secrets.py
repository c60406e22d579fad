"""Collects the secret values that a user's agents can use. When the user makes a read-only link to a
conversation, the conversation is searched for these values.
"""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.encryption import Cipher
from app_server.egress.models import EgressCredential
from app_server.git.models import GitCredential
from app_server.levels.items import LevelItem, items_for
from app_server.levels.models import LevelItemKind
from app_server.mcp_servers.models import McpServer
from app_server.secrets.models import Secret
from app_server.settings.models import LLMProfile


async def own_secrets(session: AsyncSession, cipher: Cipher, user_id: UUID) -> dict[str, str]:
    """Returns the secret values that the user's agents can use. Each key is a name that describes the value.
    Included are the user's secrets, tokens of git hosts, keys and headers of model profiles, headers and
    variables of MCP servers, and network credentials. Secrets and MCP servers of the organisation and of the
    user's teams are included, too.
    """
    found: dict[str, str] = {}
    for secret in await session.scalars(select(Secret).where(Secret.user_id == user_id)):
        found[f"Secret {secret.name}"] = cipher.decrypt(secret.value_encrypted)
    for git in await session.scalars(select(GitCredential).where(GitCredential.user_id == user_id)):
        found[f"Token for {git.origin}"] = cipher.decrypt(git.token_encrypted)
    for profile in await session.scalars(select(LLMProfile).where(LLMProfile.user_id == user_id)):
        if profile.api_key_encrypted:
            found[f"Key of the model {profile.name}"] = cipher.decrypt(profile.api_key_encrypted)
        for header, value in profile.extra_headers_encrypted.items():
            found[f"Header {header} of the model {profile.name}"] = cipher.decrypt(value)
    for server in await session.scalars(select(McpServer).where(McpServer.user_id == user_id)):
        for name, value in _values(json.loads(cipher.decrypt(server.definition_encrypted))):
            found[f"{name} of the MCP server {server.name}"] = value
    for one in await session.scalars(select(EgressCredential).where(EgressCredential.user_id == user_id)):
        found[f"Credential for {one.host}"] = cipher.decrypt(one.value_encrypted)
    return found | await _values_of_levels(session, cipher, user_id)


async def _values_of_levels(session: AsyncSession, cipher: Cipher, user_id: UUID) -> dict[str, str]:
    """Returns the secret values that the user's agents get from the organisation and from the user's teams.
    Each key is a name that describes the value.
    """
    found: dict[str, str] = {}
    for items in (await items_for(session, user_id)).values():
        for item in items:
            found |= _values_of(cipher, item)
    return found


def _values_of(cipher: Cipher, item: LevelItem) -> dict[str, str]:
    """Returns the secret values inside `item`. Each key is a text for people that names the value, such as
    `Secret TOKEN of your organisation`. `item`: a secret or an MCP server of the organisation or of a team.
    """
    whose = item.level_value.whose
    match item.kind:
        case LevelItemKind.SECRET:
            return {f"Secret {item.name} of {whose}": cipher.decrypt(item.encrypted_part)}
        case LevelItemKind.MCP_SERVER:
            values = _values(json.loads(cipher.decrypt(item.encrypted_part)))
            return {f"{name} of the MCP server {item.name} of {whose}": value for name, value in values}
        case LevelItemKind.EGRESS_RULE | LevelItemKind.SANDBOX_SPEC:
            return {}


def _values(definition: Any) -> Iterator[tuple[str, str]]:
    for field in ("headers", "env"):
        for name, value in (definition.get(field) or {}).items():
            if isinstance(value, str):
                yield name, value.rpartition(" ")[2]
