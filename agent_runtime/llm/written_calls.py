"""Reads calls in the form that `prompted_tools` asks for. Pure.

A call is written `<function=NAME>`, `<parameter=KEY>value</parameter>` …, `</function>`. Reading is lenient:
closing tags may be missing. Markup within a value is part of the value, as far as one can tell.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import orjson

from agent_runtime.llm.written_values import TEXT, Kinds, converted

BROKEN = "(the reply was cut off)"
"""The arguments of a call that was cut off. They are no JSON, so the call is answered and not run."""

OPENING = re.compile(r"<function\s*(?:=|\s+name\s*=)\s*[\"']?(?P<name>[\w.:-]+)[\"']?[^\S\n]*/?>?")

_PARAMETER = re.compile(r"<parameter\s*(?:=|\s+name\s*=)\s*[\"']?(?P<name>[\w.-]+)[\"']?[^\S\n]*>?")
_CLOSED = re.compile(r"</function>?\s*(?:</?tool_call>\s*)*\Z")
_VALUE_CLOSED = re.compile(r"</parameter>?\s*\Z")
_LINE_START = re.compile(r"(?:\A|\n)[^\S\n]*(?:</?tool_call>\s*)*\Z")

# So much of the text before a beginning decides whether it is one.
_LOOK_BACK = 200
_MOST_OPENINGS = 2000

Types = Mapping[str, Mapping[str, Kinds]]
"""The types of each parameter, by the name of the tool."""


def calls(text: str, types: Types, *, was_cut: bool) -> Iterator[tuple[int, str, str]]:
    """Yields the place of each call in the text, its name and its arguments as JSON. `was_cut`: the reply
    ended because it reached its maximum length.
    """
    found = _openings(text)
    ends = [*(match.start() for match in found), len(text)][1:]
    for match, end in zip(found, ends, strict=True):
        body, is_cut = text[match.end() : end], was_cut and match is found[-1]
        yield match.start(), match["name"], _arguments(body, types.get(match["name"], {}), is_cut=is_cut)


def _openings(text: str) -> list[re.Match[str]]:
    """Returns where calls begin. One within a value of an earlier call is no beginning."""
    found: list[re.Match[str]] = []
    for match in islice(OPENING.finditer(text), _MOST_OPENINGS):
        before = _just_before(match, found)
        if (
            not found
            or _CLOSED.search(before)
            or (_LINE_START.search(before) and not _is_within_value(text, found[-1].end(), match.start()))
        ):
            found.append(match)
    return found


def _just_before(match: re.Match[str], found: Sequence[re.Match[str]]) -> str:
    """Returns the end of the text between the last beginning and this one."""
    begin = found[-1].end() if found else 0
    return match.string[max(begin, match.start() - _LOOK_BACK) : match.start()]


def _is_within_value(text: str, begin: int, end: int) -> bool:
    return text.rfind("<parameter", begin, end) > text.rfind("</parameter", begin, end)


def _arguments(body: str, known: Mapping[str, Kinds], *, is_cut: bool) -> str:
    is_whole = "</function" in body
    body = body.rpartition("</function")[0] if is_whole else body
    found = _parameters(body, known)
    if is_cut and not is_whole and "</parameter" not in body[found[-1].end() if found else 0 :]:
        return BROKEN
    if not found and body.strip().startswith("{"):
        return body.strip()
    ends = [*(match.start() for match in found), len(body)][1:]
    arguments = {
        match["name"]: converted(_value(body[match.end() : end]), known.get(match["name"], TEXT))
        for match, end in zip(found, ends, strict=True)
    }
    return orjson.dumps(arguments).decode()


def _parameters(body: str, known: Mapping[str, Kinds]) -> Sequence[re.Match[str]]:
    """Returns where values begin. A parameter within the value of another one is no beginning."""
    found: list[re.Match[str]] = []
    for match in _PARAMETER.finditer(body):
        before = _just_before(match, found)
        is_known = match["name"] in known and _LINE_START.search(before)
        if not found or _VALUE_CLOSED.search(before) or is_known:
            found.append(match)
    return found


def _value(written: str) -> str:
    value = written.rpartition("</parameter")[0] if "</parameter" in written else written.rstrip()
    return value.removeprefix("\n").removesuffix("\n")
