"""Converts tool calls in the markup of other models to the form of `prompted_tools`. Pure.

Some models do not use the form that the prompt asks for, but one that they have learnt: `<tool_call>{"name":
…, "arguments": {…}}` (Hermes, Qwen) or `<invoke name="…">` (Claude). A call of an unknown tool is left
unchanged, because it may be an example in an answer.
"""

import re
from collections.abc import Container

import orjson

from agent_runtime.llm.arguments import object_of

OPENINGS = ("<tool_call", "<invoke")

_JSON_CALL = re.compile(r"<tool_call>\s*(?P<call>\{.*?)\s*(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_INVOKED = re.compile(
    r"(?:<function_calls>\s*)?<invoke\s+name\s*=\s*[\"']?(?P<name>[\w.:-]+)[\"']?\s*>"
    r"(?P<body>.*?)(?:</invoke>|\Z)",
    re.DOTALL,
)


def in_our_form(text: str, names: Container[str]) -> str:
    """Returns the text with calls of these tools rewritten as `<function=NAME>…</function>`."""

    def from_json(match: re.Match[str]) -> str:
        call = object_of(match["call"]) or {}
        name, arguments = call.get("name"), call.get("arguments", {})
        if name not in names or not isinstance(arguments, dict):
            return match[0]
        # No markup within the arguments shall be taken for a call.
        written = orjson.dumps(arguments).decode().replace("<", "\\u003c")
        return f"<function={name}>{written}</function>"

    def from_invocation(match: re.Match[str]) -> str:
        return f"<function={match['name']}>{match['body']}</function>" if match["name"] in names else match[0]

    return _INVOKED.sub(from_invocation, _JSON_CALL.sub(from_json, text))
