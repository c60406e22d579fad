"""Shortens the prompt of a model: selects older messages to remove from the prompt, and asks a model to
summarize these messages.

The event log still contains all messages; only the prompt is shortened. The function `plan` has no side
effects; the function `summarize` sends a request to a model.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import orjson
from pydantic import ConfigDict, Field

from agent_runtime.context.excerpts import excerpts
from agent_runtime.context.system_prompt import render
from agent_runtime.context.view import Passage
from agent_runtime.events.condensation import Condensation
from agent_runtime.llm.complete import LLMClient
from agent_runtime.llm.config import LLM
from agent_runtime.llm.errors import LLMContextWindowError, LLMMalformedReplyError
from agent_runtime.llm.known_fields import KnownFieldsOnly
from agent_runtime.llm.messages import Prompt, Reply

USAGE_ID = "condenser"
PROTOCOL_MAX_SIZE = 240
"""The value of `max_size` (the maximum number of events in a prompt) that clients send if their user has not
chosen a value. Because the user did not choose it, this limit is applied only if no limit in tokens is known.
A limit in tokens is better, because one event can be a thousand times as large as another.
"""
USED_OF_WINDOW = 0.8
"""The fraction of the model's context window that the prompt may fill before older messages are summarized.
The rest is kept free for the model's reply and the next tool results.
"""

_CHARS_PER_MESSAGE = (6000, 1500, 400, 100)


class NoOpCondenser(KnownFieldsOnly):
    """A condenser (an object that shortens the prompt) that does nothing: the prompt is never shortened."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: Literal["NoOpCondenser"] = "NoOpCondenser"


class LLMSummarizingCondenser(KnownFieldsOnly):
    """A condenser (an object that shortens the prompt) that works when the prompt has too many tokens or
    events. A model then writes a summary, which replaces the middle of the prompt. The first and the newest
    events stay unchanged.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    llm: LLM
    max_size: int = Field(
        default=PROTOCOL_MAX_SIZE,
        ge=4,
        description="Events the view may have. The default of 240 counts only if no window is known",
    )
    max_tokens: int | None = Field(
        default=None, ge=1, description="Tokens the view may have; unset: most of the model's context window"
    )
    keep_first: int = Field(default=2, ge=0, description="Events at the beginning that are kept as they are")
    minimum_progress: float = Field(default=0.1, gt=0, lt=1, description="The part that must be forgotten")
    kind: Literal["LLMSummarizingCondenser"] = "LLMSummarizingCondenser"


class PipelineCondenser(KnownFieldsOnly):
    """A list of condensers (objects that shorten the prompt) that are tried in order. The first condenser
    whose limit is reached makes the summary.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    condensers: "list[Condenser]" = []
    kind: Literal["PipelineCondenser"] = "PipelineCondenser"


Condenser = Annotated[
    NoOpCondenser | LLMSummarizingCondenser | PipelineCondenser, Field(discriminator="kind")
]

PipelineCondenser.model_rebuild()


def summarizers(condenser: Condenser | None) -> Sequence[LLMSummarizingCondenser]:
    """Returns the condensers (objects that shorten the prompt) that make summaries, including condensers
    inside a pipeline, in the order in which they are tried.
    """
    match condenser:
        case LLMSummarizingCondenser():
            return [condenser]
        case PipelineCondenser():
            return [found for one in condenser.condensers for found in summarizers(one)]
        case _:
            return []


def with_summarizing_llm(condenser: Condenser | None, llm: LLM) -> Condenser | None:
    """Returns a copy of the condenser (an object that shortens the prompt) in which the model `llm` makes the
    summaries. Condensers inside a pipeline use `llm`, too. Returns None if `condenser` is None.
    """
    match condenser:
        case LLMSummarizingCondenser():
            return condenser.model_copy(update={"llm": llm})
        case PipelineCondenser():
            changed = [with_summarizing_llm(one, llm) for one in condenser.condensers]
            return condenser.model_copy(update={"condensers": changed})
        case _:
            return condenser


@dataclass(frozen=True)
class CondensationPlan:
    """A plan that says which messages of a prompt a summary replaces. `forgotten`: the groups of messages to
    replace. `offset`: the number of events in the prompt that come before the summary. `condenser`: the
    settings for the summary, such as the model that writes it.
    """

    forgotten: Sequence[Passage]
    offset: int
    condenser: LLMSummarizingCondenser

    def to_event(self, summary: str, response_id: str, unsummarized: str = "") -> Condensation:
        """Returns the event that records the condensation in the log. `summary`: the text that replaces the
        messages. `response_id`: the id of the model's reply with the summary. `unsummarized`: a text that
        must stay in the prompt word for word, such as the user's last message; it is added to the end of the
        summary.
        """
        summary = f"{summary}\n\n{unsummarized}" if unsummarized else summary
        return Condensation(
            forgotten_event_ids=[event_id for passage in self.forgotten for event_id in passage.event_ids],
            summary=summary,
            summary_offset=self.offset,
            llm_response_id=response_id,
        )


