"""Contains the browser of one conversation. The browser starts at the first browser tool call, and again if
it has ended.
"""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from agent_runtime.events.content import Content, ImageContent, TextContent
from agent_runtime.time_limits import time_limit
from agent_runtime.tools.browser.addresses import AddressError, admit
from agent_runtime.tools.browser.browser import Browser, start_browser
from agent_runtime.tools.browser.chromium import ChromiumError
from agent_runtime.tools.browser.connection import BrowserGoneError, CommandError, NoAnswerError
from agent_runtime.tools.browser.downloads import DIRECTORY as DOWNLOADS
from agent_runtime.tools.browser.elements import Element
from agent_runtime.tools.browser.models import BrowserObservation
from agent_runtime.tools.browser.recording import Recording, start_recording
from agent_runtime.tools.browser.screenshot import take_screenshot
from agent_runtime.tools.browser.tab import PageError, Tab
from agent_runtime.workspace.private_dir import make_private_dir

NAVIGATION_SECONDS = 30.0
LOAD_SECONDS = 10.0
STOP_SECONDS = 5.0
SETTLE_SECONDS = 0.3
"""How long a tool call waits after a click or other input, so that the page can begin to react."""
PREVIEW_SECONDS = 5.0
IDLE_SECONDS = 30 * 60.0
"""A conversation stays in memory while its browser is in use. After this time without a browser tool call,
the browser no longer counts as in use.
"""
_MAX_URL_CHARS = 1_000
_RESTARTED = (
    "The browser had ended unexpectedly. This is a new one: the tabs are gone, cookies and storage are kept."
)


@dataclass(frozen=True)
class BrowserReply:
    """The result of a browser tool call. `text`: the text for the model. `names_page`: whether the URL and
    the title of the page are added before this text. `image_url`: a picture for the model as a `data:` URL;
    None if there is no picture.
    """

    text: str = ""
    image_url: str | None = None
    names_page: bool = True

    def after(self, done: str) -> "BrowserReply":
        """Returns a copy of this tool result whose text begins with `done`, a sentence that says what the
        tool has done.
        """
        return replace(self, text=f"{done} {self.text}".strip())


@dataclass(frozen=True)
class Page:
    """The data of a browser tab for a user interface. `id`: the name by which the model refers to the tab."""

    id: str
    url: str
    title: str
    is_current: bool


@dataclass(frozen=True)
class BrowserPreview:
    """The browser's tabs and a picture of its current page, for a user interface. `image_url`: the picture as
    a `data:` URL; None if the page cannot be drawn.
    """

    tabs: Sequence[Page]
    image_url: str | None


Work = Callable[[Browser], Awaitable[BrowserReply]]


