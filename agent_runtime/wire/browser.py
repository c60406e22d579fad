"""The agent's browser, as people see it."""

from pydantic import BaseModel


class BrowserPage(BaseModel):
    """One tab. id: by which the agent names it."""

    id: str
    url: str
    title: str
    is_current: bool


class BrowserGlimpse(BaseModel):
    """The browser at one moment. is_open: false where the agent has none at present.

    image_url: the current page as a JPEG in a `data:` URL; null if it cannot be drawn just now.
    """

    is_open: bool = False
    pages: list[BrowserPage] = []
    image_url: str | None = None
