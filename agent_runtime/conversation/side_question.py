"""Asks the agent a question in parallel with its work. Adds nothing to its log."""

import orjson

from agent_runtime.context.system_prompt import render
from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.conversation.errors import ConversationError
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import Prompt


async def ask(conversation: ConversationEngine, question: str) -> str:
    """Returns the agent's answer. Also works during a run. Raises ConversationError `llm_failed` if the model
    cannot be asked.
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
