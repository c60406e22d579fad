"""Reads and writes the browser's cookies and local storage as JSON.

The format is the storage state of Playwright, which other tools also use.
"""

from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from agent_runtime.tools.browser.browser import Browser
from agent_runtime.tools.browser.connection import CommandError
from agent_runtime.tools.browser.tab import PageError, Tab

MAX_VALUE_CHARS = 4_000
MAX_TEXT_CHARS = 80_000
_COOKIE_FIELDS = ("name", "value", "domain", "path", "expires", "httpOnly", "secure", "sameSite")
_LOAD_SECONDS = 20.0


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str
    value: str


class _Origin(BaseModel):
    model_config = ConfigDict(extra="ignore")

    origin: str
    localStorage: list[_Entry] = []  # noqa: N815 (the name others write)


class _Cookie(BaseModel):
    """A browser cookie in JSON. Either `url`, or `domain` and `path`, define the website of the cookie."""

    model_config = ConfigDict(extra="ignore")

    name: str
    value: str
    url: str | None = None
    domain: str | None = None
    path: str | None = None
    expires: float | None = None
    httpOnly: bool | None = None  # noqa: N815
    secure: bool | None = None
    sameSite: str | None = None  # noqa: N815


class _State(BaseModel):
    model_config = ConfigDict(extra="ignore")

    cookies: list[_Cookie] = []
    origins: list[_Origin] = []


async def read_storage(browser: Browser) -> str:
    """Returns the stored data of websites as JSON: all cookies of the browser, and the local storage of each
    origin (website) that a tab or one of its frames shows now. Raises PageError if the JSON is too large for
    the model.
    """
    cookies = (await browser.call("Storage.getCookies"))["cookies"]
    origins: dict[str, list[dict[str, str]]] = {}
    for tab in browser.tabs:
        for frame in await tab.frames():
            try:
                stored = await tab.run(frame, "storage", None)
            except CommandError:
                continue  # it is gone meanwhile
            if stored and stored["localStorage"]:
                origins[stored["origin"]] = [_shortened(entry) for entry in stored["localStorage"]]
    state = {
        "cookies": [{key: one[key] for key in _COOKIE_FIELDS if key in one} for one in cookies],
        "origins": [{"origin": origin, "localStorage": entries} for origin, entries in origins.items()],
    }
    text = orjson.dumps(state, option=orjson.OPT_INDENT_2).decode()
    if len(text) > MAX_TEXT_CHARS:
        raise PageError(f"The sites keep too much to be shown: {len(text):,} characters.")
    return text


async def write_storage(browser: Browser, given: dict[str, Any]) -> str:
    """Adds the given cookies and local storage entries to the browser. Returns a sentence with the number of
    cookies and the number of origins (websites) whose local storage was set.

    `given`: the format that `read_storage` returns, as decoded JSON. Raises PageError if `given` is not valid
    or the browser refuses it.
    """
    try:
        state = _State.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise PageError(f"`storage_state.{where}` is not of its form: {first['msg']}.") from error
    try:
        cookies = [cookie.model_dump(exclude_none=True) for cookie in state.cookies]
        await browser.call("Storage.setCookies", {"cookies": cookies})
    except CommandError as error:
        raise PageError(f"The browser refuses these cookies: {error}.") from error
    for origin in state.origins:
        await _keep(browser, origin)
    return f"{len(state.cookies)} cookies and the local storage of {len(state.origins)} origins are set."


async def _keep(browser: Browser, origin: _Origin) -> None:
    """Writes entries into the browser's local storage of an origin (website). `origin`: the URL of the
    origin, and the entries.

    Only a page of the origin can do this. So the function opens an empty page with the origin's URL in a new
    tab, and closes the tab afterwards. The website's server gets no request. Raises PageError if the URL is
    not valid or the entries cannot be written.
    """
    if not origin.origin.startswith(("http://", "https://")):
        raise PageError(f"{origin.origin!r} is not an origin of the web, such as https://example.org.")
    before = browser.current if browser.tabs else None
    tab = await browser.new_tab()
    try:
        await _open_empty(tab, f"{origin.origin.rstrip('/')}/")
        page = (await tab.frames())[0]
        await tab.run(page, "keep", [entry.model_dump() for entry in origin.localStorage])
    except CommandError as error:
        raise PageError(f"Nothing can be kept for {origin.origin}: {error}.") from error
    finally:
        await browser.close_tab(tab)
        if before is not None:
            await browser.show(before)


async def _open_empty(tab: Tab, address: str) -> None:
    tab.is_empty = True
    await tab.call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
    opened = await tab.call("Page.navigate", {"url": address})
    if "errorText" in opened or not await tab.wait_until_loaded(_LOAD_SECONDS):
        raise PageError(f"{address} is not an origin of the web, such as https://example.org.")


def _shortened(entry: dict[str, str]) -> dict[str, str]:
    if len(entry["value"]) <= MAX_VALUE_CHARS:
        return entry
    return {"name": entry["name"], "left_out": f"{len(entry['value']):,} characters"}
