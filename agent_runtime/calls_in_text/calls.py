"""Parses tool calls that a model wrote as text, in the markup that the module `instructions` asks the model
for. Has no side effects.

A tool call is written `<function=NAME>`, `<parameter=KEY>value</parameter>` …, `</function>`. The parser is
lenient: closing tags may be missing. Markup that is recognized as a part of a parameter's value does not
become a call.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import orjson

from agent_runtime.calls_in_text.nested import OPENING, PARAMETER, hidden
from agent_runtime.calls_in_text.values import TEXT, Kinds, converted

BROKEN = "(the reply was cut off)"
"""The text that replaces the arguments of a tool call if the reply was cut off inside the call. The text is
not valid JSON. Therefore the call does not run, and the model gets an error.
"""

_CLOSING_TAG = "</function"
_CLOSING = re.compile(rf"</parameter>?\s*{_CLOSING_TAG}")
_CLOSED = re.compile(r"</function>?\s*(?:</?tool_call>\s*)*\Z")
_VALUE_CLOSED = re.compile(r"</parameter>?\s*\Z")
_LINE_START = re.compile(r"(?:\A|\n)[^\S\n]*(?:</?tool_call>\s*)*\Z")

# So much of the text before a beginning decides whether it is one.
_LOOK_BACK = 200
_MOST_OPENINGS = 2000

Types = Mapping[str, Mapping[str, Kinds]]
"""The JSON types of the parameters of all known tools: by the name of the tool, then by the name of the
parameter.
"""


def calls(text: str, types: Types, *, was_cut: bool) -> Iterator[tuple[int, str, str]]:
    """Yields the tool calls in the text. Each call is yielded as its index in the text, the name of the tool,
    and the arguments as JSON.

    If words follow the closing tag of a call, ignores the rest of the text, with all calls in it. The model
    does not know the result of the call yet, so it has invented the rest of the text.

    `types`: the known tools with the types of their parameters. `was_cut`: whether the model's reply ended
    because it reached its maximum length.
    """
    shape = hidden(text, was_cut=was_cut)
    found = _openings(shape)
    ends = [*(match.start() for match in found), len(text)][1:]
    for match, end in zip(found, ends, strict=True):
        call = _Written(text[match.end() : end], shape[match.end() : end])
        is_cut = was_cut and match is found[-1]
        yield match.start(), match["name"], _arguments(call, types.get(match["name"], {}), is_cut=is_cut)
        if call.has_words_after:
            # The model does not know the result yet, so what follows is invented.
            return


@dataclass(frozen=True)
class _Written:
    """One tool call that a model wrote as text. `text`: the text from the end of its opening tag to the next
    call, or to the end of the reply. `shape`: a copy of this text in which calls inside parameter values are
    replaced by dots.

    The parser searches for tags in `shape`, so it finds no tags of calls inside values. Both texts have the
    same length, so an index in `shape` is also valid in `text`.
    """

    text: str
    shape: str

    @property
    def closing(self) -> int:
        """The index in `shape` at which the closing tag `</function>` of this tool call begins; -1 if the
        call has no closing tag. A `</function>` inside a parameter's value does not count. Example: in
        `<parameter=text>see </function> here</parameter>`, it is a part of the value, so the result is -1.
        """
        if proper := list(_CLOSING.finditer(self.shape)):
            return proper[-1].end() - len(_CLOSING_TAG)
        last = self.shape.rfind(_CLOSING_TAG)
        return -1 if "</parameter" in self.shape[last:] else last

    @property
    def has_words_after(self) -> bool:
        return self.closing >= 0 and not _CLOSED.match(self.shape, self.closing)


def _openings(shape: str) -> list[re.Match[str]]:
    """Returns the regex matches of the opening tags of tool calls. Leaves out opening tags that are inside a
    parameter's value. `shape`: the model's reply, with dots in place of calls inside parameter values.
    """
    found: list[re.Match[str]] = []
    for match in islice(OPENING.finditer(shape), _MOST_OPENINGS):
        before = _just_before(match, found)
        if (
            not found
            or _CLOSED.search(before)
            or (_LINE_START.search(before) and not _is_within_value(shape, found[-1].end(), match.start()))
        ):
            found.append(match)
    return found


def _just_before(match: re.Match[str], found: Sequence[re.Match[str]]) -> str:
    """Returns the text between the last accepted tag and the opening tag `match`, but not more than the last
    _LOOK_BACK characters of it. From this text, the caller decides whether to accept the tag, or whether the
    tag is only a part of a value.

    `found`: the tags that the caller has accepted so far, in order. If it is empty, the text begins at the
    beginning of the string.
    """
    begin = found[-1].end() if found else 0
    return match.string[max(begin, match.start() - _LOOK_BACK) : match.start()]


def _is_within_value(shape: str, begin: int, end: int) -> bool:
    return shape.rfind("<parameter", begin, end) > shape.rfind("</parameter", begin, end)


def _arguments(call: _Written, known: Mapping[str, Kinds], *, is_cut: bool) -> str:
    closing = call.closing
    is_whole = closing >= 0
    end = closing if is_whole else len(call.text)
    found = _parameters(call.shape[:end], known)
    if is_cut and not is_whole and not _VALUE_CLOSED.search(call.shape[-_LOOK_BACK:]):
        return BROKEN
    if not found and (body := call.text[:end].strip()).startswith("{"):
        return body
    ends = [*(match.start() for match in found), end][1:]
    arguments = {
        match["name"]: converted(_value(call, match.end(), stop), known.get(match["name"], TEXT))
        for match, stop in zip(found, ends, strict=True)
    }
    return orjson.dumps(arguments).decode()


def _parameters(shape: str, known: Mapping[str, Kinds]) -> Sequence[re.Match[str]]:
    """Returns the regex matches of the opening tags of a tool call's parameters. Leaves out opening tags that
    are inside the value of another parameter. `shape`: the call's text, with dots in place of calls inside
    parameter values. `known`: the JSON types of each parameter of the tool, by the parameter's name.
    """
    found: list[re.Match[str]] = []
    names = set[str]()
    for match in PARAMETER.finditer(shape):
        before = _just_before(match, found)
        is_new = match["name"] in known.keys() - names and _LINE_START.search(before)
        if not found or _VALUE_CLOSED.search(before) or is_new:
            found.append(match)
            names.add(match["name"])
    return found


def _value(call: _Written, begin: int, end: int) -> str:
    closing = call.shape.rfind("</parameter", begin, end)
    value = call.text[begin:closing] if closing >= 0 else call.text[begin:end].rstrip()
    return value.removeprefix("\n").removesuffix("\n")
