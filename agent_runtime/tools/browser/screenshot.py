"""What is in view, as a picture small enough for a log and a model."""

from agent_runtime.tools.browser.tab import PageError, Tab

MAX_SCREENSHOT_CHARS = 300_000
"""In base64. Of a page in full colour the first quality takes about half of it."""
_QUALITIES = (70, 45, 20)
_SECONDS = 20.0


async def take_screenshot(tab: Tab) -> str:
    """A JPEG as a `data:` URL. PageError."""
    data = ""
    for quality in _QUALITIES:
        params = {"format": "jpeg", "quality": quality, "optimizeForSpeed": True}
        data = (await tab.call("Page.captureScreenshot", params, seconds=_SECONDS))["data"]
        if len(data) <= MAX_SCREENSHOT_CHARS:
            return f"data:image/jpeg;base64,{data}"
    raise PageError("The picture of the page is too large to be shown.")
