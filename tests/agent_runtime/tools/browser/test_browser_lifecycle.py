"""The browser starts at the first call, is started again if it dies, and leaves no processes or files at its
end.
"""

import asyncio
import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from agent_runtime.tools.browser.chromium import find_chromium
from agent_runtime.tools.browser.connection import BrowserGoneError
from agent_runtime.tools.browser.session import BrowserSession
from agent_runtime.tools.registry import ToolNotFoundError, ToolSpec, create_tools
from agent_runtime.tools.tool import ToolContext
from agent_runtime.workspace.environment import set_way_out
from tests.agent_runtime.tools.browser.conftest import LIMIT_SECONDS, Driver
from tests.support.web_site import WebSite

pytestmark = pytest.mark.browser

QUIET_SECONDS = 8.0


def members_of(group: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # State Z: the process has ended, but its parent has not waited for it yet.
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def environments(group: int) -> list[bytes]:
    return [Path(f"/proc/{pid}/environ").read_bytes() for pid in members_of(group)]


async def until_gone(group: int) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while members_of(group):  # noqa: ASYNC110 (processes send no events)
            await asyncio.sleep(0.05)


def profiles() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob(f"slipway-browser-{os.getpid()}-*"))


def leftovers_of_chromium() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("org.chromium.Chromium.*"))


def port_listeners(group: int) -> list[str]:
    """Returns the listening sockets that processes of the process group `group` hold, as `socket:[inode]`."""
    tables = ("/proc/net/tcp", "/proc/net/tcp6")
    rows = [line.split() for table in tables for line in Path(table).read_text().splitlines()[1:]]
    listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    held = []
    for pid in members_of(group):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                held.append(str(link.readlink()))
            except FileNotFoundError:
                continue
    return [one for one in held if one in listening]


async def test_nothing_starts_before_the_first_call_and_nothing_stays_after_the_end(
    workspace: Path, site: WebSite
):
    before, left_before = profiles(), leftovers_of_chromium()
    session = BrowserSession(workspace)
    assert session.pid is None
    assert profiles() == before
    await Driver(session).open(site.url + "/x")
    pid = session.pid
    assert pid is not None
    assert len(members_of(pid)) > 1
    (profile,) = profiles() - before
    assert profile.stat().st_mode & 0o777 == 0o700
    assert session.is_in_use

    await session.close()
    await session.close()

    await until_gone(pid)
    assert profiles() == before
    assert leftovers_of_chromium() <= left_before
    assert not session.is_in_use


async def test_no_other_program_can_connect_to_the_browser(browser: Driver, site: WebSite):
    await browser.open(site.url)
    assert browser.session.pid is not None
    assert port_listeners(browser.session.pid) == []


