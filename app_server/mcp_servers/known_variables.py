"""Adds the hosts of well-known environment variables to the definitions of MCP servers. The file
`known_variables.toml` lists the variables from which well-known MCP servers read their tokens, and the hosts
to which they send these tokens.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from app_server.mcp_servers.schemas import Definition, can_be_brokered


def with_known_hosts(definition: Definition) -> Definition:
    """Returns the definition of an MCP server with hosts added for well-known variables. A variable gets
    hosts only if the user has given no list of hosts for it, and if its value can stay in the app server.

    An empty list of hosts is a choice of the user: then no host is added, and the sandbox gets the value of
    the variable.
    """
    values = definition.env
    known = {
        name: hosts
        for name, hosts in _known_variables().items()
        if name in values and can_be_brokered(values[name])
    }
    return definition.model_copy(update={"env_hosts": {**known, **definition.env_hosts}})


@cache
def _known_variables() -> Mapping[str, Sequence[str]]:
    known: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("known_variables.toml").read_text())
    return known
