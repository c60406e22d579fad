"""Asks a model for a short title of a conversation."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from agent_runtime.context.system_prompt import render
from agent_runtime.events.base import Event
from agent_runtime.events.message import MessageEvent
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.llm.conversation_costs import add_usage
from agent_runtime.llm.errors import LLMError
from agent_runtime.llm.messages import Prompt, Reply

logger = logging.getLogger(__name__)

USAGE_ID = "title"
MAX_TITLE_CHARS = 80
_MAX_TASK_CHARS = 4000


@dataclass(frozen=True)
class Title:
    """A title for a conversation that a model has suggested. `text`: the title. `llm`: the model. `reply`:
    the model's reply, whose cost is added to the conversation's statistics.
    """

    text: str
    llm: LLM
    reply: Reply

    def events(self, stats: dict[str, Any]) -> list[Event]:
        """Returns the events that log the title and the cost of the model's reply. `stats`: the
        conversation's statistics (tokens and cost of the models) before this reply.
        """
        return [
            ConversationStateUpdateEvent(key="title", value=self.text),
            ConversationStateUpdateEvent(key="stats", value=add_usage(stats, self.llm, self.reply)),
        ]


def first_words(task: str) -> str | None:
    """Returns a title that is made without a model: the first line of `task` (the text of the user's first
    message) that is not empty, shortened. Returns None if all lines are empty.
    """
    lines = (" ".join(line.split()) for line in task[:_MAX_TASK_CHARS].splitlines())
    line = next((line for line in lines if line), None)
    if line is None or len(line) <= MAX_TITLE_CHARS:
        return line
    return line[: MAX_TITLE_CHARS - 1].rstrip() + "…"


async def generate(
    task: MessageEvent, llm: LLM, client: LLMClient, mask: Callable[[str], str] = str
) -> Title | None:
    """Asks a model for a short title for the conversation. `task`: the user's first message. Returns None if
    the model suggests no title or the request fails. A missing title is not an error.

    `mask`: a function that masks secrets in a text. It is applied to the model's reply before the reply is
    shortened to a title, because a shortened secret would not be recognized.
    """
    llm = llm.model_copy(update={"usage_id": USAGE_ID, "stream": False, "log_completions": False})
    question = render("title.j2", task=task.llm_message.text[:_MAX_TASK_CHARS])
    prompt = Prompt(messages=[orjson.dumps({"role": "user", "content": question})], role=USAGE_ID)
    try:
        reply = await client.complete(llm, prompt)
    except LLMError:
        logger.warning("no title could be made", exc_info=True)
        return None
    words = mask(reply.text).split()
    text = " ".join(words).strip("\"'`.").strip()[:MAX_TITLE_CHARS]
    return Title(text, llm, reply) if text else None
