"""Adds API keys to an agent's configuration that was stored with asterisks (masks) in place of its secrets.
Has no side effects.
"""

from typing import Any

from pydantic import SecretStr

from agent_runtime.agent.agent import Agent
from agent_runtime.conversation.spec import mask
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM, MASK
from agent_runtime.tools.mcp.config import named_servers


def with_keys(standing: Agent, given: Agent) -> Agent:
    """Returns a copy of the agent configuration `standing` with the API keys from the agent configuration
    `given`.

    A key belongs to one model, condenser or MCP server. It is copied only if this model, condenser or server
    has the same settings, apart from secrets, in both configurations. So a key is never used with a different
    server. A masked key (asterisks) is not copied.
    """
    parts, servers = _filled_parts(standing, given), _filled_servers(standing, given)
    return Agent.model_validate({**revealed(standing), **parts, "mcp_config": servers})


def without_keys(agent: Agent) -> Agent:
    """Returns a copy of the agent's configuration with all API keys and other secrets masked, as it is stored
    on disk.
    """
    return Agent.model_validate(mask(agent.model_dump(mode="json")))


def revealed(data: Agent | LLM) -> JsonObject:
    """Returns the agent or model configuration as JSON with its API keys in clear text."""
    shown: JsonObject = _revealed(data.model_dump())
    return shown


def _filled_parts(standing: Agent, given: Agent) -> JsonObject:
    before, now = revealed(standing), revealed(given)
    bare_before, bare_now = without_keys(standing).model_dump(), without_keys(given).model_dump()
    return {
        name: _filled(part, now[name])
        for name, part in before.items()
        if name in now and bare_before[name] == bare_now[name]
    }


def _filled_servers(standing: Agent, given: Agent) -> JsonObject:
    now = named_servers(given.mcp_config)
    return {
        name: _filled(server, now[name]) if name in now and mask(server) == mask(now[name]) else server
        for name, server in named_servers(standing.mcp_config).items()
    }


def _filled(standing: Any, given: Any) -> Any:
    """Returns a copy of `given` in which each missing secret is replaced by the secret at the same place in
    `standing`. A secret is missing if it is None or masked (asterisks). Apart from secrets, the two JSON
    values must be equal.

    For example, if `standing` is `{"api_key": "k"}` and `given` is `{"api_key": None}`, returns `{"api_key":
    "k"}`.
    """
    match given:
        case dict():
            return {name: _filled(standing[name], item) for name, item in given.items()}
        case list():
            return [_filled(*pair) for pair in zip(standing, given, strict=True)]
        case _:
            return standing if given in (None, MASK) else given


def _revealed(value: Any) -> Any:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case dict():
            return {name: _revealed(item) for name, item in value.items()}
        case list() | tuple():
            return [_revealed(item) for item in value]
        case _:
            return value
