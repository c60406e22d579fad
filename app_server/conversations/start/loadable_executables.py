"""Selects the project executables of a repository that a conversation can load: hooks, MCP servers,
sub-agents and plugins. Describes which of these executables the conversation does not use.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from agent_runtime.wire import ProjectExecutable
from app_server.agent_client.client import AgentClient
from app_server.conversations.repositories.workplaces import Checkout
from app_server.conversations.start.executables import LOADABLE_KINDS, CheckoutExecutables


@dataclass(frozen=True)
class LoadableExecutables:
    """The project executables in one folder that the conversation can load: hooks, MCP servers, sub-agents
    and plugins. allowed: the hashes of the executables that the user has allowed.
    """

    checkout: Checkout
    executables: Sequence[ProjectExecutable]
    allowed: Sequence[str]


def loadable_of(found: CheckoutExecutables) -> LoadableExecutables:
    loadable = [each for each in found.executables if each.kind in LOADABLE_KINDS]
    allowed = [each.hash for each in loadable if found.decisions.allows(each)]
    return LoadableExecutables(found.checkout, loadable, allowed)


async def left_out_of(
    client: AgentClient, conversation_id: UUID, loadable: Sequence[LoadableExecutables]
) -> list[str]:
    """Returns sentences about the hooks, MCP servers, sub-agents and plugins that the conversation does not
    use. One sentence names all executables that the user has not allowed. One more sentence is added for each
    MCP server that is not used because another server has the same name. `loadable`: the executables of all
    folders of the conversation; the agent's working folder comes first.
    """
    begin = [f"{one.checkout.name}/" if len(loadable) > 1 else "" for one in loadable]
    waiting = [
        f"{name}{each.path}"
        for name, one in zip(begin, loadable, strict=True)
        for each in one.executables
        if each.hash not in one.allowed
    ]
    sentences = (
        [f"Not used, because it is not allowed: {', '.join(dict.fromkeys(waiting))}."] if waiting else []
    )
    for number, one in enumerate(loadable):
        servers = [each for each in one.executables if each.kind == "mcp_server" and each.hash in one.allowed]
        if servers:
            directory = one.checkout.directory if number else None
            taken = (await client.executables_of(conversation_id, directory)).name_taken
            sentences += [
                f"The MCP server {each.name} of {begin[number]}{each.path} is not used: another server has "
                "this name."
                for each in servers
                if each.hash in taken
            ]
    return sentences
