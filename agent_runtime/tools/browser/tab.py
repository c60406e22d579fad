"""Controls one tab of the browser: its frames, its loading state, and the scripts that the runtime runs in
the page. Scripts of the page cannot see the runtime's scripts.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from agent_runtime.time_limits import time_limit
from agent_runtime.tools.browser.connection import (
    CALL_SECONDS,
    CommandError,
    Connection,
    Json,
    NoAnswerError,
)

MAX_FRAMES = 30
MAX_SCRIPT_SECONDS = 10.0
_WORLD = "slipway"
_LOADABLE = ("http:", "https:", "file:", "data:", "about:")


class PageError(Exception):
    """The error that is raised when a browser tool call is not possible in the current state of the page. The
    text is for the model.
    """


@dataclass(frozen=True)
class PageFrame:
    """The document of a page, or of an iframe in the page.

    `session`: the id of the DevTools session that controls the document. `owner_session`: for an iframe, the
    id of the session that controls the document which contains the iframe; None for the page itself. Both ids
    are the same if one process of the browser draws both documents.
    """

    id: str
    session: str
    url: str
    owner_session: str | None


@cache
def script(name: str) -> str:
    """Returns the text of the JavaScript file with this name in `scripts/`."""
    return (Path(__file__).parent / "scripts" / f"{name}.js").read_text(encoding="utf-8")


class Tab:
    """A tab of the browser. `id`: the name by which the model refers to the tab. It consists of the last
    characters (at least four) of `target_id`, the id of the tab in the DevTools protocol.
    """

    def __init__(self, connection: Connection, tab_id: str, target_id: str, session: str) -> None:
        self._connection = connection
        self.id = tab_id
        self.target_id = target_id
        self.session = session
        self.has_crashed = False
        self.is_empty = False
        """If True, the tab shows an empty page for every URL and sends no request to the server of the URL.
        """
        self.dialogs = 0
        """The number of dialogs that the page has opened since the last browser tool call."""
        self._parents: dict[str, str] = {}
        self._loaded = asyncio.Event()
        self._loaded.set()

    @property
    def sessions(self) -> Sequence[str]:
        """The ids of the DevTools sessions of this tab: of its page, and of its frames that run in other
        processes.
        """
        return (self.session, *self._parents)

    def hear(self, session: str, event: str, params: Json) -> None:
        """Updates the state of the tab after an event of the browser's DevTools protocol, such as a crash or
        the end of loading. `session`: the id of the DevTools session of the tab that has sent the event.
        """
        match event:
            case "Target.attachedToTarget":
                self._parents[params["sessionId"]] = session
            case "Target.detachedFromTarget":
                self._parents.pop(params["sessionId"], None)
            case "Inspector.targetCrashed" if session == self.session:
                self.has_crashed = True
                self._loaded.set()
            case _ if session == self.session and params.get("frameId") == self.target_id:
                self._follow_loading(event, params)

    def _follow_loading(self, event: str, params: Json) -> None:
        if event == "Page.frameStartedLoading":
            self._loaded.clear()
        elif event == "Page.frameRequestedNavigation":
            if params.get("disposition") == "currentTab" and params["url"].startswith(_LOADABLE):
                self._loaded.clear()
        elif event in {"Page.frameStoppedLoading", "Page.navigatedWithinDocument"}:
            self._loaded.set()

    def stop_waiting(self) -> None:
        """Ends the wait for a page to load (`wait_until_loaded`). Called if no page is opened in this tab,
        for example because the opened URL is a download.
        """
        self._loaded.set()

    async def wait_until_loaded(self, seconds: float) -> bool:
        """Waits until the tab has loaded its page, and returns True. Returns False if the page is not loaded
        within `seconds`.
        """
        try:
            async with time_limit(seconds):
                await self._loaded.wait()
        except TimeoutError:
            return False
        return True

    async def call(
        self, method: str, params: Json | None = None, *, session: str | None = None, seconds: float = 0
    ) -> Json:
        """Sends a DevTools command to the tab's page and returns the result of the command. `session`: the
        DevTools session that gets the command; None means the session of the page. `seconds`: how long to
        wait for the result; 0 means CALL_SECONDS.

        Raises PageError if the page has crashed or is too busy to reply. Raises CommandError if the browser
        refuses the command. Raises BrowserGoneError if the browser has ended.
        """
        if self.has_crashed:
            raise PageError("This page has crashed. Open it again with browser_navigate.")
        try:
            return await self._connection.call(
                method, params, session=session or self.session, seconds=seconds or CALL_SECONDS
            )
        except NoAnswerError as error:
            if self.has_crashed:
                raise PageError("This page has crashed. Open it again with browser_navigate.") from error
            raise PageError(
                "The page does not answer: its scripts keep it busy. Wait and try again, open another page "
                "with browser_navigate, or close it with browser_close_tab."
            ) from error

    async def frames(self) -> list[PageFrame]:
        """Returns the documents of the tab's page and of its frames. The document of the page comes first."""
        found = list(_frames(await self.call("Page.getFrameTree"), self.session, None))
        for session, parent in list(self._parents.items()):
            try:
                found += _frames(await self.call("Page.getFrameTree", session=session), session, parent)
            except CommandError:
                continue  # it is gone meanwhile
        return found[:MAX_FRAMES]

    async def run(self, frame: PageFrame, name: str, argument: Any) -> Any:
        """Runs one of the runtime's scripts in a frame of the page and returns the script's result. `name`:
        the name of the script. `argument`: the argument for the script, which is passed as JSON.

        Raises CommandError if the frame no longer exists.
        """
        expression = f"({script(name)})({orjson.dumps(argument).decode()})"
        return (await self._evaluate(frame, expression, by_value=True)).get("value")

    async def element(self, frame: PageFrame, index: int) -> str | None:
        """Returns the DevTools handle of an element: the id by which DevTools commands refer to the element.
        Returns None if the element no longer exists.

        `frame`: the document that contains the element. The script `elements.js` must have run there before,
        because it makes the list of elements. `index`: the element's index in this list.
        """
        try:
            found = await self._evaluate(frame, f"globalThis.slipwayElements?.[{index}]", by_value=False)
        except CommandError:
            return None
        return found.get("objectId")

    async def on(self, frame: PageFrame, handle: str, name: str, *arguments: Any) -> Json:
        """Runs one of the runtime's scripts on an element of the page and returns the script's result.
        `handle`: the DevTools handle of the element. `name`: the name of the script. `arguments`: the
        arguments for the script.
        """
        params = {
            "functionDeclaration": script(name),
            "objectId": handle,
            "arguments": [{"value": value} for value in arguments],
            "returnByValue": True,
        }
        found = await self.call("Runtime.callFunctionOn", params, session=frame.session)
        value = _result(found).get("value")
        return value if isinstance(value, dict) else {}

    async def offset(self, frame: PageFrame) -> tuple[float, float]:
        """Returns the position (x, y) of the frame's document, in pixels from the top left corner of the
        visible part of the page.
        """
        if frame.owner_session is None:
            return 0.0, 0.0
        owner = await self.call("DOM.getFrameOwner", {"frameId": frame.id}, session=frame.owner_session)
        node = {"backendNodeId": owner["backendNodeId"]}
        box = await self.call("DOM.getBoxModel", node, session=frame.owner_session)
        x, y = box["model"]["content"][:2]
        outer_x, outer_y = await self._process_offset(frame.owner_session)
        return x + outer_x, y + outer_y

    async def _process_offset(self, session: str) -> tuple[float, float]:
        """Returns where the outermost document of a DevTools session begins in the tab: x and y, in pixels
        from the top left corner of the visible part of the page. `session`: the id of the DevTools session.

        An iframe that a separate browser process draws has a separate session. In this session, the browser
        states positions relative to the iframe. The result is added to such a position to get the position in
        the tab. For the session of the page itself, the result is (0, 0).
        """
        if session == self.session:
            return 0.0, 0.0
        tree = await self.call("Page.getFrameTree", session=session)
        return await self.offset(next(_frames(tree, session, self._parents[session])))

    async def _evaluate(self, frame: PageFrame, expression: str, *, by_value: bool) -> Json:
        world = await self.call(
            "Page.createIsolatedWorld", {"frameId": frame.id, "worldName": _WORLD}, session=frame.session
        )
        params = {
            "expression": expression,
            "contextId": world["executionContextId"],
            "returnByValue": by_value,
            "timeout": MAX_SCRIPT_SECONDS * 1000,
        }
        return _result(await self.call("Runtime.evaluate", params, session=frame.session))


def _frames(answer: Json, session: str, owner_session: str | None) -> Iterator[PageFrame]:
    """Yields the outermost frame of a DevTools session, and the frames inside it that the same browser
    process draws. The outermost frame comes first.

    `answer`: the browser's reply with the tree of frames. `session`: the id of the DevTools session.
    `owner_session`: the id of the session for the document that contains the outermost frame; None if the
    outermost frame is the page itself.
    """
    waiting = [(answer["frameTree"], owner_session)]
    while waiting:
        tree, owner = waiting.pop(0)
        yield PageFrame(tree["frame"]["id"], session, tree["frame"]["url"], owner)
        waiting += [(child, session) for child in tree.get("childFrames", ())]


def _result(answer: Json) -> Json:
    if "exceptionDetails" in answer:
        raise CommandError(str(answer["exceptionDetails"].get("text", "a script failed")))
    found: Json = answer["result"]
    return found