class BrowserSession:
    """The browser of one conversation. The object starts the browser at the first tool call, starts it again
    if it has ended, and runs the browser tool calls one at a time.

    `elements`: the list of the page's elements that the model got last. The model refers to an element by its
    index in this list.
    """

    def __init__(
        self,
        working_dir: Path,
        *,
        navigation_seconds: float = NAVIGATION_SECONDS,
        load_seconds: float = LOAD_SECONDS,
    ) -> None:
        self.working_dir = working_dir
        self.roots = (working_dir,)
        self.elements: Sequence[Element] = ()
        self.recording: Recording | None = None
        self._navigation_seconds = navigation_seconds
        self._load_seconds = load_seconds
        self._browser: Browser | None = None
        self._profile: Path | None = None
        self._lock = asyncio.Lock()
        self._is_closed = False
        self._used_at = time.monotonic()

    @property
    def is_in_use(self) -> bool:
        """Whether the browser runs and a tool call used it within the last IDLE_SECONDS."""
        return self._browser is not None and time.monotonic() - self._used_at < IDLE_SECONDS

    @property
    def pid(self) -> int | None:
        """The id of the browser's first process, which is the leader of a process group; None if the browser
        does not run.
        """
        return self._browser.pid if self._browser is not None else None

    async def use(self, work: Work) -> BrowserObservation:
        """Performs a browser tool call and returns its result as an observation. `work`: the function that
        performs the call; it gets the running browser. Starts the browser first if it does not run.

        An error to which the model can react becomes a result with `is_error`.
        """
        async with self._lock:
            self._used_at = time.monotonic()
            try:
                browser = await self._running()
            except ChromiumError as error:
                return _observe(str(error), is_error=True)
            try:
                reply, is_error = await self._do(work, browser)
                return await _report(browser, reply, is_error=is_error)
            except BrowserGoneError:
                return await self._lost(browser)

    async def navigate(self, browser: Browser, address: str, *, in_new_tab: bool) -> BrowserReply:
        """Opens a URL in the browser and waits until the page is loaded. Raises AddressError if the browser
        may not open the URL. Raises PageError if the page cannot be opened.
        """
        url = await asyncio.to_thread(admit, address, self.roots)
        tab = await browser.new_tab() if in_new_tab or not browser.tabs else browser.current
        if tab.has_crashed:
            crashed, tab = tab, await browser.new_tab()
            await browser.close_tab(crashed)
        await self._open(tab, url)
        return await self.settled(browser)

    async def settled(self, browser: Browser) -> BrowserReply:
        """Waits until the current page has loaded after a click or other input, but only for a limited time.
        Returns a result without text if the page has loaded. Otherwise the text of the result says that the
        page is still loading.
        """
        await asyncio.sleep(SETTLE_SECONDS)
        await browser.wait_for_opened(self._load_seconds)
        if browser.tabs and not await browser.current.wait_until_loaded(self._load_seconds):
            return BrowserReply(
                f"The page is still loading after {self._load_seconds:g} seconds; it can be used as it is."
            )
        return BrowserReply()

    async def start_recording(self, browser: Browser) -> Path:
        """Starts a recording of the page and returns the directory of its pictures. Raises PageError if a
        recording runs already or cannot be started.
        """
        if self.recording is not None:
            raise PageError(f"A recording is under way already: {self.recording.directory}.")
        self.recording = await start_recording(browser, self.working_dir)
        return self.recording.directory

    async def glimpse(self) -> BrowserPreview | None:
        """Returns the browser's tabs and a picture of its current tab for a user interface. Does not change
        the page. Returns None if the browser does not run, has no tab, or does not reply.
        """
        browser = self._browser
        if browser is None or not browser.tabs:
            return None
        try:
            tabs = await pages(browser)
            return BrowserPreview(tabs, await _picture(browser.current))
        except (BrowserGoneError, NoAnswerError, CommandError, PageError):
            return None  # it ends, or its last page does

    async def close(self) -> None:
        """Ends the conversation's browser and deletes the browser's profile directory. Safe to call twice."""
        self._is_closed = True
        async with self._lock:
            await self._end()
            profile, self._profile = self._profile, None
            if profile is not None:
                await asyncio.to_thread(shutil.rmtree, profile, ignore_errors=True)

    async def _running(self) -> Browser:
        if self._is_closed:
            raise ChromiumError("The conversation is being closed.")
        has_ended = self._browser is not None and not self._browser.is_alive
        if has_ended:
            await self._end()
        if self._browser is None:
            if self._profile is None:
                self._profile = await asyncio.to_thread(make_private_dir, "browser")
            self._browser = await start_browser(self._profile, self.roots, self.working_dir / DOWNLOADS)
            if has_ended:
                self._browser.note(_RESTARTED)
        return self._browser

    async def _do(self, work: Work, browser: Browser) -> tuple[BrowserReply, bool]:
        try:
            reply = await work(browser)
        except (PageError, AddressError) as error:
            return BrowserReply(str(error)), True
        except CommandError as error:
            return BrowserReply(
                f"The page changed meanwhile ({error}). Call browser_get_state and try again."
            ), True
        except NoAnswerError as error:
            return BrowserReply(f"The browser does not answer ({error}). Try again."), True
        if self.recording is not None and browser.tabs:
            with suppress(PageError, CommandError):
                await self.recording.follow(browser.current)
        return reply, False

    async def _open(self, tab: Tab, url: str) -> None:
        try:
            async with time_limit(self._navigation_seconds):
                opened = await tab.call("Page.navigate", {"url": url}, seconds=2 * self._navigation_seconds)
        except TimeoutError as error:
            with suppress(PageError, CommandError):
                await tab.call("Page.stopLoading", seconds=STOP_SECONDS)
            raise PageError(
                f"{url[:_MAX_URL_CHARS]} did not answer within {self._navigation_seconds:g} seconds."
            ) from error
        except CommandError as error:
            raise PageError(f"{url[:_MAX_URL_CHARS]} cannot be opened: {error}.") from error
        if (reason := opened.get("errorText")) and not opened.get("isDownload"):
            raise PageError(f"{url[:_MAX_URL_CHARS]} cannot be opened: {reason}.")

    async def _lost(self, browser: Browser) -> BrowserObservation:
        how = await browser.ended_by()
        await self._end()
        return _observe(
            f"The browser has ended unexpectedly ({how}). Its tabs are lost, cookies and storage are kept. "
            "The next call starts it anew: begin with browser_navigate.",
            is_error=True,
        )

    async def _end(self) -> None:
        browser, self._browser, self.elements = self._browser, None, ()
        if self.recording is not None:
            self.recording.drop()
            self.recording = None
        if browser is not None:
            await browser.end()


async def pages(browser: Browser) -> list[Page]:
    """Returns the tabs of the browser in the order in which they were opened."""
    addresses = await browser.addresses()
    current = browser.current if browser.tabs else None
    named = [(tab, *addresses.get(tab.target_id, ("", ""))) for tab in browser.tabs]
    return [Page(tab.id, url[:_MAX_URL_CHARS], title, tab is current) for tab, url, title in named]


async def _headline(browser: Browser) -> str:
    current = next((page for page in await pages(browser) if page.is_current), None)
    if current is None:
        return ""
    return f"URL: {current.url}\nTitle: {current.title}"


async def _report(browser: Browser, reply: BrowserReply, *, is_error: bool) -> BrowserObservation:
    headline = await _headline(browser) if reply.names_page else ""
    notes = "\n".join(f"Note: {note}" for note in browser.take_notes())
    text = "\n\n".join(part for part in (headline, reply.text, notes) if part)
    return _observe(text, image_url=reply.image_url, is_error=is_error)


async def _picture(tab: Tab) -> str | None:
    try:
        async with time_limit(PREVIEW_SECONDS):
            return await take_screenshot(tab)
    except (TimeoutError, PageError, CommandError):
        return None


def _observe(text: str, *, image_url: str | None = None, is_error: bool = False) -> BrowserObservation:
    content: list[Content] = [TextContent(text=text or "Done.")]
    if image_url is not None:
        content.append(ImageContent(image_urls=[image_url]))
    return BrowserObservation(content=content, is_error=is_error)
