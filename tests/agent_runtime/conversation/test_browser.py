"""Tests of an agent with a real browser. A scripted model uses the browser."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_runtime.conversation.conftest import Conversations, of_kind, user
from tests.support.scripted_llm import ScriptedLLM, call, calls, say
from tests.support.web_site import WebSite, web_site

pytestmark = pytest.mark.browser


@pytest.fixture
def site() -> Iterator[WebSite]:
    with web_site() as site:
        yield site


def texts(conversation: Any) -> list[str]:
    observations = of_kind(conversation, "ObservationEvent")
    return ["\n".join(p.get("text", "(image)") for p in o["observation"]["content"]) for o in observations]


def browsers_of(process: int) -> list[int]:
    """Returns the ids of the Chromium processes that the process with the id `process` has started."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    return [pid for pid in pids if b"--remote-debugging-pipe" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_a_model_finds_its_way_through_a_form(
    conversations: Conversations, scripted_llm: ScriptedLLM, site: WebSite
):
    site.pages["/"] = "<title>Ask</title><form action=/done><input name=q aria-label=Word><button>Go</button>"
    site.pages["/done"] = "<title>Done</title><h1>Thank you</h1>"
    scripted_llm.script(
        call("browser_navigate", url=site.url),
        call("browser_get_state", include_screenshot=True),
        calls(("browser_type", {"index": 0, "text": "gold"}), ("browser_click", {"index": 1})),
        call("browser_get_content"),
        say("It thanks you."),
    )
    conversation = conversations.create(tools=["browser_tool_set"], llm={"model": "openai/gpt-4o"})
    conversation.send(user("Ask for gold."))

    await conversation.run()

    seen = texts(conversation)
    assert '[0] textbox "Word"' in seen[1]
    assert "Title: Done" in seen[3]
    assert "# Thank you" in seen[4]
    assert "/done?q=gold" in site.asked
    observation = of_kind(conversation, "ObservationEvent")[1]["observation"]
    assert observation["kind"] == "BrowserObservation"
    assert set(observation) == {"content", "is_error", "kind"}
    picture = scripted_llm.requests[2].body["messages"][-1]
    assert picture["role"] == "user"
    urls = [part["image_url"]["url"] for part in picture["content"] if "image_url" in part]
    assert [url.partition(",")[0] for url in urls] == ["data:image/jpeg;base64"]


async def test_calls_of_one_reply_share_the_browser_one_after_another(
    conversations: Conversations, scripted_llm: ScriptedLLM, site: WebSite
):
    for name in "abc":
        site.pages[f"/{name}"] = f"<title>{name}</title>"
    scripted_llm.script(
        calls(*(("browser_navigate", {"url": f"{site.url}/{name}"}) for name in "abc")), say("Done.")
    )
    conversation = conversations.create(
        agent={"tools": [{"name": "browser_tool_set"}], "tool_concurrency_limit": 4}
    )
    conversation.send(user("Open them."))

    await conversation.run()

    assert [text.splitlines()[1] for text in texts(conversation)] == ["Title: a", "Title: b", "Title: c"]


async def test_a_secret_that_a_page_shows_is_masked(
    conversations: Conversations, scripted_llm: ScriptedLLM, site: WebSite
):
    site.pages["/"] = (
        "<title>top-canary-value</title><p>The key: top-canary-value</p><button>top-canary-value"
    )
    scripted_llm.script(
        call("browser_navigate", url=site.url),
        calls(("browser_get_state", {}), ("browser_get_content", {})),
        say("Seen."),
    )
    conversation = conversations.create(
        tools=["browser_tool_set"], secrets={"KEY": {"kind": "StaticSecret", "value": "top-canary-value"}}
    )
    conversation.send(user("Look."))

    await conversation.run()

    assert len(texts(conversation)) == 3
    assert all("<secret-hidden>" in text for text in texts(conversation))
    assert not any("canary" in str(request.body) for request in scripted_llm.requests)


async def test_a_browser_that_was_killed_is_an_answer_and_the_work_goes_on(
    conversations: Conversations, scripted_llm: ScriptedLLM, site: WebSite
):
    def dies(_: object) -> None:
        (pid,) = browsers_of(os.getpid())
        os.killpg(pid, signal.SIGKILL)
        site.ending.wait()

    site.pages["/deadly"] = dies
    site.pages["/"] = "<title>Home</title>"
    scripted_llm.script(
        call("browser_navigate", url=site.url),
        call("browser_navigate", url=site.url + "/deadly"),
        call("browser_navigate", url=site.url),
        say("Done."),
    )
    conversation = conversations.create(tools=["browser_tool_set"])
    conversation.send(user("Go."))

    await conversation.run()

    first, second, third = texts(conversation)
    assert "Title: Home" in first
    assert "has ended unexpectedly" in second
    assert "Title: Home" in third
    await conversation.close()
    assert browsers_of(os.getpid()) == []
