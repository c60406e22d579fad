"""The keys of a conversation: given by its clients, filled into its agent, and sealed beside its log."""

from agent_runtime.agent.agent import Agent, secrets_of
from agent_runtime.conversation.known_keys import with_keys
from agent_runtime.conversation.sealed_keys import Sealing, keep
from agent_runtime.conversation.toolbox import Toolbox
from agent_runtime.conversation.working import Working
from agent_runtime.events.base import JsonObject


class ConversationKeys:
    """sealing: how they are kept on disk; without it they are not."""

    def __init__(self, conversation: Working, toolbox: Toolbox, sealing: Sealing | None) -> None:
        self._conversation = conversation
        self._toolbox = toolbox
        self.sealing = sealing

    @property
    def are_lacking(self) -> bool:
        """Secrets of MCP servers were not kept, and have not come again."""
        return self._toolbox.lacks_keys

    def take(self, given: JsonObject) -> None:
        """After a restart keys that are not sealed come again, with what they belong to.

        MCP servers whose secrets have changed are reached anew. Raises pydantic.ValidationError for what is
        no agent, InvalidSecretError.
        """
        agent = Agent.model_validate(given)
        self._conversation.secrets.update(secrets_of(agent))
        self.fill(agent)
        self.keep()

    def fill(self, agent: Agent) -> None:
        """Takes the keys of an agent for what both have in common."""
        self._conversation.agent = with_keys(self._conversation.agent, agent)
        self._toolbox.take_keys(self._conversation.agent)

    def keep(self) -> None:
        """Seals keys and secrets as they are now, where there is a way to."""
        keep(self._conversation.log, self.sealing, self._conversation.agent, self._conversation.secrets)
