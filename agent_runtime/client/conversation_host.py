"""Stores the open conversations of one program: the main conversation, which the program has opened, and the
conversations of its sub-agents. The agents of these conversations run in this process.
"""

import asyncio
from pathlib import Path
from uuid import UUID

from pydantic import ValidationError

from agent_runtime.client.completion_files import write_completion
from agent_runtime.context.git_state import GitState
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.creation import create_conversation, open_conversation
from agent_runtime.conversation.event_log.log import LogInUseError, LogMissingError
from agent_runtime.delegation.separate_work_tree import let_go
from agent_runtime.delegation.tasks import SubAgents
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.secrets.registry import Secrets
from agent_runtime.tools.delegation import Delegation, DelegationError
from agent_runtime.tools.registry import ToolNotFoundError
from agent_runtime.wire import StartConversationRequest


class InProcessHost:
    """The open conversations of a program that uses this library: the main conversation and the conversations
    of its sub-agents. A conversation is open if its agent runs in this process.

    This object creates, finds and closes the conversations of the sub-agents. Their logs are stored in the
    same directory as the log of the main conversation.
    """

    def __init__(self, root: Path, client: LLMClient) -> None:
        self._root = root
        self._client = client
        self._live: dict[UUID, ConversationEngine] = {}
        self._begun: set[UUID] = set()

    @property
    def trees(self) -> Path:
        return self._root / "worktrees"

    def delegation_of(self, conversation_id: UUID) -> Delegation:
        return Delegation(tasks=SubAgents(conversation_id, self))

    def take_in(self, conversation: ConversationEngine) -> None:
        """Adds an open conversation to this collection, so that `close` also closes this conversation. From
        now on, each model call of the conversation is logged to a file, if its model has a folder for such
        logs.
        """
        conversation.run_context.on_completion = write_completion
        self._live[conversation.id] = conversation

    def find(self, conversation_id: UUID) -> ConversationEngine | None:
        if conversation_id in self._live:
            return self._live[conversation_id]
        try:
            found = open_conversation(
                self._directory(conversation_id),
                self._client,
                delegation=self.delegation_of(conversation_id),
            )
        except LogMissingError:
            return None
        except LogInUseError as error:
            raise DelegationError(f"Conversation {conversation_id} is open in another process.") from error
        self.take_in(found)
        return found

    def create(
        self, request: StartConversationRequest, secrets: Secrets, git: GitState | None
    ) -> ConversationEngine:
        assert request.conversation_id is not None
        try:
            made = create_conversation(
                self._directory(request.conversation_id),
                request,
                self._client,
                secrets=secrets,
                delegation=self.delegation_of(request.conversation_id),
                git=git,
            )
        except (OSError, ToolNotFoundError, ValidationError) as error:
            raise DelegationError(f"The sub-agent cannot be started: {error}") from error
        self.take_in(made)
        self._begun.add(made.id)
        return made

    def model(self, name: str) -> LLM | None:
        """Returns None, because a program that uses this library has no saved models that could be chosen by
        name.
        """
        del name
        return None

    async def put_away(self, conversation: ConversationEngine) -> None:
        del self._live[conversation.id]
        await conversation.close()

    async def close(self) -> None:
        """Closes all conversations. The main conversation is closed first, which stops its sub-agents."""
        for conversation in list(self._live.values()):
            await conversation.close()
        self._live.clear()

    async def forget(self, first: ConversationEngine) -> None:
        """Deletes the git work trees and git refs of the sub-agents that this object has created. A work tree
        is a directory with a separate copy of the repository's files, in which one sub-agent has worked. Must
        be called after `close`. `first`: the main conversation.

        Keeps the work tree and refs of a sub-agent if its changes conflict with the main conversation's
        changes, because there is no other copy of them.
        """
        if not await asyncio.to_thread(self.trees.exists):
            return
        conflicting_ids = {
            task.conversation_id for task in first.state.tasks.values() if task.status == "conflict"
        }
        for child_id in self._begun - conflicting_ids:
            await let_go(first.spec.working_dir, child_id, self.trees)

    def _directory(self, conversation_id: UUID) -> Path:
        return self._root / conversation_id.hex
