"""Converts HTML and job logs of git hosts to plain text. Does no I/O."""

import re
from html import escape
from html.parser import HTMLParser

MAX_LOG_BYTES = 64 * 1024

_BLOCKS = frozenset(
    ("p", "div", "ul", "ol", "table", "tr", "pre", "blockquote", *(f"h{n}" for n in range(1, 7)))
)
_HIDDEN = frozenset(("script", "style", "head"))
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|section_(?:start|end):\d+:[^\r\n]*\r")


def end_of_log(content: bytes) -> str:
    """Returns the last 64 KiB of a job log as text. Removes colour codes, and the codes with which GitLab
    marks the sections of a log.
    """
    text = _CONTROL.sub("", content[-2 * MAX_LOG_BYTES :].decode(errors="replace")).encode()
    return text[-MAX_LOG_BYTES:].decode(errors="ignore")


def from_html(html: str) -> str:
    """Converts HTML to plain text: a list item begins with a dash, a link is followed by its address, an
    image is replaced by its address.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.found).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def to_html(text: str) -> str:
    """Converts plain text to HTML that shows the same text with the same lines."""
    return "<br>".join(escape(line, quote=False) for line in text.splitlines())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._links: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag == "br":
            self.found.append("\n")
        elif tag == "li":
            self.found.append("\n- ")
        elif tag in _BLOCKS:
            self.found.append("\n\n" if tag not in {"div", "tr"} else "\n")
        elif tag == "a":
            self._links.append(given.get("href") or "")
        elif tag == "img" and given.get("src"):
            self.found.append(f"({given['src']})")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.found.append("\n")
        elif tag == "a" and self._links:
            address = self._links.pop()
            if address and not "".join(self.found[-1:]).endswith(address):
                self.found.append(f" ({address})")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.found.append(data)
