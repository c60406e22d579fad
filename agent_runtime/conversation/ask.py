"""A question beside the work: answered from what the agent knows, without a trace in its log."""

import orjson

from agent_runtime.context.system_prompt import render
from agent_runtime.conversation.conversation import Conversation
from agent_runtime.llm.messages import Prompt


async def ask(conversation: Conversation, question: str) -> str:
    """The agent's answer, also while it works. LLMError when its model cannot be asked."""
    asked = {"role": "user", "content": render("ask.j2", question=question)}
    prompt = Prompt(messages=[*conversation.messages(), orjson.dumps(asked)], role="ask")
    reply = await conversation.llm_client.complete(conversation.agent.llm, prompt)
    return reply.text