async def test_the_servers_own_environment_does_not_reach_it(
    browser: Driver, site: WebSite, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SOME_VENDORS_KEY", "canary")
    await browser.open(site.url)
    assert browser.session.pid is not None

    assert not any(b"canary" in environment for environment in environments(browser.session.pid))


async def test_a_browser_that_was_killed_is_started_anew_with_its_cookies(browser: Driver, site: WebSite):
    site.pages["/"] = "<script>document.cookie = 'a=b; max-age=1000'; localStorage.a = 'b'</script>"
    site.pages["/two"] = "<script>document.title = document.cookie</script>"
    await browser.open(site.url)
    await browser.call("go_back")  # going to another page makes Chromium write the page's data to the disk
    first = browser.session.pid
    assert first is not None
    os.killpg(first, signal.SIGKILL)
    await until_gone(first)
    assert await browser.session.glimpse() is None, "by then the session knows it, too"

    answer = await browser.open(site.url + "/two")

    assert "had ended unexpectedly" in answer
    assert browser.session.pid != first


async def test_a_browser_that_dies_in_the_middle_of_a_call_is_an_answer(browser: Driver, site: WebSite):
    def dies(_: object) -> None:
        assert browser.session.pid is not None
        os.killpg(browser.session.pid, signal.SIGKILL)
        site.ending.wait()

    site.pages["/"] = dies
    site.pages["/two"] = "<title>Two</title>"
    await browser.open("about:blank")

    answer = await browser.call("navigate", url=site.url)

    assert answer.is_error
    assert "has ended unexpectedly" in answer.text
    assert "exit code -9" in answer.text
    assert "Title: Two" in await browser.open(site.url + "/two")


async def test_where_chromium_cannot_sandbox_its_pages_it_goes_on_without(
    browser: Driver, site: WebSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    site.pages["/"] = "<title>Home</title>"
    refusing = tmp_path / "programs" / "chromium"
    refusing.parent.mkdir()
    # The process ends before its socket closes, and its child process still holds its standard error open.
    refusing.write_text(
        f"""#!/bin/bash
case " $* " in *" --no-sandbox "*) exec {find_chromium()} "$@";; esac
echo "No usable sandbox!" >&2
(sleep 0.5; exec 3<&- 4>&-; sleep 60) &
"""
    )
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{refusing.parent}:{os.environ['PATH']}")
    monkeypatch.setattr("agent_runtime.tools.browser.browser.may_be_sandboxed", lambda: True)

    assert "Home" in await browser.open(site.url)


async def test_a_page_that_crashes_does_not_take_the_browser_along(browser: Driver, site: WebSite):
    site.pages["/"] = "<title>One</title><button>x</button>"
    await browser.open(site.url)

    async def crash(running):
        try:
            await running.current.call("Page.crash", seconds=1)
        except BrowserGoneError:
            raise AssertionError("the browser is gone") from None

    assert (await browser.session.use(crash)).is_error
    assert "crashed" in (await browser.call("get_state")).text
    assert "Title: One" in await browser.open(site.url)


async def test_a_call_that_is_interrupted_leaves_the_browser_usable(browser: Driver, site: WebSite):
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def never(_: object) -> None:
        loop.call_soon_threadsafe(asked.set)
        site.ending.wait()

    site.pages["/"] = never
    site.pages["/two"] = "<title>Two</title>"
    call = asyncio.create_task(browser.call("navigate", url=site.url))
    await asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert "Title: Two" in await browser.open(site.url + "/two")


async def test_people_see_what_the_agent_sees(browser: Driver, site: WebSite):
    assert await browser.session.glimpse() is None
    site.pages["/"] = "<title>One</title>"
    await browser.open(site.url)
    await browser.open(site.url, new_tab=True)

    seen = await browser.session.glimpse()

    assert seen is not None
    assert [(tab.url, tab.title, tab.is_current) for tab in seen.tabs] == [
        (site.url + "/", "One", False),
        (site.url + "/", "One", True),
    ]
    assert seen.image_url is not None
    assert seen.image_url.startswith("data:image/jpeg;base64,")


async def test_a_recording_is_a_folder_of_pictures_and_a_page_that_plays_them(
    browser: Driver, site: WebSite, workspace: Path
):
    site.pages["/"] = (
        "<title>Counting</title><script>setInterval(() => document.body.append('x'), 50)</script>"
    )
    assert (await browser.call("start_recording")).is_error  # no page is open yet
    await browser.open(site.url)

    assert not (await browser.call("start_recording")).is_error
    assert (await browser.call("start_recording")).is_error
    directory = workspace / ".agents_tmp" / "browser_recordings" / "001"
    async with asyncio.timeout(LIMIT_SECONDS):
        while len(list(directory.glob("*.jpg"))) < 2:  # noqa: ASYNC110 (the file system sends no events)
            await asyncio.sleep(0.05)
    answer = (await browser.call("stop_recording")).text

    pictures = sorted(directory.glob("*.jpg"))
    assert f"{len(pictures)} pictures are in {directory}" in answer
    assert pictures[0].read_bytes().startswith(b"\xff\xd8\xff")
    assert "Title: Browser recording" in await browser.open((directory / "index.html").as_uri())
    assert (await browser.call("stop_recording")).is_error


async def test_the_browser_makes_no_calls_by_itself(browser: Driver, site: WebSite):
    """The proxy would refuse a request that Chromium makes by itself, and users would be
    asked to allow it.
    """
    site.pages["/"] = "<title>Page</title><input name='q'>"
    called = asyncio.Event()
    asked: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode())
        called.set()
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        set_way_out(f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        try:
            await browser.open(site.url)
            # In the past, the first such request came within a second after the start.
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET_SECONDS):
                    await called.wait()
        finally:
            set_way_out(None)
    assert asked == []


def test_without_a_browser_the_tools_are_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ToolNotFoundError, match="no Chromium on PATH"):
        create_tools([ToolSpec(name="browser_tool_set")], ToolContext(tmp_path, tmp_path))


def test_the_set_is_known_by_its_class_and_gives_all_the_tools(tmp_path: Path):
    tools = create_tools([ToolSpec(name="BrowserToolSet")], ToolContext(tmp_path, tmp_path))

    assert [name for name in tools if name.startswith("browser_")] == [
        "browser_navigate", "browser_click", "browser_type", "browser_get_state", "browser_get_content",
        "browser_scroll", "browser_go_back", "browser_list_tabs", "browser_switch_tab", "browser_close_tab",
        "browser_get_storage", "browser_set_storage", "browser_start_recording", "browser_stop_recording",
    ]  # fmt: skip
