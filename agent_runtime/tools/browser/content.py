"""Reads the text of a web page as Markdown, in parts of a size that suits a model."""

from agent_runtime.tools.browser.connection import CommandError
from agent_runtime.tools.browser.tab import PageError, Tab

PIECE_CHARS = 20_000
_LIMITS = {"chars": 1_000_000, "nodes": 200_000}


async def read_content(tab: Tab, *, keeps_links: bool, start: int) -> str:
    """Returns a part of the page's text as Markdown, at most PIECE_CHARS characters. Adds a note if more text
    follows.

    `start`: the number of characters to skip before the part; 0 means that the part begins with the page's
    text. `keeps_links`: whether the text contains the URLs of links. Raises PageError if the text has no
    characters after the skipped ones, unless `start` is 0. Raises PageError if the page cannot be read.
    """
    text, is_cut = await _full_text(tab, keeps_links=keeps_links)
    if start and start >= len(text):
        raise PageError(f"The text of the page ends at character {len(text)}; begin earlier.")
    piece, end = text[start : start + PIECE_CHARS], start + PIECE_CHARS
    if end < len(text):
        note = f"Characters {start} to {end} of {len(text)}: go on with start_from_char={end}."
    elif is_cut:
        note = "The page goes on, but it is too large to be read as a whole."
    else:
        note = f"This is the end of the page's {len(text)} characters." if start else ""
    return "\n\n".join(part for part in (piece or "(The page has no text.)", note and f"[{note}]") if part)


async def _full_text(tab: Tab, *, keeps_links: bool) -> tuple[str, bool]:
    texts: list[str] = []
    is_cut = False
    for frame in await tab.frames():
        try:
            found = await tab.run(frame, "content", {**_LIMITS, "links": keeps_links})
        except CommandError:
            continue  # it is gone, or another page by now
        if found["text"] and frame.owner_session is not None:
            texts.append(f"[In a frame of the page, {frame.url[:200]}]")
        texts.append(found["text"])
        is_cut = is_cut or found["is_cut"]
    return "\n\n".join(text for text in texts if text), is_cut
