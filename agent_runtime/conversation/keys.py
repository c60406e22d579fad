"""Adds API keys from clients to the configuration of a conversation's agent in memory, and stores the keys
encrypted in the log file, apart from the events.
"""

from agent_runtime.agent.agent import Agent, secrets_of
from agent_runtime.conversation.encrypted_keys import KeyEncryption, keep
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.conversation.unmasked_keys import with_keys
from agent_runtime.events.base import JsonObject


class ConversationKeys:
    """The API keys of one conversation. This object adds the keys to the agent's configuration in memory, and
    stores them in encrypted form on disk.

    `key_encryption`: the cipher that encrypts the keys; if it is None, keys are not stored on disk.
    """

    def __init__(self, context: RunContext, key_encryption: KeyEncryption | None) -> None:
        self._context = context
        self.key_encryption = key_encryption

    @property
    def are_lacking(self) -> bool:
        """Whether an MCP server of the conversation cannot be used because its secrets are missing. This
        happens after a restart, if the secrets were not stored on disk and no client has sent them again.
        """
        return self._context.toolbox.lacks_keys

    def take(self, given: JsonObject) -> None:
        """Adds API keys that a client has sent after a restart of the server. The client sends them again
        because the server may not have stored them on disk. `given`: the agent's configuration with these
        keys.

        Reconnects to MCP servers whose secrets have changed. Raises pydantic.ValidationError if `given` is
        not valid. Raises InvalidSecretError if a secret in it is not valid.
        """
        agent = Agent.model_validate(given)
        self._context.secrets.update(secrets_of(agent))
        self.fill(agent)
        self.keep()

    def fill(self, agent: Agent) -> None:
        """Copies API keys from the configuration `agent` to the configuration of the conversation's agent. A
        key is copied only if the model, condenser or MCP server to which it belongs is in both configurations
        and has the same settings in both.
        """
        self._context.agent = with_keys(self._context.agent, agent)
        self._context.toolbox.take_keys(self._context.agent)

    def keep(self) -> None:
        """Encrypts and stores the current API keys and secrets of the conversation, if encryption is
        available.
        """
        keep(self._context.log, self.key_encryption, self._context.agent, self._context.secrets)
