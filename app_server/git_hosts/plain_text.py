"""Converts HTML and job logs of git hosts to plain text. Does no I/O."""

import re
from html import escape
from html.parser import HTMLParser

MAX_LOG_BYTES = 64 * 1024

_BLOCKS = frozenset(
    ("p", "div", "ul", "ol", "table", "tr", "pre", "blockquote", *(f"h{n}" for n in range(1, 7)))
)
_HIDDEN = frozenset(("script", "style", "head"))
_COLOUR = re.compile(r"\x1b\[[0-9;]*+[A-Za-z]")
# The end of a mark is optional, because a search from each mark without an end would take a time that grows
# with the square of the line.
_SECTION = re.compile(r"section_(?:start|end):\d+:[^\r\n]*+(?P<end>\r)?")
# Python's parser takes a time that grows with the square of the text if tags or comments do not end.
_MARKUP = re.compile(
    r"(?P<left_out><!--.*?(?:-->|\Z)|<[!?][^<>]*+>)|(?P<tag></?[A-Za-z][^<>]*+>)|<", re.DOTALL
)


def end_of_log(content: bytes) -> str:
    """Returns the last 64 KiB of a job log as text. Removes colour codes, and the codes with which GitLab
    marks the sections of a log.
    """
    shown = content[-2 * MAX_LOG_BYTES :].decode(errors="replace")
    shown = _SECTION.sub(lambda found: "" if found["end"] else found[0], shown)
    text = _COLOUR.sub("", shown).encode()
    return text[-MAX_LOG_BYTES:].decode(errors="ignore")


def from_html(html: str) -> str:
    """Converts HTML to plain text: a list item begins with a dash, a link is followed by its address, an
    image is replaced by its address. A `<` that begins no complete tag is text.
    """
    reader = _Reader()
    reader.feed(_MARKUP.sub(lambda found: "" if found["left_out"] else found["tag"] or "&lt;", html))
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
