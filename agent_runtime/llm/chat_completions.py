"""Implements OpenAI's protocol for chat completions: builds the request, and reads the model's reply,
streamed or not.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson

from agent_runtime.calls_in_text.surrogates import without_lone_surrogates
from agent_runtime.catalogue.parameters import has_cache_key, names_max_completion_tokens, thinking_budget
from agent_runtime.llm.capabilities import capabilities
from agent_runtime.llm.config import LLM
from agent_runtime.llm.dialect import OnPiece
from agent_runtime.llm.errors import LLMContentPolicyError, LLMMalformedReplyError
from agent_runtime.llm.lenient_json import TextInPieces, a_json_text, a_text, an_id, dicts
from agent_runtime.llm.messages import Prompt, Reply, RequestedCall
from agent_runtime.llm.outgoing import outgoing
from agent_runtime.llm.vendor_state import Gathered, state_in
from agent_runtime.metering.lenient_numbers import a_dict
from agent_runtime.metering.token_counts import Usage, usage_of

PATH = "/chat/completions"
MAX_CALLS = 128

_CUT, _FILTERED = "length", "content_filter"


def encode(llm: LLM, prompt: Prompt, model: str) -> bytes:
    # Messages arrive encoded and are joined, so that a call does not encode the whole history again.
    head = orjson.dumps(_parameters(llm, prompt, model))
    return head[:-1] + b',"messages":[' + b",".join(outgoing(prompt.messages, llm)) + b"]}"


def _parameters(llm: LLM, prompt: Prompt, model: str) -> dict[str, Any]:
    name = llm.model_canonical_name or llm.model
    limit = "max_completion_tokens" if names_max_completion_tokens(name) else "max_tokens"
    optional = {
        "temperature": llm.temperature,
        "top_p": llm.top_p,
        limit: llm.max_output_tokens,
        "reasoning_effort": llm.reasoning_effort if capabilities(llm).takes_effort else None,
        "prompt_cache_key": prompt.cache_key if llm.caching_prompt and has_cache_key(name) else None,
        "stop": llm.stop,
        "tools": list(prompt.tools) or None,
        "stream": True if llm.stream else None,
        "stream_options": {"include_usage": True} if llm.stream else None,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {
        **llm.litellm_extra_body,
        "model": model,
        **thinking_budget(llm.model, llm.thinking_budget),
        **given,
    }


@dataclass
class _PartialCall:
    id: str = ""
    name: str = ""
    # The pieces are joined at the end: adding a piece to a long text would copy the whole text.
    arguments: list[str] = field(default_factory=list)
    vendor_state: Gathered = field(default_factory=Gathered)


def stream(on_piece: OnPiece) -> "ChatCompletionStream":
    return ChatCompletionStream(on_piece)


class ChatCompletionStream:
    """A reply that is built from the chunks of a streamed chat completion. Implements the interface
    `dialect.StreamedReply`.
    """

    def __init__(self, on_piece: OnPiece) -> None:
        self._id = ""
        self._text = TextInPieces(lambda piece: on_piece("text", piece))
        self._reasoning = TextInPieces(lambda piece: on_piece("reasoning", piece))
        self._thinking: list[dict[str, Any]] = []
        self._calls: dict[int, _PartialCall] = {}
        self._vendor_state = Gathered()
        self._usage = Usage()
        self._finish_reason: Any = None

    @property
    def is_finished(self) -> bool:
        return bool(self._finish_reason)

    def add(self, chunk: dict[str, Any]) -> None:
        self._id = self._id or an_id(chunk.get("id"))
        if usage := a_dict(chunk.get("usage")):
            self._usage = usage_of(usage)
        for choice in dicts(chunk.get("choices"))[:1]:
            self._add_delta(a_dict(choice.get("delta")))
            self._finish_reason = choice.get("finish_reason") or self._finish_reason

    def build(self) -> Reply:
        calls = [
            {
                **call.vendor_state.state(),
                "id": call.id,
                "function": {"name": call.name, "arguments": "".join(call.arguments)},
            }
            for _, call in sorted(self._calls.items())
        ]
        message = {
            "content": str(self._text),
            "reasoning_content": str(self._reasoning),
            "thinking_blocks": self._thinking,
            "tool_calls": calls,
        }
        state = self._vendor_state.state()
        return _reply(self._id, message, state, self._usage, self._finish_reason)

    def _add_delta(self, delta: dict[str, Any]) -> None:
        self._vendor_state.add(delta)
        if reasoning := a_text(delta.get("reasoning_content") or delta.get("reasoning")):
            self._reasoning.add(reasoning)
        if text := a_text(delta.get("content")) or a_text(delta.get("refusal")):
            self._text.add(text)
        for block in dicts(delta.get("thinking_blocks")):
            _add_thinking(self._thinking, block)
        for position, part in enumerate(dicts(delta.get("tool_calls"))):
            self._add_call(position, part)

    def _add_call(self, position: int, part: dict[str, Any]) -> None:
        index = part.get("index")
        call = self._calls.setdefault(index if isinstance(index, int) else position, _PartialCall())
        function = a_dict(part.get("function"))
        call.id = call.id or an_id(part.get("id"))
        call.vendor_state.add(part)
        call.name += a_text(function.get("name"))
        arguments = function.get("arguments")
        call.arguments.append(arguments if isinstance(arguments, str) else a_json_text(arguments))


def parse(decoded: dict[str, Any]) -> Reply:
    """Converts a decoded chat completion to a Reply. Raises LLMMalformedReplyError if the chat completion is
    not valid.
    """
    choices = dicts(decoded.get("choices"))
    if not choices or not isinstance(choices[0].get("message"), dict):
        raise LLMMalformedReplyError("The model's server sent a reply without a message.")
    usage = usage_of(a_dict(decoded.get("usage")))
    message = choices[0]["message"]
    finish_reason = choices[0].get("finish_reason")
    return _reply(an_id(decoded.get("id")), message, state_in(message), usage, finish_reason)


def new_call_id() -> str:
    return f"call_{uuid4().hex[:24]}"


def _reply(
    reply_id: str, message: dict[str, Any], vendor_state: dict[str, Any], usage: Usage, finish_reason: Any
) -> Reply:
    calls = tuple(_call(call) for call in dicts(message.get("tool_calls"))[:MAX_CALLS])
    text = without_lone_surrogates(a_text(message.get("content")) or a_text(message.get("refusal")))
    if finish_reason == _FILTERED and not calls and not text.strip():
        raise LLMContentPolicyError("The vendor's content filter withheld the reply.")
    return Reply(
        id=reply_id or f"chatcmpl-{uuid4().hex}",
        text=text,
        reasoning=without_lone_surrogates(
            a_text(message.get("reasoning_content") or message.get("reasoning"))
        ),
        tool_calls=calls,
        usage=usage,
        thinking_blocks=tuple(_kept_thinking(message.get("thinking_blocks"))),
        vendor_state=vendor_state,
        was_cut=finish_reason == _CUT,
    )


def _call(call: dict[str, Any]) -> RequestedCall:
    function = a_dict(call.get("function"))
    return RequestedCall(
        id=an_id(call.get("id")) or new_call_id(),
        name=without_lone_surrogates(a_text(function.get("name"))),
        arguments=a_json_text(function.get("arguments")),
        vendor_state=state_in(call),
    )


def _add_thinking(blocks: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    """Adds a streamed piece to the last thinking block of a reply, or begins a new block. The pieces of one
    block arrive one after the other. The last piece has the vendor's signature, which proves that the model
    has written the block.
    """
    last = blocks[-1] if blocks else None
    if last is None or last.get("signature") or "redacted_thinking" in {piece.get("type"), last.get("type")}:
        blocks.append(dict(piece))
        return
    last["thinking"] = a_text(last.get("thinking")) + a_text(piece.get("thinking"))
    if signature := a_text(piece.get("signature")):
        last["signature"] = signature


def _kept_thinking(blocks: Any) -> list[dict[str, Any]]:
    """Returns the thinking blocks that are complete: redacted blocks with their data, and other blocks with a
    text and a signature. Incomplete blocks are left out. They cannot be repaired, because the vendor's
    signature covers every character.
    """
    complete_blocks: list[dict[str, Any]] = []
    for block in dicts(blocks):
        if block.get("type") == "redacted_thinking" and isinstance(block.get("data"), str):
            complete_blocks.append(
                {"type": "redacted_thinking", "data": without_lone_surrogates(block["data"])}
            )
        elif isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str):
            text, signature = (
                without_lone_surrogates(block["thinking"]),
                without_lone_surrogates(block["signature"]),
            )
            complete_blocks.append({"type": "thinking", "thinking": text, "signature": signature})
    return complete_blocks
