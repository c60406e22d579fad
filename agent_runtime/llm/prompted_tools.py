"""Gives tools to models whose API has no tool calls: the prompt describes the tools, and this module reads
the tool calls from the text of the model's reply. The module has no side effects.

A call is written `<function=NAME>`, `<parameter=KEY>value</parameter>` …, `</function>`. Its result is sent
to the model as a user message.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from agent_runtime.calls_in_text import harmony, other_markups
from agent_runtime.calls_in_text.instructions import documentation
from agent_runtime.calls_in_text.reading import calls_in
from agent_runtime.llm.chat_completions import MAX_CALLS, new_call_id
from agent_runtime.llm.config import LLM
from agent_runtime.llm.dialect import OnPiece
from agent_runtime.llm.messages import PieceKind, Prompt, Reply, RequestedCall

ChatMessage = dict[str, Any]

_OPENINGS = ("<function", *other_markups.OPENINGS)
_OPENING = re.compile("|".join(map(re.escape, _OPENINGS)))

_RESULT = "EXECUTION RESULT of ["


def stopping(llm: LLM) -> LLM:
    """Returns the model's configuration with one more stop sequence, unless `llm.disable_stop_word` is set.
    The stop sequence is the text with which each tool result begins. Some models continue after a tool call
    and invent its result; the vendor then ends the reply at this text.

    The text at the end of a tool call is not used as a stop sequence, because a file that the model writes
    may contain it.
    """
    if llm.disable_stop_word:
        return llm
    return llm.model_copy(update={"stop": [*(llm.stop or ()), f"\n{_RESULT}"]})


def written_out(prompt: Prompt) -> Prompt:
    """Returns the prompt in a form without tool definitions and tool calls. In their place, the text of the
    messages describes the tools, the earlier calls and their results.
    """
    names: dict[str, str] = {}
    messages = [_plain(orjson.loads(message), names) for message in prompt.messages]
    if prompt.tools:
        has_system_prompt = bool(messages) and messages[0]["role"] == "system"
        documented = {"role": "system", "content": documentation(prompt.tools)}
        messages.insert(1 if has_system_prompt else 0, documented)
    return replace(prompt, messages=[orjson.dumps(message) for message in _merged(messages)], tools=())


def read(reply: Reply, tools: Sequence[Mapping[str, Any]]) -> Reply:
    """Finds the tool calls in the text of a reply, and returns a copy of the reply with these calls. The copy
    has at most MAX_CALLS calls. Its text ends before the first call. The text after it is dropped, because
    the model wrote it without the result of the call.

    `tools`: the descriptions of the tools that the model may call. A call is found in the form that the
    prompt asks for, and also in the forms that some models have learned in their training.

    Some replies use Harmony, OpenAI's format for gpt-oss. Its markers are removed. The text in its channel
    `analysis` is moved to the reply's reasoning.
    """
    if not tools:
        return _without_tokens(reply, reply.text)
    found = calls_in(reply.text, tools, was_cut=reply.was_cut)
    if not found:
        return _without_tokens(reply, reply.text)
    calls = [RequestedCall(new_call_id(), name, arguments) for _, name, arguments in found]
    text = reply.text[: found[0][0]].rstrip().removesuffix("<tool_call>").rstrip()
    called = replace(reply, tool_calls=(*reply.tool_calls, *calls)[:MAX_CALLS])
    return _without_tokens(called, text)


def _without_tokens(reply: Reply, text: str) -> Reply:
    said, thought = harmony.split(text)
    if said == text:
        return replace(reply, text=text)
    reasoning = "\n\n".join(filter(None, (reply.reasoning, thought.strip())))
    return replace(reply, text=said.strip(), reasoning=reasoning)


def without_tokens(on_piece: OnPiece) -> OnPiece:
    """Returns a callback that removes the tokens of Harmony (OpenAI's format for gpt-oss) from the text and
    passes the text on to `on_piece`. Text of Harmony's analysis channel is passed on as reasoning.
    """
    read_so_far = harmony.HarmonyText()

    def take(kind: PieceKind, content: str) -> None:
        for one in read_so_far.feed(content) if kind == "text" else [(kind, content)]:
            on_piece(*one)

    return take


def until_call(on_piece: OnPiece) -> OnPiece:
    """Returns a callback that passes text on to `on_piece` until a tool call begins, so that users do not see
    the markup of the call.
    """
    held, is_over = "", False

    def take(kind: PieceKind, content: str) -> None:
        nonlocal held, is_over
        if kind != "text":
            on_piece(kind, content)
            return
        if is_over:
            return
        text = held + content
        opening = _OPENING.search(text)
        before = text[: opening.start()] if opening else text
        is_over = opening is not None
        held = "" if is_over else _beginning_of_opening(before)
        if ready := before.removesuffix(held) if held else before:
            on_piece(kind, ready)

    return take


def _beginning_of_opening(text: str) -> str:
    """Returns the longest last part of `text` with which a tool call may begin, such as `<func` for the
    marker `<function`. Returns an empty text if there is no such part. The caller does not show this part
    before the next piece of the reply tells whether a call begins.
    """
    lengths = range(min(max(map(len, _OPENINGS)), len(text)), 0, -1)
    ends = (text[-length:] for length in lengths)
    return next((end for end in ends if any(one.startswith(end) for one in _OPENINGS)), "")


# Writing


def _plain(message: ChatMessage, names: dict[str, str]) -> ChatMessage:
    """Returns the message in a form without tool calls. In a message of the assistant, the tool calls become
    text. A tool result becomes a message of the user. All other messages are returned unchanged.

    `names`: maps the ids of tool calls to the names of their tools. For a message of the assistant, the
    function adds its calls to `names`. For a tool result, it reads the tool's name from `names`. So the
    caller passes the same mapping for all messages, in order.
    """
    match message["role"]:
        case "assistant":
            calls = message.get("tool_calls") or []
            names |= {call["id"]: call["function"]["name"] for call in calls}
            text = "\n\n".join(filter(None, (message.get("content"), *map(_rendered, calls))))
            return {"role": "assistant", "content": text}
        case "tool":
            name = names.get(message["tool_call_id"], message.get("name", "tool"))
            return {"role": "user", "content": f"{_RESULT}{name}]:\n{message['content']}"}
        case _:
            return message


def _rendered(call: Mapping[str, Any]) -> str:
    arguments = orjson.loads(call["function"]["arguments"])
    lines = [f"<function={call['function']['name']}>"]
    for name, value in arguments.items():
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        lines.append(f"<parameter={name}>{text}</parameter>")
    return "\n".join([*lines, "</function>"])


def _merged(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Returns the messages after joining successive messages of the same role to one message. Many models
    whose API has no tool calls require alternating roles.
    """
    merged: list[ChatMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is not None and last["role"] == message["role"]:
            merged[-1] = {"role": last["role"], "content": _joined(last["content"], message["content"])}
        else:
            merged.append(message)
    return merged


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
