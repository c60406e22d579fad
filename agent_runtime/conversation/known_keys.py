"""Keys that come again: after a restart asterisks stand where an agent's secrets were. Pure."""

from typing import Any

from pydantic import SecretStr

from agent_runtime.agent.agent import Agent
from agent_runtime.conversation.spec import mask
from agent_runtime.events.base import JsonObject
from agent_runtime.llm.config import LLM, MASK
from agent_runtime.tools.mcp.config import named_servers


def with_keys(standing: Agent, given: Agent) -> Agent:
    """The agent as it stands, with the given one's keys in all that both have in common.

    A key belongs to what it came with, be it a model, a condenser or an MCP server: where anything else of
    that differs, it is not taken. Asterisks are no keys.
    """
    parts, servers = _filled_parts(standing, given), _filled_servers(standing, given)
    return Agent.model_validate({**revealed(standing), **parts, "mcp_config": servers})


def without_keys(agent: Agent) -> Agent:
    """As it is read from where no keys are kept."""
    return Agent.model_validate(mask(agent.model_dump(mode="json")))


def revealed(data: Agent | LLM) -> JsonObject:
    """It as JSON, its keys in clear."""
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
    """What is given, but for keys that are none. Both are the same in everything that is not secret."""
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
