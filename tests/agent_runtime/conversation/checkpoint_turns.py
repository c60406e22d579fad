"""Helpers for tests of checkpoints: they run turns of an agent and read the checkpoints that
the turns leave.
"""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.wire import CheckpointInfo, CheckpointKind, RewindRequest
from tests.agent_runtime.conversation.conftest import user
from tests.support.scripted_llm import ScriptedLLM, call, say

BOTH = RewindRequest()


FILES = RewindRequest(chat=False)


async def turn(conversation: ConversationEngine, llm: ScriptedLLM, command: str, text: str = "Go.") -> None:
    """Runs one turn: the user sends `text`, the agent runs `command` in the terminal and then answers."""
    llm.script(call("terminal", command=command), say("Done."))
    conversation.send(user(text))
    await conversation.run()


def checkpoints(conversation: ConversationEngine, kind: CheckpointKind) -> list[CheckpointInfo]:
    return [one for one in conversation.checkpoints.list().checkpoints if one.kind is kind]


def turns(conversation: ConversationEngine) -> list[CheckpointInfo]:
    return checkpoints(conversation, CheckpointKind.TURN)
