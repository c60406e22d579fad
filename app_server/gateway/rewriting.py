"""Changes HTML pages of sandboxes that would not work at the URL where the gateway shows them.

Most pages, for example those of development servers, expect to be at the root of a host. If such a page is
shown below a path, the gateway adds that path to the URLs in the HTML of the page. An import map adds the
path to the URLs of modules. The script `below.js` adds it to the requests that scripts make while they run. A
browser may refuse storage to pages in a frame and to pages below a path; `storage.js` provides a replacement.
"""

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Self

from starlette.types import Message, Scope, Send

from agent_runtime.relay.target import Header, first, without

_MAX_HELD_BYTES: Final = 65_536
_COMMENT: Final = b"<!--"
_DOCTYPE: Final = b"<!doctype"
_BEGINNING = re.compile(rb"(<!--|<!doctype)|</?[a-z]", re.IGNORECASE)
_NAME = re.compile(rb"/?[a-z][^\s/>]*+", re.IGNORECASE)
# Each pattern is applied once to each byte and never goes back far, so the time grows linearly with the page.
# Possessive quantifiers are used for single characters only: Python before 3.11.5 matches too much if the
# repeated part has several characters and matches only in part.
_ATTRIBUTES = re.compile(rb"(?:[^<>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?=[^\s\"'])))*")
_VALUE = re.compile(rb"\s*+([\"']?)")
_ADDRESS = re.compile(
    rb"(\s(?:src|href|action|formaction|poster)\s*=\s*[\"']?)/(?!/|preview/)", re.IGNORECASE
)
_NO_LONGER_TRUE = (b"content-length", b"accept-ranges", b"etag", b"last-modified")
_CONDITIONS = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
_POLICY = b"content-security-policy"


@dataclass(frozen=True)
class Addition:
    """The HTML elements that the gateway adds to each page of a sandbox.

    `head`: the HTML that is inserted at the beginning of the page's head. `hashes`: the hashes of the scripts
    in `head`, for the page's Content-Security-Policy. `prefix`: the path prefix of the page; None if the page
    has a separate host name.
    """

    head: bytes
    hashes: tuple[str, ...]
    prefix: str | None

    @classmethod
    def of(cls, prefix: str | None) -> Self:
        """Returns the HTML elements that the gateway adds to a page. `prefix`: the path prefix of the page;
        None if the page has a separate host name.
        """
        script = _content("storage.js")
        if prefix is None:
            return cls(f"<script>{script}</script>".encode(), (_hash(script),), None)
        imports = json.dumps({"imports": {"/": f"{prefix}/", "/preview/": "/preview/"}})
        script += f"{_content('below.js')}({json.dumps(prefix)})"
        head = f'<script type="importmap">{imports}</script><script>{script}</script>'
        return cls(head.encode(), (_hash(imports), _hash(script)), prefix)


def wants_page(scope: Scope, *, framed: bool) -> bool:
    """Returns whether the request is a GET request for HTML, as browsers send it to open a page.

    `framed`: if True, the function returns True only for a page that is shown in a frame of another page.
    """
    headers = scope["headers"]
    is_page = scope["method"] == "GET" and b"text/html" in (first(headers, b"accept") or b"")
    return is_page and not (framed and first(headers, b"sec-fetch-dest") != b"iframe")


def unpacked(headers: list[Header]) -> list[Header]:
    """Returns the headers of a browser's request, changed so that the program in the sandbox replies with a
    complete, uncompressed page. The gateway can rewrite only such a page. Headers that ask for compression,
    for a part of a page or only for a newer page are removed.
    """
    return [*without(headers, _CONDITIONS), (b"accept-encoding", b"identity")]


def rewriting(send: Send, addition: Addition) -> Send:
    """Returns an ASGI `send` function that forwards the reply of a program in a sandbox to `send`. If the
    reply is an HTML page, the function adds the HTML elements in `addition` to the page's head and rewrites
    the URLs in the page. The function changes the page piece by piece, without waiting for the whole page.
    """
    page: PageRewriter | None = None

    async def send_rewritten(message: Message) -> None:
        nonlocal page
        if message["type"] == "http.response.start":
            headers = message["headers"]
            if _is_plain_html(headers):
                page = PageRewriter(addition)
                remaining = without(headers, _NO_LONGER_TRUE)
                message = {**message, "headers": [_allowing(header, addition.hashes) for header in remaining]}
        elif page is not None:
            piece = page.feed(message.get("body", b""))
            if not message.get("more_body", False):
                piece += page.end()
            message = {**message, "body": piece}
        await send(message)

    return send_rewritten


