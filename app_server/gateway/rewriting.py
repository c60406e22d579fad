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

_MAX_HELD_BYTES: Final = 262_144
_TOKEN = re.compile(
    rb"<!--.*?-->|<!doctype[^>]*>|<(/?[a-z][^\s/>]*)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>",
    re.IGNORECASE | re.DOTALL,
)
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
        self._is_begun = False

    def feed(self, piece: bytes) -> bytes:
        text = self._held + piece
        done, at = [], 0
        for token in _TOKEN.finditer(text):
            done += [text[at : token.start()], *self._pieces_of(token)]
            at = token.end()
        # The first "<" that is left may begin a tag that continues in the next piece.
        cut = text.find(b"<", at)
        if cut < 0 or len(text) - cut > _MAX_HELD_BYTES:
            cut = len(text)
        self._held = text[cut:]
        return b"".join([*done, text[at:cut]])

    def end(self) -> bytes:
        rest, self._held = self._held, b""
        return rest if self._is_begun else self._head + rest

    def _pieces_of(self, token: re.Match[bytes]) -> list[bytes]:
        name, tag = token[1], token[0]
        if name is None:
            return [tag]
        if self._to is not None:
            tag = _ADDRESS.sub(self._to, tag)
        if self._is_begun or name.lower() == b"html":
            return [tag]
        self._is_begun = True
        return [tag, self._head] if name.lower() == b"head" else [self._head, tag]


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
