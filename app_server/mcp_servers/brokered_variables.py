"""Protects the environment variables of those MCP servers that are commands in the sandbox: the values stay
in the app server.

The command gets a placeholder instead of the value. Sandboxes reach the internet through the egress proxy,
which is a part of the app server. The egress proxy replaces the placeholder by the value in the headers of
https requests. It does this only for hosts that the user has named for the variable.
"""

import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server.core.addresses import HostRule, parse_rule
from app_server.core.encryption import Cipher
from app_server.mcp_servers.in_effect import servers_for
from app_server.mcp_servers.schemas import Definition
from app_server.mcp_servers.service import definition_of

_PURPOSE = "stand-ins of variables"
_CORE_CHARACTERS = 40
# Programs check with which letters a token begins. These letters tell its kind and nothing about its secret.
_KIND = (
    r"(?:github_pat_|gh[opsu]_|glpat-|xox[abp]-|sk-ant-|sk-proj-|sk-|[sr]k_(?:live|test)_"
    r"|lin_api_|ntn_|hf_|figd_|sntrys_)"
)


@dataclass(frozen=True)
class BrokeredVariable:
    """An environment variable whose value stays in the app server, and the hosts to which the value may be
    sent.

    `stand_ins`: texts of which each can stand for the value. The placeholder in a sandbox is one of these
    texts. If the value begins with a well-known prefix such as `ghp_`, the placeholder has this prefix in
    front of the text, because programs check the prefix.
    """

    hosts: Sequence[HostRule]
    stand_ins: Sequence[str]
    value: str = field(repr=False)

    def goes_to(self, host: str, port: int) -> bool:
        return any(rule.permits(host, port) for rule in self.hosts)

    def put_into(self, text: str) -> str:
        """Returns `text` (the text of a request's header) with each placeholder replaced by the value of the
        variable. Also removes a prefix such as `ghp_` in front of the placeholder, because the value begins
        with its prefix.
        """
        for core in self.stand_ins:
            if core in text:
                text = re.sub(_KIND + "?" + core, lambda _: self.value, text)
        return text


async def brokered_variables(session: AsyncSession, cipher: Cipher, user_id: UUID) -> list[BrokeredVariable]:
    """Returns the environment variables whose values stay in the app server, for all MCP servers that are
    switched on for the user.
    """
    return [
        BrokeredVariable(hosts, _cores(cipher, server_id, name), definition.env[name])
        for server_id, definition in (await _enabled(session, cipher, user_id)).values()
        for name, hosts in _hosts(definition)
    ]


async def definitions_for_sandboxes(
    session: AsyncSession, cipher: Cipher, user_id: UUID
) -> dict[str, Definition]:
    """Returns the definitions of the MCP servers that are switched on for the user, by server name.
    Placeholders replace the values that stay in the app server.
    """
    found = await _enabled(session, cipher, user_id)
    return {
        name: _with_stand_ins(cipher, server_id, definition)
        for name, (server_id, definition) in found.items()
    }


def _with_stand_ins(cipher: Cipher, server_id: UUID, definition: Definition) -> Definition:
    stand_ins = {
        name: _kind_of(definition.env[name]) + _cores(cipher, server_id, name)[0]
        for name, _ in _hosts(definition)
    }
    return definition.model_copy(update={"env": {**definition.env, **stand_ins}})


async def _enabled(
    session: AsyncSession, cipher: Cipher, user_id: UUID
) -> dict[str, tuple[UUID, Definition]]:
    """Returns the id and the definition of each MCP server that is switched on for the user, by server
    name.
    """
    servers = await servers_for(session, user_id)
    return {
        server.name: (server.id, definition_of(cipher, server)) for server in servers if server.is_enabled
    }


def _hosts(definition: Definition) -> Iterable[tuple[str, list[HostRule]]]:
    """Returns the name of each variable whose value may only be sent to certain hosts, together with these
    hosts. Variables without hosts are left out. `definition`: the definition of the MCP server that has the
    variables.
    """
    return [(name, [*map(parse_rule, hosts)]) for name, hosts in definition.env_hosts.items() if hosts]


def _cores(cipher: Cipher, server_id: UUID, name: str) -> list[str]:
    """Returns the placeholders for the value of the environment variable `name`, without a prefix such as
    `ghp_`. New sandboxes get the first placeholder. `server_id`: the id of the MCP server to which the
    variable belongs.

    Each encryption key of the app server gives one placeholder, the newest key the first one. So placeholders
    that running sandboxes got before a change of the key stay valid. A placeholder does not depend on the
    value. So if the user changes the value, running conversations use the new value at once.
    """
    text = f"{server_id.hex}:{name}".encode()
    keys = cipher.signing_keys(_PURPOSE)
    return [hmac.new(key, text, "sha256").hexdigest()[:_CORE_CHARACTERS] for key in keys]


def _kind_of(value: str) -> str:
    found = re.match(_KIND, value)
    return found[0] if found else ""
