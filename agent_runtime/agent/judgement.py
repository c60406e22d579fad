"""Asks a model for a judgement in the form of JSON and parses the reply. The caller gives the question and
the form of the judgement, a pydantic class.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from agent_runtime.calls_in_text.arguments import object_of
from agent_runtime.context.excerpts import excerpts, shortened
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import LLMContextWindowError, LLMMalformedReplyError
from agent_runtime.llm.messages import Prompt, Reply

MAX_ANSWERS = 3
"""How many unusable answers a model may give when it is asked for a judgement. After that, the request for
the judgement fails.
"""

_RECORD_CHARS = (160_000, 40_000, 10_000)
_MESSAGE_CHARS = (6000, 1500, 400)
_MAX_QUOTED_CHARS = 2000

VerdictT = TypeVar("VerdictT", bound=BaseModel)

Question = Callable[[int], str]
"""A function that returns the text of the question for a judge (a model that checks the agent's work). The
function's argument is the maximum number of characters of the conversation's record (its messages) in that
text.
"""

OnReply = Callable[[LLM, Reply], None]
"""A function that is called with every reply of the model, also with unusable replies, because each reply
costs money.
"""


async def ask_verdict(
    form: type[VerdictT], question: Question, llm: LLM, client: LLMClient, *, usage_id: str, on_reply: OnReply
) -> VerdictT:
    """Asks a model for a judgement of the agent's work and returns it as an object of the pydantic class
    `form`. Raises LLMError if the request fails or if none of the model's answers fits this class.

    `question`: builds the text of the question; its argument is the maximum length of the data to judge, such
    as the conversation's messages. If the text does not fit into the model's context window, the model is
    asked again with shorter data. `usage_id`: the name under which the cost of these requests is counted.
    `on_reply`: called with each reply, to count its cost.
    """
    judge = llm.model_copy(update={"usage_id": usage_id, "stream": False})
    wordings = list(dict.fromkeys(map(question, _RECORD_CHARS)))
    for wording in wordings:
        try:
            return await _ask(form, wording, judge, client, on_reply)
        except LLMContextWindowError:
            if wording is wordings[-1]:
                raise
    raise AssertionError("the last attempt either returns or raises")


def record(messages: Sequence[bytes], max_chars: int) -> list[dict[str, str]]:
    """Returns the messages of a conversation for a model that judges the agent's work, each as a dict with
    `role` and `text`. The system prompt is left out. `messages`: the messages as JSON.

    Together, the texts have at most about `max_chars` characters. To reach this, long messages are cut. If
    this is not enough, messages in the middle are left out.
    """
    found: list[dict[str, str]] = []
    for chars in _MESSAGE_CHARS:
        found = [one for one in excerpts(messages, chars) if one["role"] != "system"]
        if _size(found) <= max_chars:
            return found
    return _without_middle(found, max_chars)


async def _ask(
    form: type[VerdictT], question: str, judge: LLM, client: LLMClient, on_reply: OnReply
) -> VerdictT:
    messages = [_chat_message("user", question)]
    problem = ""
    for _ in range(MAX_ANSWERS):
        reply = await client.complete(judge, Prompt(messages=messages, role=judge.usage_id))
        on_reply(judge, reply)
        try:
            return _read(form, reply.text)
        except ValueError as error:
            problem = _explain(error)
            again = f"That cannot be used: {problem}. Answer again, with the JSON object alone."
            answer = shortened(reply.text.strip(), _MAX_QUOTED_CHARS) or "(nothing)"
            messages = [messages[0], _chat_message("assistant", answer), _chat_message("user", again)]
    raise LLMMalformedReplyError(
        f"The model gave no verdict that can be used, {MAX_ANSWERS} times in a row: {problem}."
    )


def _read(form: type[VerdictT], text: str) -> VerdictT:
    """Parses the JSON object in the model's answer as the pydantic class `form` and returns the result.
    Raises ValueError if the answer contains no JSON object, or a JSON object that does not fit the class.
    """
    # Some models write a sentence before or after the JSON.
    inner = text[text.find("{") : text.rfind("}") + 1]
    found = object_of(inner) if inner else None
    if found is None:
        raise ValueError("there is no JSON object in it")
    return form.model_validate(found)


def _explain(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    problems = error.errors(include_input=False, include_url=False, include_context=False)
    return "; ".join(f"`{'.'.join(map(str, one['loc']))}`: {one['msg']}" for one in problems)


def _chat_message(role: str, text: str) -> bytes:
    return orjson.dumps({"role": role, "content": text})


def _size(messages: Sequence[dict[str, str]]) -> int:
    return sum(len(message["text"]) for message in messages)


def _without_middle(messages: list[dict[str, str]], max_chars: int) -> list[dict[str, str]]:
    """Returns the first message, which contains the task, and as many of the last messages as fit into
    `max_chars` characters. Between them is a note that says how many messages are left out.
    """
    first, last_messages = messages[:1], []
    room = max_chars - _size(first)
    for message in reversed(messages[1:]):
        room -= len(message["text"])
        if room < 0:
            break
        last_messages.append(message)
    left_out = len(messages) - len(first) - len(last_messages)
    note = {"role": "note", "text": f"{left_out} messages are left out here."}
    return [*first, note, *reversed(last_messages)]