def plan(
    passages: Sequence[Passage],
    condenser: LLMSummarizingCondenser,
    *,
    context_tokens: int,
    window_tokens: int | None = None,
    is_requested: bool = False,
) -> CondensationPlan | None:
    """Decides which messages of the prompt a summary must replace now, and returns this as a plan. Returns
    None if no limit is reached, or if a summary would not make the prompt shorter.

    `passages`: the groups of messages in the prompt. `context_tokens`: the size of the next prompt in tokens.
    `window_tokens`: the context window of the agent's model; None if not known. `is_requested`: whether to
    make a plan even if no limit is reached.
    """
    limit = _token_limit(condenser, window_tokens)
    size = _events(passages)
    max_size = _event_limit(condenser, limit)
    is_too_full = limit is not None and context_tokens > limit
    if not (is_requested or size > max_size or is_too_full):
        return None
    fitting = min(1.0, limit / context_tokens) if limit is not None and context_tokens else 1.0
    # Without the system prompt an agent would no longer know what it is.
    first = max(_head(passages, condenser.keep_first), _has_system_prompt(passages))
    last = _tail(
        passages,
        max_events=int(min(size, max_size)) // 2,
        max_tokens=int(sum(passage.tokens for passage in passages) * fitting / 2),
    )
    forgotten = passages[first:last]
    needed = max(2, math.ceil(condenser.minimum_progress * size))
    if _events(forgotten) < (2 if is_requested else needed):
        return None
    return CondensationPlan(forgotten, _events(passages[:first]), condenser)


def reads_same_cache(condenser: LLMSummarizingCondenser, agent_llm: LLM) -> bool:
    """Returns whether the condenser (an object that shortens the prompt) can reuse the agent's prompts that
    the vendor has in its cache. This is the case if prompts of the agent's model are cached, and the
    condenser uses the same model at the same URL with the same API key.
    """
    own = condenser.llm
    return agent_llm.caching_prompt and (own.model, own.base_url, own.api_key) == (
        agent_llm.model,
        agent_llm.base_url,
        agent_llm.api_key,
    )


async def summarize_in_place(prompt: Prompt, llm: LLM, client: LLMClient) -> Reply | None:
    """Asks the agent's model to summarize its current prompt. The question is added to the end of the
    unchanged prompt. So the vendor can use the prompt that it has in its cache, which costs less.

    Returns the model's reply, or None if the prompt is too long. The model may wrongly call a tool in place
    of writing a summary; then the reply may have no text.
    """
    question = {"role": "user", "content": render("condense_here.j2")}
    asked = replace(prompt, messages=[*prompt.messages, orjson.dumps(question)], role=USAGE_ID)
    try:
        return await client.complete(llm, asked)
    except LLMContextWindowError:
        return None


async def summarize(what: CondensationPlan, llm: LLM, client: LLMClient) -> Reply:
    """Asks the condenser's model for a summary of the events that `what` lists, and returns the model's
    reply. The summary will replace these events in the prompt. Raises LLMError if no summary can be made.

    If the events are too long for the model's context window, asks again with a shorter part of each message.
    """
    for chars in _CHARS_PER_MESSAGE:
        question = {
            "role": "user",
            "content": render("condense.j2", messages=excerpts(_messages(what.forgotten), chars)),
        }
        prompt = Prompt(messages=[orjson.dumps(question)], role=USAGE_ID)
        try:
            reply = await client.complete(llm, prompt)
        except LLMContextWindowError:
            if chars == _CHARS_PER_MESSAGE[-1]:
                raise
            continue
        if not reply.text.strip():
            raise LLMMalformedReplyError("The condenser's model answered without a summary.")
        return reply
    raise AssertionError("the last attempt either returns or raises")


def usage_llm(condenser: LLMSummarizingCondenser, agent_llm: LLM) -> LLM:
    """Returns the model that the condenser (an object that shortens the prompt) uses for summaries. The
    returned model does not stream its replies. Its usage id (the name under which the cost is counted)
    differs from that of the agent's model, so that the cost of summaries is counted separately.
    """
    own = condenser.llm.usage_id
    usage_id = USAGE_ID if own == agent_llm.usage_id else own
    return condenser.llm.model_copy(update={"usage_id": usage_id, "stream": False})


def _token_limit(condenser: LLMSummarizingCondenser, window_tokens: int | None) -> int | None:
    if condenser.max_tokens is not None:
        return condenser.max_tokens
    return int(window_tokens * USED_OF_WINDOW) if window_tokens else None


def _event_limit(condenser: LLMSummarizingCondenser, token_limit: int | None) -> float:
    """Returns the maximum number of events in a prompt; a prompt with more events is condensed.

    The maximum is the condenser's `max_size`. But if the user has not changed `max_size` from its default and
    there is a limit for tokens, only the limit for tokens is used. In this case, returns infinity.
    `token_limit`: the maximum number of tokens; None if the number of tokens is not limited.
    """
    is_chosen = condenser.max_size != PROTOCOL_MAX_SIZE
    return condenser.max_size if is_chosen or token_limit is None else math.inf


def _has_system_prompt(passages: Sequence[Passage]) -> bool:
    return bool(passages) and orjson.loads(passages[0].messages[0]).get("role") == "system"


def _messages(passages: Iterable[Passage]) -> Iterator[bytes]:
    return (message for passage in passages for message in passage.messages)


def _events(passages: Iterable[Passage]) -> int:
    return sum(len(passage.event_ids) for passage in passages)


def _head(passages: Sequence[Passage], keep_first: int) -> int:
    """Returns the number of groups of messages (passages) at the beginning of the prompt that are not
    summarized, because they contain the first `keep_first` events. A passage is never split.
    """
    event_count = 0
    for index, passage in enumerate(passages):
        if event_count >= keep_first:
            return index
        event_count += len(passage.event_ids)
    return len(passages)


def _tail(passages: Sequence[Passage], *, max_events: int, max_tokens: int) -> int:
    """Returns where the last part of the prompt begins, as the index of the first passage (group of messages)
    in this part. The last part is not summarized. It contains as many passages as fit into `max_events` and
    `max_tokens`, but at least one.
    """
    events = tokens = 0
    for index in reversed(range(len(passages))):
        events += len(passages[index].event_ids)
        tokens += passages[index].tokens
        if (events > max_events or tokens > max_tokens) and index < len(passages) - 1:
            return index + 1
    return 0
