"""Takes pictures of the agent's browser for people. This does not change the browser's pages and logs
nothing.
"""

from agent_runtime.conversation.conversation import ConversationEngine
from agent_runtime.tools.browser.tools import BrowserTool
from agent_runtime.wire import BrowserGlimpse, BrowserPage


async def glimpse(conversation: ConversationEngine) -> BrowserGlimpse:
    """Returns a picture of the browser as it is now, with the addresses and titles of its pages. Addresses
    and titles are masked; a picture cannot be masked, so secrets in it are visible. Empty if no browser is
    open.
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
