"""Controls a running browser: its tabs, and its reactions to events such as dialogs and downloads."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent_runtime.time_limits import time_limit
from agent_runtime.tools.browser.addresses import is_admitted_file
from agent_runtime.tools.browser.chromium import (
    HEIGHT,
    WIDTH,
    Chromium,
    ChromiumError,
    find_chromium,
    launch,
    may_be_sandboxed,
)
from agent_runtime.tools.browser.connection import (
    BrowserGoneError,
    CommandError,
    Connection,
    Json,
    NoAnswerError,
)
from agent_runtime.tools.browser.downloads import Downloads
from agent_runtime.tools.browser.tab import PageError, Tab

MAX_TABS = 20
MAX_NOTES = 20
MAX_DIALOGS = 50
"""The largest number of dialogs that one page may open between two browser tool calls. A tab whose page opens
more dialogs is closed, because the page would probably never stop.
"""
START_SECONDS = 60.0
PICTURE_SECONDS = 0.5
"""The shortest time between two pictures of a recording."""
_MAX_MESSAGE_CHARS = 300
_MIN_ID_CHARS = 4
_PAGES = [{"type": "page"}]
_IFRAMES = [{"type": "iframe"}]
_VIEW = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
_EMPTY_PAGE = [{"name": "Content-Type", "value": "text/html"}]
_FILES = [{"urlPattern": "file://*"}]


def _attach(kinds: list[dict[str, str]], *, holds_new: bool) -> Json:
    return {"autoAttach": True, "waitForDebuggerOnStart": holds_new, "flatten": True, "filter": kinds}


_EQUIPMENT: tuple[tuple[str, Json], ...] = (
    ("Page.enable", {}),
    ("Inspector.enable", {}),
    ("Target.setAutoAttach", _attach(_IFRAMES, holds_new=False)),
)
_PAGE_EQUIPMENT: tuple[tuple[str, Json], ...] = (
    ("Fetch.enable", {"patterns": _FILES}),
    ("Emulation.setDeviceMetricsOverride", _VIEW),
    ("Runtime.runIfWaitingForDebugger", {}),
)

logger = logging.getLogger(__name__)


class Browser:
    """A running browser with its tabs. `roots`: the directories whose files a page may read.

    Call `open` before other methods, and `end` when the browser is no longer needed.
    """

    def __init__(self, chromium: Chromium, roots: Sequence[Path], downloads: Path) -> None:
        self._chromium = chromium
        self._roots = roots
        self._connection = Connection(self._hear)
        self._tabs: dict[str, Tab] = {}
        """The open tabs, by the ids of their DevTools sessions."""
        self._ready: dict[str, asyncio.Future[Tab]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._notes: list[str] = []
        self._current: Tab | None = None
        self._creating = asyncio.Lock()
        self._created: set[str] = set()
        self._has_no_tab_to_come = asyncio.Event()
        self._has_no_tab_to_come.set()
        self._downloads = Downloads(downloads, self.note, self._cancel_download)
        self.on_picture: Callable[[Json], None] | None = None
        """While a recording runs, the function that gets each recorded picture; otherwise None."""

    @property
    def is_alive(self) -> bool:
        return self._connection.is_open

    @property
    def pid(self) -> int:
        return self._chromium.pid

    @property
    def tabs(self) -> Sequence[Tab]:
        return tuple(self._tabs.values())

    @property
    def current(self) -> Tab:
        """The tab on which the next browser tool call acts. Raises PageError if no tab is open."""
        if self._current is None:
            raise PageError("No page is open. Open one with browser_navigate.")
        return self._current

    async def open(self) -> None:
        """Connects to the browser process. Raises BrowserGoneError if the browser has ended. Raises
        NoAnswerError if the browser does not reply.
        """
        await self._connection.open(self._chromium.socket)
        await self.call("Target.setAutoAttach", _attach(_PAGES, holds_new=True), seconds=START_SECONDS)
        behavior = {
            "behavior": "allow",
            "downloadPath": str(self._downloads.directory),
            "eventsEnabled": True,
        }
        await self.call("Browser.setDownloadBehavior", behavior)

    async def call(self, method: str, params: Json | None = None, *, seconds: float = 20.0) -> Json:
        """Sends a DevTools command to the browser (not to a page) and returns the result of the command.
        Raises BrowserGoneError if the browser has ended. Raises CommandError if the browser refuses the
        command. Raises NoAnswerError if there is no reply within `seconds`.
        """
        return await self._connection.call(method, params, seconds=seconds)

    async def new_tab(self) -> Tab:
        """Opens an empty tab and makes it the current one. Raises PageError if MAX_TABS tabs are already
        open.
        """
        if len(self._tabs) >= MAX_TABS:
            raise PageError(f"There are {MAX_TABS} tabs open already. Close some with browser_close_tab.")
        async with self._creating:
            target = (await self.call("Target.createTarget", {"url": "about:blank"}))["targetId"]
            self._created.add(target)
        async with time_limit(START_SECONDS):
            self._current = await self._of_target(target)
        return self._current

    async def wait_for_opened(self, seconds: float) -> None:
        """Waits until the new tab that a page is opening is ready. Waits at most `seconds`, and raises no
        error if the tab is not ready then. Returns at once if no page is opening a tab.
        """
        with suppress(TimeoutError):
            async with time_limit(seconds):
                await self._has_no_tab_to_come.wait()
        self._has_no_tab_to_come.set()

    async def show(self, tab: Tab) -> None:
        self._current = tab
        await self.call("Target.activateTarget", {"targetId": tab.target_id})

    async def close_tab(self, tab: Tab) -> None:
        await self.call("Target.closeTarget", {"targetId": tab.target_id})
        self._forget(tab.session)

    async def addresses(self) -> dict[str, tuple[str, str]]:
        """Returns the URL and the title of each open page. The keys are the ids of the pages in the DevTools
        protocol (target ids).
        """
        infos = (await self.call("Target.getTargets", {"filter": _PAGES}))["targetInfos"]
        return {info["targetId"]: (info["url"], " ".join(info["title"].split())[:200]) for info in infos}

    def note(self, text: str) -> None:
        """Stores a message for the model about an event that no tool call has caused, such as a dialog. The
        model reads the message with the next tool result.
        """
        if len(self._notes) < MAX_NOTES:
            self._notes.append(text)

    def take_notes(self) -> list[str]:
        notes, self._notes = self._notes, []
        for tab in self._tabs.values():
            tab.dialogs = 0
        return notes

    async def ended_by(self) -> str:
        """Returns a text for an error message that says why the browser cannot be used. The text contains the
        exit code of the browser's process. If the process does not end within five seconds, the text says
        that the browser does not answer.
        """
        with suppress(TimeoutError):
            async with time_limit(5):
                return f"exit code {await self._chromium.wait()}"
        return "it stopped answering"

    async def end(self) -> None:
        """Ends all processes of the browser. Safe to call twice."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._connection.close()
        await self._chromium.end()

    def _hear(self, session: str, event: str, params: Json) -> None:
        tab = self._tab_of(session)
        if tab is None:
            self._hear_browser(event, params)
            return
        tab.hear(session, event, params)
        match event:
            case "Target.attachedToTarget":
                self._do(self._equip(params["sessionId"]))
            case "Page.windowOpen":
                self._has_no_tab_to_come.clear()
            case "Page.javascriptDialogOpening":
                self._do(self._answer_dialog(tab, session, params))
            case "Fetch.requestPaused":
                self._do(self._judge_request(tab, session, params))
            case "Page.screencastFrame":
                self._do(self._take_picture(session, params))

    def _hear_browser(self, event: str, params: Json) -> None:
        match event:
            case "Target.attachedToTarget":
                self._attached(params)
            case "Target.detachedFromTarget":
                self._forget(params["sessionId"])
            case "Browser.downloadWillBegin":
                for tab in self._tabs.values():
                    tab.stop_waiting()
                self._downloads.begin(params)
            case "Browser.downloadProgress":
                self._downloads.follow(params)

    def _tab_of(self, session: str) -> Tab | None:
        return next((tab for tab in self._tabs.values() if session in tab.sessions), None)

    def _attached(self, params: Json) -> None:
        session, info = params["sessionId"], params["targetInfo"]
        tab = Tab(self._connection, self._free_id(info["targetId"]), info["targetId"], session)
        self._tabs[session] = tab
        self._do(self._set_up(tab))

    def _free_id(self, target_id: str) -> str:
        taken = {tab.id for tab in self._tabs.values()}
        lengths = range(_MIN_ID_CHARS, len(target_id) + 1)
        return next(end for n in lengths if (end := target_id[-n:].lower()) not in taken)

    async def _set_up(self, tab: Tab) -> None:
        if len(self._tabs) > MAX_TABS:
            self.note(f"A further tab was closed at once: there are {MAX_TABS} open.")
            await self.close_tab(tab)
            return
        await self._equip(tab.session, *_PAGE_EQUIPMENT)
        async with self._creating:
            is_ours = tab.target_id in self._created
        if not is_ours:
            self.note(f"A new tab was opened: {tab.id}. It is the current one now.")
            self._current = tab
            self._has_no_tab_to_come.set()
        waiting = self._ready.setdefault(tab.target_id, asyncio.get_running_loop().create_future())
        if not waiting.done():
            waiting.set_result(tab)

    async def _equip(self, session: str, *further: tuple[str, Json]) -> None:
        """Sets up a new page, or an iframe with a separate DevTools session: sends it the DevTools commands
        for this. Returns when the browser has replied to all commands.

        `session`: the id of the DevTools session. `further`: additional commands, each with its parameters.

        Sends all commands at once and does not wait for a reply in between. A new page is paused until the
        last command resumes it, and the browser replies to some of the commands only after that.
        """
        calls = (*_EQUIPMENT, *further)
        await asyncio.gather(
            *(self._connection.call(method, params, session=session) for method, params in calls)
        )

    async def _of_target(self, target: str) -> Tab:
        waiting = self._ready.setdefault(target, asyncio.get_running_loop().create_future())
        tab = await waiting
        del self._ready[target]
        return tab

    def _forget(self, session: str) -> None:
        tab = self._tabs.pop(session, None)
        if tab is not None:
            tab.has_crashed = True
            self._ready.pop(tab.target_id, None)
            self._created.discard(tab.target_id)
        if tab is self._current:
            self._current = next(reversed(self._tabs.values()), None)

    async def _answer_dialog(self, tab: Tab, session: str, params: Json) -> None:
        tab.dialogs += 1
        kind, message = params["type"], params["message"][:_MAX_MESSAGE_CHARS]
        if tab.dialogs > MAX_DIALOGS:
            self.note(f"Tab {tab.id} was closed: it opened one dialog after another.")
            await self.close_tab(tab)
            return
        if kind == "beforeunload":
            self.note("The page asked whether to leave it; it was left.")
        else:
            self.note(f"The page showed a dialog ({kind}): {message!r}. It was answered with OK.")
        answer = {"accept": True, "promptText": params.get("defaultPrompt", "")}
        await self._connection.call("Page.handleJavaScriptDialog", answer, session=session)

    async def _judge_request(self, tab: Tab, session: str, params: Json) -> None:
        address, answer = params["request"]["url"], {"requestId": params["requestId"]}
        if tab.is_empty:
            empty = {"responseCode": 200, "responseHeaders": _EMPTY_PAGE}
            await self._connection.call("Fetch.fulfillRequest", {**answer, **empty}, session=session)
        elif await asyncio.to_thread(is_admitted_file, address, self._roots):
            await self._connection.call("Fetch.continueRequest", answer, session=session)
        else:
            self.note(f"Refused to the page: {address[:_MAX_MESSAGE_CHARS]} lies outside the workspace.")
            answer["errorReason"] = "AccessDenied"
            await self._connection.call("Fetch.failRequest", answer, session=session)

    async def _take_picture(self, session: str, params: Json) -> None:
        if self.on_picture is not None:
            self.on_picture(params)
        # Chromium sends the next picture only after this answer.
        await asyncio.sleep(PICTURE_SECONDS)
        answer = {"sessionId": params["sessionId"]}
        await self._connection.call("Page.screencastFrameAck", answer, session=session)

    def _cancel_download(self, guid: str) -> None:
        async def cancel() -> None:
            await self.call("Browser.cancelDownload", {"guid": guid})

        self._do(cancel())

    def _do(self, reaction: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(_unless_gone(reaction))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def start_browser(profile: Path, roots: Sequence[Path], downloads: Path) -> Browser:
    """Starts a browser and returns it. If Chromium cannot use its sandbox on this machine, starts Chromium
    without the sandbox. Raises ChromiumError if the browser cannot be started.

    `profile`: Chromium's profile directory. `roots`: the directories whose files a page may read.
    `downloads`: the directory for downloaded files.
    """
    executable = await asyncio.to_thread(find_chromium)
    if executable is None:
        raise ChromiumError("There is no Chromium on PATH any more.")
    attempts = (True, False) if may_be_sandboxed() else (False,)
    for sandboxed in attempts:
        chromium = await launch(executable, profile, sandboxed=sandboxed)
        browser = Browser(chromium, roots, downloads)
        try:
            await browser.open()
        except (BrowserGoneError, NoAnswerError) as error:
            await browser.end()
            words = await chromium.last_words()
            if not (sandboxed and "sandbox" in words.lower()):
                raise ChromiumError(
                    f"Chromium does not start here: {words[-500:] or 'it says nothing'}"
                ) from error
            # For example in containers without user namespaces. Then only the container isolates pages.
            logger.warning("chromium's own sandbox is not available here; going on without it")
        except BaseException:
            await browser.end()
            raise
        else:
            return browser
    raise ChromiumError("Chromium does not start here, with its own sandbox or without.")


async def _unless_gone(reaction: Coroutine[Any, Any, None]) -> None:
    """Runs the coroutine that reacts to a browser event. Ignores errors of the browser, because the page may
    be closed before the coroutine ends.
    """
    try:
        await reaction
    except (BrowserGoneError, CommandError, NoAnswerError, PageError) as error:
        logger.debug("a reaction to the browser came too late: %s", error)
