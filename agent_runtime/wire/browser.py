"""The state of the agent's browser, as clients show it to people."""

from pydantic import BaseModel


class BrowserPage(BaseModel):
    """One tab of the agent's browser. `id`: the name that the agent's tools use for this tab."""

    id: str
    url: str
    title: str
    is_current: bool


class BrowserGlimpse(BaseModel):
    """The reply of GET /api/conversations/{id}/browser: the state of the agent's browser at one moment.

    `is_open`: whether the agent has an open browser. `image_url`: a screenshot of the current page, as a JPEG
    in a `data:` URL; null if the page cannot be drawn at the moment.
    """

    is_open: bool = False
    pages: list[BrowserPage] = []
    image_url: str | None = None
