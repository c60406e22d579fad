"""Turns of an agent, and the checkpoints that they leave."""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.wire import CheckpointInfo, CheckpointKind, RewindRequest
from tests.agent_runtime.conversation.conftest import user
from tests.support.scripted_llm import ScriptedLLM, call, say

BOTH = RewindRequest()


FILES = RewindRequest(chat=False)


async def turn(conversation: ConversationEngine, llm: ScriptedLLM, command: str, text: str = "Go.") -> None:
    """The user says something, the agent runs one command and answers."""
    llm.script(call("terminal", command=command), say("Done."))
    conversation.send(user(text))
    await conversation.run()


def checkpoints(conversation: ConversationEngine, kind: CheckpointKind) -> list[CheckpointInfo]:
    return [one for one in conversation.checkpoints.list().checkpoints if one.kind is kind]


def turns(conversation: ConversationEngine) -> list[CheckpointInfo]:
    return checkpoints(conversation, CheckpointKind.TURN)
