"""Implements OpenAI's protocol Responses: builds the request, and reads the model's reply, streamed or not.
The vendor is asked to store nothing.

The model's reasoning arrives encrypted and is sent back unchanged, so that the model can continue from it.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import orjson

from agent_runtime.calls_in_text.surrogates import without_lone_surrogates
from agent_runtime.catalogue.parameters import has_cache_key
from agent_runtime.llm.capabilities import Capabilities, capabilities
from agent_runtime.llm.chat_completions import MAX_CALLS, new_call_id
from agent_runtime.llm.config import LLM
from agent_runtime.llm.dialect import OnPiece
from agent_runtime.llm.errors import LLMContentPolicyError, LLMMalformedReplyError, error_of_kind
from agent_runtime.llm.lenient_json import TextInPieces, a_json_text, a_text, an_id, dicts
from agent_runtime.llm.messages import Prompt, Reply, RequestedCall
from agent_runtime.llm.outgoing import without_images
from agent_runtime.llm.vendor_state import restored
from agent_runtime.metering.lenient_numbers import a_count, a_dict
from agent_runtime.metering.token_counts import usage_of_response

PATH = "/responses"

_ENDINGS = ("response.completed", "response.incomplete", "response.failed")
_TEXT_DELTAS = ("response.output_text.delta", "response.refusal.delta")
_REASONING_DELTAS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


def encode(llm: LLM, prompt: Prompt, model: str) -> bytes:
    decoded = [restored(orjson.loads(message), llm.model) for message in prompt.messages]
    instructions = decoded.pop(0)["content"] if decoded and decoded[0]["role"] == "system" else None
    can = capabilities(llm)
    name = llm.model_canonical_name or llm.model
    items = [item for message in decoded for item in _items(message, llm, can)]
    reasoning = {
        "effort": llm.reasoning_effort if can.takes_effort else None,
        "summary": llm.reasoning_summary,
    }
    optional = {
        "instructions": instructions,
        "temperature": llm.temperature,
        "top_p": llm.top_p,
        "max_output_tokens": llm.max_output_tokens,
        "prompt_cache_key": prompt.cache_key if llm.caching_prompt and has_cache_key(name) else None,
        "reasoning": {name: value for name, value in reasoning.items() if value} or None,
        "include": ["reasoning.encrypted_content"] if llm.enable_encrypted_reasoning else None,
        "tools": [_tool(tool["function"]) for tool in prompt.tools] or None,
        "stream": True if llm.stream else None,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    body = {**llm.litellm_extra_body, "model": model, "store": False, **given, "input": items}
    return orjson.dumps(body)


def stream(on_piece: OnPiece) -> "ResponsesStream":
    return ResponsesStream(on_piece)


class ResponsesStream:
    """A reply that is built from the events of a streamed response. Implements the interface
    `dialect.StreamedReply`.
    """

    def __init__(self, on_piece: OnPiece) -> None:
        self._text = TextInPieces(lambda piece: on_piece("text", piece))
        self._reasoning = TextInPieces(lambda piece: on_piece("reasoning", piece))
        self._items: list[dict[str, Any]] = []
        self._response: dict[str, Any] | None = None

    @property
    def is_finished(self) -> bool:
        return self._response is not None

    def add(self, chunk: dict[str, Any]) -> None:
        kind = chunk.get("type")
        if kind in _TEXT_DELTAS:
            self._text.add(a_text(chunk.get("delta")))
        elif kind in _REASONING_DELTAS:
            self._reasoning.add(a_text(chunk.get("delta")))
        elif kind == "response.reasoning_summary_part.added" and a_count(chunk.get("summary_index")):
            self._reasoning.add("\n\n")
        elif kind == "response.output_item.done":
            self._items.append(a_dict(chunk.get("item")))
        elif kind == "error":
            raise error_of_kind(_explanation(chunk))
        elif kind in _ENDINGS:
            self._response = a_dict(chunk.get("response"))

    def build(self) -> Reply:
        if self._response is None:
            raise LLMMalformedReplyError("The model's server ended its stream without a response.")
        # Some servers leave the output out of the last event: it was streamed already.
        return parse({**self._response, "output": self._response.get("output") or self._items})


def parse(decoded: dict[str, Any]) -> Reply:
    """Converts a decoded response to a Reply. Raises LLMMalformedReplyError if the response is not valid."""
    if decoded.get("status") == "failed":
        raise error_of_kind(_explanation(a_dict(decoded.get("error"))))
    if not isinstance(decoded.get("output"), list):
        raise LLMMalformedReplyError("The model's server sent a response without an output.")
    output = dicts(decoded["output"])
    calls, reasoning_item = _calls(output)
    text = without_lone_surrogates("\n".join(filter(None, (_message_text(item) for item in output))))
    reason = a_dict(decoded.get("incomplete_details")).get("reason")
    if reason == "content_filter" and not calls and not text.strip():
        raise LLMContentPolicyError("The vendor's content filter withheld the reply.")
    return Reply(
        id=an_id(decoded.get("id")) or f"resp_{uuid4().hex}",
        text=text,
        reasoning=without_lone_surrogates("\n\n".join(filter(None, (_thought(item) for item in output)))),
        tool_calls=tuple(calls[:MAX_CALLS]),
        usage=usage_of_response(a_dict(decoded.get("usage"))),
        reasoning_item=reasoning_item,
        was_cut=reason == "max_output_tokens",
    )


# The request


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", **function, "strict": False}


def _items(message: dict[str, Any], llm: LLM, can: Capabilities) -> Iterator[dict[str, Any]]:
    """Yields the items for the field `input` of a Responses request that correspond to one chat message.
    `llm`: the configuration of the model that gets the request. `can`: the features of this model; images are
    left out if it does not accept them.
    """
    match message["role"]:
        case "assistant":
            yield from _assistant_items(message, llm)
        case "tool":
            output = a_text(message.get("content"))
            yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": output}
        case role:
            seen = message if can.sees_images else without_images(message)
            spoken_by = "developer" if role == "system" else "user"
            yield {"type": "message", "role": spoken_by, "content": _input_parts(seen.get("content") or "")}


def _assistant_items(message: dict[str, Any], llm: LLM) -> Iterator[dict[str, Any]]:
    yield from _reasoning_items(message, llm)
    if text := a_text(message.get("content")):
        yield {"type": "message", "role": "assistant", "content": text}
    for call in message.get("tool_calls") or ():
        yield from _reasoning_items(call, llm)
        item_id = {"id": call["responses_item_id"]} if call.get("responses_item_id") else {}
        yield {"type": "function_call", **item_id, "call_id": call["id"], **call["function"]}


def _reasoning_items(holder: dict[str, Any], llm: LLM) -> Iterator[dict[str, Any]]:
    """Yields the reasoning of an earlier message or tool call as one item for the next request. `holder`: the
    message or tool call that contains the reasoning.

    Yields nothing in three cases: `holder` contains no reasoning; the reasoning has no encrypted text, and
    the server accepts reasoning only with it; or `llm.enable_encrypted_reasoning` is false.
    """
    item = holder.get("responses_reasoning_item")
    if not item or not item.get("encrypted_content") or not llm.enable_encrypted_reasoning:
        return
    summary = [{"type": "summary_text", "text": text} for text in item.get("summary") or ()]
    named = {"id": item["id"]} if item.get("id") else {}
    yield {"type": "reasoning", **named, "summary": summary, "encrypted_content": item["encrypted_content"]}


def _input_parts(content: str | Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return [_input_part(part) for part in content]


def _input_part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
    return {"type": "input_text", "text": a_text(part.get("text"))}


# The reply


def _calls(output: Sequence[dict[str, Any]]) -> tuple[list[RequestedCall], dict[str, Any] | None]:
    """Returns two values: the tool calls in a response, and the reasoning that belongs to no tool call.
    `output`: the items of the response.

    Each call contains the reasoning item that precedes it in `output`. The second value is the last reasoning
    item of a response without tool calls. It is None if the response has tool calls or no reasoning item. The
    reasoning is needed because later requests must send it back to the vendor.
    """
    calls: list[RequestedCall] = []
    reasoning: dict[str, Any] | None = None
    for item in output:
        if item.get("type") == "reasoning":
            reasoning = _reasoning_item(item)
        elif item.get("type") == "function_call":
            calls.append(_call(item, reasoning))
            reasoning = None
    return calls, None if calls else reasoning


def _call(item: dict[str, Any], reasoning: dict[str, Any] | None) -> RequestedCall:
    return RequestedCall(
        id=an_id(item.get("call_id")) or new_call_id(),
        name=without_lone_surrogates(a_text(item.get("name"))),
        arguments=a_json_text(item.get("arguments")),
        item_id=an_id(item.get("id")) or None,
        reasoning_item=reasoning,
    )


def _reasoning_item(item: dict[str, Any]) -> dict[str, Any]:
    """Returns a reasoning item with the fields that the Responses protocol accepts in requests. Only the
    vendor can read the encrypted part.
    """
    fields = {
        "id": an_id(item.get("id")) or None,
        "summary": [without_lone_surrogates(a_text(part.get("text"))) for part in dicts(item.get("summary"))],
        "encrypted_content": without_lone_surrogates(a_text(item.get("encrypted_content"))) or None,
        "status": without_lone_surrogates(a_text(item.get("status"))) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _message_text(item: dict[str, Any]) -> str:
    if item.get("type") != "message":
        return ""
    parts = dicts(item.get("content"))
    return "".join(a_text(part.get("text")) or a_text(part.get("refusal")) for part in parts)


def _thought(item: dict[str, Any]) -> str:
    if item.get("type") != "reasoning":
        return ""
    parts = dicts(item.get("summary")) or dicts(item.get("content"))
    return "\n\n".join(a_text(part.get("text")) for part in parts)


def _explanation(error: dict[str, Any]) -> str:
    text = a_text(error.get("message")) or "The model's server failed without an explanation."
    return without_lone_surrogates(
        f"{text} ({error['code']})" if isinstance(error.get("code"), str) else text
    )
