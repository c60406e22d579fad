"""Asks the agent's model a user's question that is not part of the conversation. This also works while the
agent is working. The question and the reply are not logged.
"""

import orjson

from agent_runtime.context.system_prompt import render
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import ConversationError
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import Prompt


async def ask(conversation: ConversationEngine, question: str) -> str:
    """Asks the agent's model a user's question and returns the model's reply. This also works while the agent
    is working. Raises ConversationError with the code `llm_failed` if the request to the model fails.
    """
    masker = conversation.secrets.masker
    asked = {"role": "user", "content": render("ask.j2", question=masker.text(question))}
    messages = [*conversation.run_context.model_input.messages(), orjson.dumps(asked)]
    prompt = Prompt(messages=messages, role="ask", cache_key=str(conversation.id))
    try:
        reply = await conversation.run_context.llm_client.complete(conversation.agent.llm, prompt)
    except LLMError as error:
        raise ConversationError("llm_failed", f"{error.code}: {error}") from error
    return masker.text(reply.text)
