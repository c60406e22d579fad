"""Parses tool calls that a model wrote in a markup other than the one that the prompt asks for. Has no side
effects.

Supports the markups of the models' own chat templates: Hermes and Qwen, Claude, GLM, DeepSeek, Kimi K2 and
K3, Mistral, Llama, Gemma 4 and gpt-oss (Harmony). A call of an unknown tool stays text, because it may be an
example in the model's reply to the user.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from typing import Any

import orjson

from agent_runtime.calls_in_text.arguments import MAX_REPAIRED_CHARS, object_of
from agent_runtime.calls_in_text.calls import BROKEN, Types
from agent_runtime.calls_in_text.gemma import object_at
from agent_runtime.calls_in_text.values import TEXT, Kinds, converted

OPENINGS = (
    "<tool_call",
    "<invoke",
    "<\uff5cDSML\uff5c",
    "<\uff5ctool\u2581call",
    "<|tool_call",
    "[TOOL_CALLS]",
    "<|open|>tools",
    "<|open|>call",
    "<|start|>assistant to=",
    "<|channel|>commentary to=",
    "<|channel|>analysis to=",
    " to=functions.",
)
"""The texts with which tool calls begin in the supported markups. The markup of Llama has no entry, because
its calls begin like any JSON or Python text.
"""

FoundCall = tuple[int, str, str]
"""A tool call in a text: the index at which the call begins, the name of the tool, and the arguments as JSON.
"""

_NAME = r"(?P<name>[\w.:-]+?)"
_DSML = r"(?:\uff5cDSML\uff5c\s*)?"

_HARMONY_TURN = r"(?:<\|(?:end|call)\|>\s*)?<\|start\|>assistant"
_HARMONY_TYPE = r"\s*(?:(?:<\|constrain\|>)?\s*json)?\s*<\|message\|>"

# The name stands before the arguments, which are JSON.
_NAMED = (
    re.compile(
        "<\uff5ctool\u2581call\u2581begin\uff5c>(?:function<\uff5ctool\u2581sep\uff5c>)?"
        rf"\s*{_NAME}\s*(?:```json|<\uff5ctool\u2581sep\uff5c>)\s*"
    ),
    re.compile(
        r"(?:<\|tool_calls_section_begin\|>\s*)?"
        rf"<\|tool_call_begin\|>\s*(?:functions\.)?{_NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*"
    ),
    re.compile(rf"\[TOOL_CALLS\]\s*{_NAME}\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\]\s*|(?=\{{))"),
    # The recipient stands before the channel or behind it.
    re.compile(
        rf"(?:{_HARMONY_TURN}|\A)\s*to=functions\.{_NAME}\s*<\|channel\|>(?:commentary|analysis){_HARMONY_TYPE}"
    ),
    re.compile(
        rf"(?:{_HARMONY_TURN})?<\|channel\|>(?:commentary|analysis)\s+to=functions\.{_NAME}{_HARMONY_TYPE}"
    ),
)
_NAMED_END = re.compile(
    r"\s*(?:```)?\s*<\uff5ctool\u2581call\u2581end\uff5c>|\s*<\|tool_call_end\|>|<\|(?:call|end)\|>|\[TOOL_CALLS\]|\Z"
)

# The name stands beside the arguments, in the same JSON.
_LISTED = (
    re.compile(r"<tool_call>\s*(?=\{)"),
    re.compile(r"\[TOOL_CALLS\]\s*(?=\[|\{)"),
    re.compile(r"<\|python_tag\|>\s*(?=\{)"),
)
_LISTED_END = re.compile(r"\s*</tool_call>|<tool_call>|\Z")
_BETWEEN = re.compile(r"[\s;,]*(?:<\|python_tag\|>\s*)?")

# Each value stands behind its name: beginning of the call, one value, end of the call.
_PAIRED = (
    (
        re.compile(rf"<tool_call>\s*{_NAME}\s*(?=<arg_key>|</tool_call>)"),
        re.compile(
            r"\s*<arg_key>\s*(?P<name>[^<]+?)\s*</arg_key>\s*<arg_value>(?P<value>.*?)"
            r"(?:</arg_value>\s*(?=<arg_key>|</tool_call>|\Z)"
            r"|\s*(?=<arg_key>[^<]*</arg_key>\s*<arg_value>|</tool_call>\s*(?:<tool_call>|\Z)|\Z))",
            re.DOTALL,
        ),
        re.compile(r"\s*</tool_call>"),
    ),
    (
        re.compile(
            rf"(?:<{_DSML}(?:function_calls|tool_calls|calls)>\s*)?"
            rf"<{_DSML}invoke\s+name\s*=\s*[\"']?{_NAME}[\"']?\s*(?:>|(?=/>))"
        ),
        re.compile(
            rf"\s*<{_DSML}parameter\s+name\s*=\s*[\"']?(?P<name>[^\"'>]+?)[\"']?"
            rf"(?:\s+string=\"(?P<type>true|false)\")?\s*>(?P<value>.*?)(?:</{_DSML}parameter>)?\s*"
            rf"(?=<{_DSML}parameter\s+name|</{_DSML}invoke>\s*(?:<|\Z)|\Z)",
            re.DOTALL,
        ),
        re.compile(rf"\s*</{_DSML}invoke>|/>"),
    ),
    (
        re.compile(
            r"(?:<\|close\|>response<\|sep\|>\s*)?(?:<\|open\|>tools<\|sep\|>\s*)?"
            rf"<\|open\|>call\s+tool=\"{_NAME}\"[^<]*<\|sep\|>"
        ),
        re.compile(
            r"\s*<\|open\|>argument\s+key=\"(?P<name>[^\"]+)\"(?:\s+type=\"(?P<type>\w+)\")?\s*<\|sep\|>"
            r"(?P<value>.*?)(?:<\|close\|>argument<\|sep\|>"
            r"(?=\s*(?:<\|open\|>argument\s|<\|close\|>call|\Z))|(?=<\|close\|>call|\Z))",
            re.DOTALL,
        ),
        re.compile(r"\s*<\|close\|>call"),
    ),
)

_GEMMA = re.compile(rf"<\|tool_call>\s*call:{_NAME}\s*(?=\{{)")

_PYTHONIC = re.compile(
    r"(?:<\|python_start\|>\s*)?(?P<calls>\[\s*[\w.]+\(.*\)\s*\])\s*(?:<\|python_end\|>)?", re.DOTALL
)

# How DeepSeek and Kimi K3 state that a value is text.
_TEXTS = ("true", "string")

_MOST_HEADS = 1000

_DECODER = json.JSONDecoder(strict=False)


def calls(text: str, types: Types, *, was_cut: bool) -> list[FoundCall]:
    """Searches the text for calls of known tools in all supported markups. Returns only the calls in one
    markup: the markup of the first call in the text. Returns an empty list if there are no calls.

    `types`: the known tools with the types of their parameters. `was_cut`: whether the reply ended because it
    reached its maximum length. If True, and a call in a markup with a tag for each argument lacks its closing
    tag, the call gets arguments that are not valid JSON. So it cannot run.
    """
    readers: list[Iterator[FoundCall]] = [
        *(_named(head, text, types) for head in _NAMED),
        *(_listed(head, text, types) for head in _LISTED),
        *(_paired(*markup, text, types, was_cut=was_cut) for markup in _PAIRED),
        _gemma(text, types),
        _bare(text, types),
        _pythonic(text, types),
    ]
    found = [those for those in map(list, readers) if those]
    return min(found, key=lambda those: those[0][0], default=[])


def _heads(head: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], Callable[[int], None]]]:
    """Yields each place in the text where a tool call begins. `head`: the pattern of such a beginning.

    Each item is the regex match and a function. The caller parses the call, and then calls the function with
    the index at which the call ends. The search continues at this index, so it finds no call inside another
    call.
    """
    end = 0

    def ends(position: int) -> None:
        nonlocal end
        end = max(end, position)

    for _ in range(_MOST_HEADS):
        match = head.search(text, end)
        if match is None:
            return
        end = match.end()
        yield match, ends


def _named(head: re.Pattern[str], text: str, types: Types) -> Iterator[FoundCall]:
    for match, ends in _heads(head, text):
        value, end = _json_at(text, match.end())
        if value is None:
            following = _NAMED_END.search(text, match.end())
            end = following.start() if following else len(text)
        ends(end)
        if match["name"] in types:
            yield match.start(), match["name"], text[match.end() : end]


def _listed(head: re.Pattern[str], text: str, types: Types) -> Iterator[FoundCall]:
    for match, ends in _heads(head, text):
        value, end = _json_at(text, match.end())
        if value is None:
            following = _LISTED_END.search(text, match.end())
            end = following.start() if following else len(text)
            value = object_of(text[match.end() : end])
        ends(end)
        for call in value if isinstance(value, list) else [value]:
            if named := _with_name(call, types):
                yield match.start(), *named


def _gemma(text: str, types: Types) -> Iterator[FoundCall]:
    for match, ends in _heads(_GEMMA, text):
        arguments, end = object_at(text, match.end())
        ends(end)
        if match["name"] in types:
            yield match.start(), match["name"], BROKEN if arguments is None else json.dumps(arguments)


def _bare(text: str, types: Types) -> Iterator[FoundCall]:
    """Yields the tool calls of a text that consists only of tool calls in JSON, without tags around them.
    Yields nothing if the text contains anything else.
    """
    position, found = len(text) - len(text.lstrip()), []
    while position < len(text.rstrip()):
        value, position = _json_at(text, position)
        named = _with_name(value, types)
        if named is None:
            return
        found.append((0, *named))
        between = _BETWEEN.match(text, position)
        position = between.end() if between else position
    yield from found


def _with_name(call: Any, types: Types) -> tuple[str, str] | None:
    if not isinstance(call, dict) or call.get("name") not in types:
        return None
    arguments = call.get("arguments", call.get("parameters", {}))
    if isinstance(arguments, str):
        return call["name"], arguments
    return (call["name"], json.dumps(arguments)) if isinstance(arguments, dict) else None


def _pythonic(text: str, types: Types) -> Iterator[FoundCall]:
    """Parses a text that consists only of a list of calls in Python's syntax, and yields these tool calls.
    Does not execute the text.
    """
    if len(text) > MAX_REPAIRED_CHARS or (list_of_calls := _PYTHONIC.fullmatch(text.strip())) is None:
        return
    try:
        parsed = ast.parse(list_of_calls["calls"], mode="eval").body
        called = [_called(one) for one in parsed.elts] if isinstance(parsed, ast.List) else []
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return
    if all(name in types for name, _ in called):
        yield from ((0, name, json.dumps(arguments)) for name, arguments in called)


def _called(call: ast.expr) -> tuple[str, dict[str, Any]]:
    """Returns the name and the arguments of a tool call in Python's syntax. Raises ValueError if `call` is
    not such a call.
    """
    if not isinstance(call, ast.Call) or call.args:
        raise ValueError("no call with named arguments only")
    return ast.unparse(call.func), {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}


def _paired(
    head: re.Pattern[str],
    pair: re.Pattern[str],
    closing: re.Pattern[str],
    text: str,
    types: Types,
    *,
    was_cut: bool,
) -> Iterator[FoundCall]:
    for match, ends in _heads(head, text):
        known, arguments, end = types.get(match["name"]), {}, match.end()
        while value := pair.match(text, end):
            arguments[unescape(value["name"])] = _value(value, known or {})
            end = value.end()
        ends(end)
        is_cut = was_cut and closing.match(text, end) is None
        if known is not None:
            yield match.start(), match["name"], BROKEN if is_cut else orjson.dumps(arguments).decode()


def _value(match: re.Match[str], known: Mapping[str, Kinds]) -> Any:
    value, stated = match["value"], match.groupdict().get("type")
    if stated is None:
        return converted(value, known.get(match["name"], TEXT))
    decoded, _ = (value, 0) if stated in _TEXTS else _json_at(value.strip(), 0)
    return value if decoded is None and value.strip() != "null" else decoded


def _json_at(text: str, position: int) -> tuple[Any, int]:
    """Parses the JSON value that begins at the index `position` of the text. Returns the value, and the index
    at which the value ends. If there is no valid JSON, returns None and the length of the text.
    """
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, len(text)
