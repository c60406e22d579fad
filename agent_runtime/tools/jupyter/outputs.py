"""Converts the output of a Python cell to content for models and people: plain text in the order of output,
and pictures.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from agent_runtime.events.content import Content, ImageContent, TextContent
from agent_runtime.secrets.masking import StreamMask
from agent_runtime.tools.image_file import MAX_IMAGE_BYTES
from agent_runtime.tools.terminal.output import OutputCollector

MAX_IMAGES = 8
"""The largest number of pictures in the output of one cell. For the model, each picture costs as much as a
page of text.
"""
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TEXTS = ("text/plain", "text/markdown", "text/latex", "application/json")
# The printed form of an object that defines none.
_NAMELESS = re.compile(r"<[^\n]*>")
_BLOCKS = frozenset({"p", "div", "br", "tr", "li", "table", "h1", "h2", "h3", "h4", "pre", "section"})
_UNSEEN = frozenset({"script", "style"})


class CellOutputs:
    """The output of one cell, collected while the cell runs. `is_error`: whether the cell raised an error."""

    def __init__(self, save_dir: Path, hide: StreamMask) -> None:
        self._text = OutputCollector(save_dir, hide, label="cell")
        self._images: list[str] = []
        self._wants_clear = False
        self._is_at_line_start = True
        self.is_error = False

    def listen(self, kind: str, content: Mapping[str, Any]) -> None:
        match kind:
            case "stream":
                self._say(content["text"])
            case "display_data" | "execute_result":
                self._show(content["data"])
            case "error":
                self.is_error = True
                self._say_block("\n".join(content["traceback"]))
            case "clear_output":
                self._clear(is_deferred=bool(content.get("wait")))
            case _:
                pass  # echoes of the code, updates of what was shown, messages of widgets

    def note(self, text: str) -> None:
        """Adds a message of the tool after the cell's output."""
        self._say_block(f"[{text}]")

    def content(self) -> list[Content]:
        """Returns all output that was collected since the last call: texts and pictures. The output is
        removed from this object.
        """
        text = self._text.take().strip("\n")
        pictures: list[Content] = [ImageContent(image_urls=[url]) for url in self._images]
        self._images = []
        return [TextContent(text=text or "[The cell has printed nothing.]"), *pictures]

    def discard(self) -> None:
        self._text.discard()

    def _say(self, text: str) -> None:
        if self._wants_clear:
            self._forget()
        if text:
            self._text.feed(text.encode(errors="replace"))
            self._is_at_line_start = text.endswith("\n")

    def _say_block(self, text: str) -> None:
        self._say(text if self._is_at_line_start else f"\n{text}")
        self._say("" if text.endswith("\n") else "\n")

    def _show(self, data: Mapping[str, Any]) -> None:
        found = next((kind for kind in _IMAGES if kind in data), None)
        self._say_block(self._pictured(found, data[found]) if found else _as_text(data))

    def _pictured(self, kind: str, encoded: str) -> str:
        """Stores a picture that the cell has shown, and returns the text that stands for it in the cell's
        output, such as `[picture 1]`. If the picture is not valid or too large, or there are too many
        pictures, does not store it; the text then gives the reason.

        `kind`: the media type. `encoded`: the picture in base64.
        """
        try:
            size = len(base64.b64decode(encoded))
        except binascii.Error:
            return "[a picture that cannot be read]"
        if size > MAX_IMAGE_BYTES:
            return f"[a picture of {size:,} bytes, which is too large to be shown: draw it smaller]"
        if len(self._images) >= MAX_IMAGES:
            return f"[one more picture; a cell shows at most {MAX_IMAGES}]"
        self._images.append(f"data:{kind};base64,{''.join(encoded.split())}")
        return f"[picture {len(self._images)}]"

    def _clear(self, *, is_deferred: bool) -> None:
        if is_deferred:
            self._wants_clear = True
        else:
            self._forget()

    def _forget(self) -> None:
        self._wants_clear = False
        self._text.discard()
        self._images = []
        self._is_at_line_start = True


def _as_text(data: Mapping[str, Any]) -> str:
    if "text/html" in data and _NAMELESS.fullmatch(data.get("text/plain", "<>")):
        return _text_of_html(data["text/html"])
    for kind in _TEXTS:
        if kind in data:
            value = data[kind]
            return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return f"[content that cannot be shown here: {', '.join(data)}]"


def _text_of_html(html: str) -> str:
    reader = _HtmlReader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _HtmlReader(HTMLParser):
    """A parser that collects the plain text of HTML output. Each block element begins a new line."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._unseen += tag in _UNSEEN
        self.pieces.append("\n" if tag in _BLOCKS else " ")

    def handle_endtag(self, tag: str) -> None:
        self._unseen -= tag in _UNSEEN
        self.pieces.append("\n" if tag in _BLOCKS else " ")

    def handle_data(self, data: str) -> None:
        if self._unseen <= 0:
            self.pieces.append(data)
