"""Takes pictures of the visible part of a page. The pictures are small enough for the event log and for a
model.
"""

from agent_runtime.tools.browser.tab import PageError, Tab

MAX_SCREENSHOT_CHARS = 300_000
"""The largest size of a screenshot, in characters of base64. A colourful page needs about half of this at the
highest JPEG quality that is tried.
"""
_QUALITIES = (70, 45, 20)
_SECONDS = 20.0


async def take_screenshot(tab: Tab) -> str:
    """Returns a JPEG picture of the visible part of the page as a `data:` URL. Raises PageError if the
    picture is too large even at the lowest quality.
    """
    data = ""
    for quality in _QUALITIES:
        params = {"format": "jpeg", "quality": quality, "optimizeForSpeed": True}
        data = (await tab.call("Page.captureScreenshot", params, seconds=_SECONDS))["data"]
        if len(data) <= MAX_SCREENSHOT_CHARS:
            return f"data:image/jpeg;base64,{data}"
    raise PageError("The picture of the page is too large to be shown.")
