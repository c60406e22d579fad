"""Takes screenshots of the agent's browser for users. A screenshot does not change the browser's pages and is
not logged.
"""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.tools.browser.tools import BrowserTool
from agent_runtime.wire import BrowserGlimpse, BrowserPage


async def glimpse(conversation: ConversationEngine) -> BrowserGlimpse:
    """Returns a screenshot of the agent's browser, with the URLs and titles of the open pages. Secrets in
    URLs and titles are masked; secrets in the screenshot itself stay visible. The result is empty if no
    browser is open.
    """
    tool = next((one for one in conversation.tools.values() if isinstance(one, BrowserTool)), None)
    seen = await tool.session.glimpse() if tool is not None else None
    if seen is None:
        return BrowserGlimpse()
    mask = conversation.secrets.masker.text
    pages = [
        BrowserPage(id=page.id, url=mask(page.url), title=mask(page.title), is_current=page.is_current)
        for page in seen.tabs
    ]
    return BrowserGlimpse(is_open=True, pages=pages, image_url=seen.image_url)