class PageRewriter:
    """Rewrites an HTML page that arrives in pieces. A piece can end at any point, even in the middle of a
    tag.
    """

    def __init__(self, addition: Addition) -> None:
        self._head = addition.head
        self._to = None if addition.prefix is None else rb"\1" + addition.prefix.encode() + b"/"
        self._held = b""
        self._tag: _TagScan | None = None
        # The end of the comment or doctype in which the page is; empty outside of them.
        self._closing = b""
        self._is_begun = False

    def feed(self, piece: bytes) -> bytes:
        """Returns the part of the page that is complete after this piece. The rest of at most
        _MAX_HELD_BYTES is held back. If a tag is longer, its beginning is returned unchanged.
        """
        text, done, at, scanned = self._held + piece, [], 0, 0
        while True:
            if self._tag is not None:
                end = self._tag.end(text, at)
                if end is None:
                    cut = at if len(text) - at <= _MAX_HELD_BYTES else len(text)
                    break
                self._tag = None
                if text[end] == ord(">"):
                    end += 1
                    done += self._pieces_of(text[at:end])
                    at = end
                scanned = end
            elif self._closing:
                found = text.find(self._closing, scanned)
                if found < 0:
                    cut = max(scanned, len(text) - len(self._closing) + 1)
                    break
                scanned = found + len(self._closing)
                self._closing = b""
            elif begun := _BEGINNING.search(text, scanned):
                scanned = begun.end()
                if begun[1]:
                    self._closing = b"-->" if begun[1] == _COMMENT else b">"
                    # The dashes of the beginning may belong to the end, too: `<!-->` is a whole comment.
                    scanned = begun.start() + 2
                else:
                    done.append(text[at : begun.start()])
                    at = begun.start()
                    self._tag = _TagScan(scanned - at)
            else:
                # The last "<" may be the beginning of a tag that continues in the next piece.
                cut = text.rfind(b"<", max(scanned, len(text) - len(_DOCTYPE) + 1))
                cut = len(text) if cut < 0 else cut
                break
        if cut == len(text):
            self._tag = None
        self._held = text[cut:]
        return b"".join([*done, text[at:cut]])

    def end(self) -> bytes:
        rest, self._held = self._held, b""
        if self._is_begun:
            return rest
        return rest + self._head if self._closing else self._head + rest

    def _pieces_of(self, tag: bytes) -> list[bytes]:
        found = _NAME.match(tag, 1)
        name = found[0].lower() if found else b""
        if self._to is not None:
            tag = _ADDRESS.sub(self._to, tag)
        if self._is_begun or name == b"html":
            return [tag]
        self._is_begun = True
        return [tag, self._head] if name == b"head" else [self._head, tag]


class _TagScan:
    """Finds the end of a tag that arrives in pieces, and scans each byte once. `scanned`: the number of bytes
    of the tag that are already scanned.
    """

    def __init__(self, scanned: int) -> None:
        self._scanned = scanned
        # The quote that ends the present value, "=" before a value, or nothing.
        self._within = b""

    def end(self, text: bytes, start: int) -> int | None:
        """Returns the index of the `>` that ends the tag, or of a `<` outside quotes, which shows that the
        text is not a tag. Returns None if the tag continues in the next piece. `start`: the index at which
        the tag begins; the text before the index `start` plus `scanned` is unchanged since the last call.
        """
        at = start + self._scanned
        self._scanned = len(text) - start
        if self._within == b"=":
            at = self._begun_value(text, at)
        if self._within and self._within != b"=":
            found = text.find(self._within, at)
            if found < 0:
                return None
            at = found + 1
            self._within = b""
        if not self._within:
            passed = _ATTRIBUTES.match(text, at)
            at = passed.end() if passed else at
            if at < len(text) and text[at] != ord("="):
                return at
            if at < len(text):
                # The end of the value has not arrived.
                self._begun_value(text, at + 1)
        return None

    def _begun_value(self, text: bytes, at: int) -> int:
        """Notes which quote begins a value, and returns the index from which the scan continues."""
        found = _VALUE.match(text, at)
        assert found
        self._within = found[1] or (b"=" if found.end() == len(text) else b"")
        return found.end()


def _is_plain_html(headers: list[Header]) -> bool:
    kind = (first(headers, b"content-type") or b"").lower()
    encoding = first(headers, b"content-encoding")
    return kind.startswith(b"text/html") and encoding in {None, b"identity"}


def _allowing(header: Header, hashes: tuple[str, ...]) -> Header:
    """Returns a header of a page's reply, changed so that the browser runs the scripts that the gateway
    inserts. If the header is a content security policy with a list of allowed scripts, `hashes` (the hashes
    of the inserted scripts) are added to this list. Other headers are returned unchanged.
    """
    name, value = header
    if name != _POLICY:
        return header
    directives = [part.strip() for part in value.decode("latin-1").split(";")]
    allowed = [
        f"{part} {' '.join(hashes)}"
        if part.startswith(("script-src ", "script-src-elem ")) and "'unsafe-inline'" not in part
        else part
        for part in directives
    ]
    return name, "; ".join(allowed).encode("latin-1")


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _content(name: str) -> str:
    return Path(__file__).with_name(name).read_text().rstrip()
