"""Changes litellm's replies, so that OpenAI's Python package can read them, and so that a program can send
them back in its next call. This module does no I/O.
"""

from typing import Any

from app_server.llm_gateway.forwarding.contents import STATES_OF_LITELLM

JsonObject = dict[str, Any]


def readable(completion: JsonObject) -> JsonObject:
    """Removes empty lists and repeated data from the messages of a chat completion, and returns the
    completion. Changes the completion in place. Afterwards OpenAI's Python package can read it.
    """
    for choice in completion.get("choices", ()):
        _leave_out_repetitions(choice.get("message", {}))
    return completion


class ReadableStream:
    """A converter for the chunks of one streamed reply. It gives all pieces of a thinking block the same
    `index`, which is the index of the block. OpenAI's Python package joins the pieces by this index, and
    fails if it is missing.
    """

    def __init__(self) -> None:
        self._index = -1
        self._is_ended = False

    def readable(self, chunk: JsonObject) -> JsonObject:
        """Changes the next chunk of the stream in place, and returns it. Removes empty lists and repeated
        data, and numbers the thinking blocks. The caller must pass the chunks in the order of the stream,
        because the numbers depend on it.
        """
        for choice in chunk.get("choices", ()):
            delta = choice.get("delta", {})
            _leave_out_repetitions(delta)
            for block in delta.get("thinking_blocks") or ():
                self._number(block)
        return chunk

    def _number(self, block: JsonObject) -> None:
        is_complete = block.get("type") == "redacted_thinking"
        if self._index < 0 or self._is_ended or is_complete:
            self._index += 1
        block["index"] = self._index
        self._is_ended = is_complete or bool(block.get("signature"))


def _leave_out_repetitions(message: JsonObject) -> None:
    """Removes empty lists and repeated data from a message of litellm, in place. litellm repeats data in the
    field `provider_specific_fields` of the message and of its tool calls. This function removes everything
    from this field except the signatures of the model's thoughts. They stay, because the vendor needs them
    back in the next call.
    """
    for name in [name for name, value in message.items() if value == []]:
        del message[name]
    for holder in (message, *(message.get("tool_calls") or ())):
        given = holder.pop("provider_specific_fields", None) or {}
        if states := {name: value for name, value in given.items() if name in STATES_OF_LITELLM and value}:
            holder["provider_specific_fields"] = states
