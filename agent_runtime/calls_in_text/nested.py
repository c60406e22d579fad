"""Finds tool calls inside a parameter's value of another tool call. Such a call is only an example, for
instance in a file that explains the markup of calls, and must not run. Has no side effects.
"""

import re
from dataclasses import dataclass, field

OPENING = re.compile(r"<function\s*(?:=|\s+name\s*=)\s*[\"']?(?P<name>[\w.:-]+)[\"']?[^\S\n]*/?>?")
PARAMETER = re.compile(r"<parameter\s*(?:=|\s+name\s*=)\s*[\"']?(?P<name>[\w.-]+)[\"']?[^\S\n]*>?")

_TAG = re.compile(
    r"(?P<call><function\s*(?:=|\s+name\s*=))|(?P<value><parameter\s*(?:=|\s+name\s*=))"
    r"|(?P<value_end></parameter)|(?P<call_end></function)"
)
_FOLLOWED_BY_TAG = re.compile(r"</parameter>?\s*(?:<parameter|</?function|</?tool_call|\Z)")
_FOLLOWED_BY_CALL = re.compile(r"</function>?\s*(?:</?tool_call>\s*)*(?:<function|\Z)")


@dataclass
class _Scan:
    """The progress of a scan through a text for tags of tool calls. `open`: the tags that are open at the
    current index, each with its index in the text, outermost first. `inner`: the start index and end index of
    each complete call inside a parameter's value of the outermost call.
    """

    open: list[tuple[str, int]] = field(default_factory=list)
    inner: list[tuple[int, int]] = field(default_factory=list)


def hidden(text: str, *, was_cut: bool) -> str:
    """Replaces inner tool calls by dots, one dot for each character, and returns the text. An inner call is a
    tool call inside a parameter's value of another call, the outer call. A parser then finds only the outer
    calls.

    Example: `<function=A><parameter=X> <function=B></function> </parameter></function>`. Call B is replaced,
    because the closing tag `</parameter>` of the value of X follows B. Without this `</parameter>`, B is not
    replaced, because the model may have forgotten the closing tags of call A before it wrote B.

    `was_cut`: whether the reply was cut off. If True, the cut may have removed the closing tag of the last
    value, so calls inside this value are replaced even without this tag.
    """
    scan, found = _Scan(), list[tuple[int, int]]()
    for tag in _TAG.finditer(text):
        _take(tag, scan, found)
    if was_cut or len(scan.open) == 1:
        found += scan.inner
    if was_cut and len(scan.open) > 2:
        found.append((scan.open[2][1], len(text)))
    pieces, end = [], 0
    for begin, stop in sorted(found):
        if begin >= end:
            pieces += [text[end:begin], "." * (stop - begin)]
            end = stop
    return "".join([*pieces, text[end:]])


def _take(tag: re.Match[str], scan: _Scan, found: list[tuple[int, int]]) -> None:
    top = scan.open[-1][0] if scan.open else ""
    match tag.lastgroup:
        case "call":
            if top == "call":
                scan.open.pop()
            if not scan.open:
                _keep(scan, found)
            scan.open.append(("call", tag.start()))
        case "value" if top == "call":
            scan.open.append(("value", tag.start()))
        case "value_end" if top == "value" and _FOLLOWED_BY_TAG.match(tag.string, tag.start()):
            scan.open.pop()
        case "call_end" if top == "call":
            _, begin = scan.open.pop()
            if scan.open:
                scan.inner.append((begin, _end_of(tag)))
            else:
                _keep(scan, found)
        case "call_end" if len(scan.open) == 2 and _FOLLOWED_BY_CALL.match(tag.string, tag.start()):
            # The value's closing tag is missing.
            scan.open.clear()
            scan.inner.clear()


def _keep(scan: _Scan, found: list[tuple[int, int]]) -> None:
    found += scan.inner
    scan.inner.clear()


def _end_of(tag: re.Match[str]) -> int:
    return tag.end() + tag.string.startswith(">", tag.end())
