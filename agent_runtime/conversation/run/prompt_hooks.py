"""Runs hooks of the type `prompt`. Such a hook is a question to the agent's model, which decides whether
something is allowed.
"""

from typing import Literal

import orjson
from pydantic import BaseModel

from agent_runtime.agent.judgement import ask_verdict
from agent_runtime.context.excerpts import shortened
from agent_runtime.context.system_prompt import render
from agent_runtime.conversation.run.budget import count_reply
from agent_runtime.conversation.run.context import RunContext
from agent_runtime.events.base import JsonObject
from agent_runtime.hooks.outcome import Outcome, failed
from agent_runtime.llm.errors import LLMError

USAGE_ID = "hook"
# The placeholder for the input in prompts that were written for Claude.
_PLACEHOLDER = "$ARGUMENTS"


class _Decision(BaseModel):
    decision: Literal["allow", "deny"]
    reason: str = ""


async def ask_hook(context: RunContext, instruction: str, payload: JsonObject) -> Outcome:
    """Asks the agent's model for the decision of a `prompt` hook, and returns the decision: allowed or
    refused. If the request to the model fails, the decision is "allowed". `instruction`: the hook's text.
    `payload`: the facts for the decision, such as the tool call to allow.
    """
    asked = instruction.replace(_PLACEHOLDER, "the input below")
    described = orjson.dumps(payload, option=orjson.OPT_INDENT_2).decode()
    try:
        verdict = await ask_verdict(
            _Decision,
            lambda chars: render("hook.j2", instruction=asked, input=shortened(described, chars)),
            context.agent.llm,
            context.llm_client,
            usage_id=USAGE_ID,
            on_reply=lambda llm, reply: count_reply(context, llm, reply),
        )
    except LLMError as error:
        return failed(f"{error.code}: {error}")
    return Outcome(is_blocked=verdict.decision == "deny", reason=verdict.reason.strip() or None)
