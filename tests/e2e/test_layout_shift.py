"""Pages load few bytes and do not shift their layout while they load."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import PHONE, visitor
from tests.support.scripted_llm import ScriptedLLM, calls, say
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

pytestmark = pytest.mark.browser

MOST = 0.02
MOST_BYTES_OF_HOME = 260_000
"""The largest allowed size of the home page in bytes, as it is sent, without the answers of the API."""

SENT = """
() => performance.getEntries()
  .filter(({ entryType, name }) =>
    entryType === 'navigation' || (entryType === 'resource' && !new URL(name).pathname.startsWith('/api/')))
  .map((part) => [new URL(part.name).pathname, part.encodedBodySize, part.decodedBodySize])
"""
WATCH = """
window.shifts = []
new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    if (!entry.hadRecentInput)
      window.shifts.push({
        value: entry.value,
        at: Math.round(entry.startTime),
        moved: entry.sources.map(({ node, previousRect, currentRect }) => ({
          what: node?.nodeType === 1 ? node.outerHTML.slice(0, 160) : (node?.textContent ?? '').slice(0, 80),
          from: [previousRect.x, previousRect.y, previousRect.width, previousRect.height],
          to: [currentRect.x, currentRect.y, currentRect.width, currentRect.height],
        })),
      })
}).observe({ type: 'layout-shift', buffered: true })
"""


def settled_shifts(page: Page) -> float:
    """Returns the sum of all layout shifts, when the page has finished loading."""
    page.wait_for_load_state("networkidle")
    page.evaluate("document.fonts.ready")
    page.evaluate(
        # The timeout: Chromium may give an idle page no idle callback for minutes.
        "() => new Promise((done) =>"
        " requestIdleCallback(() => requestAnimationFrame(() => done()), { timeout: 2000 }))"
    )
    found = page.evaluate("window.shifts")
    # pytest shows this output if the test fails.
    print(page.url, json.dumps([one for one in found if one["value"] > MOST / 10]))  # noqa: T201
    return float(sum(one["value"] for one in found))


def bytes_sent(page: Page) -> int:
    """Returns the compressed size of the page and its assets, including assets from the browser's cache."""
    parts = page.evaluate(SENT)
    assert any(name.startswith("/assets/") for name, _, _ in parts)
    # pytest shows this output if the test fails.
    print(json.dumps(parts))  # noqa: T201
    assert all(sent < whole for _, sent, whole in parts if whole > 4096), "each large part is compressed"
    return sum(sent for _, sent, _ in parts)


def test_pages_do_not_jump_while_they_load(
    scripted_server: AppServerProcess, scripted_llm: ScriptedLLM, repository: Path
) -> None:
    commands = [f"seq 1 {10 + number % 30}; echo {number} > file-{number}.txt" for number in range(40)]
    steps = [
        calls(*(("terminal", {"command": command}) for command in commands[first : first + 10]))
        for first in range(0, 40, 10)
    ]
    scripted_llm.script(*steps, say("A reply.\n\n" + "It has several paragraphs.\n\n" * 10))
    with scripted_server.client() as client, visitor() as someone:
        conversation = start_conversation(
            client, "Work for long.", selected_repository=str(repository), confirmation_mode="never"
        )
        wait_for_status(client, conversation, "finished")
        someone.page.add_init_script(WATCH)
        someone.sign_in(scripted_server)
        page = someone.page
        shifts = {}

        page.goto(scripted_server.url)
        expect(page.get_by_label("Task", exact=True)).to_be_visible()
        shifts["home"] = settled_shifts(page)
        assert 0 < bytes_sent(page) <= MOST_BYTES_OF_HOME
        page.goto(f"{scripted_server.url}/conversations/{conversation}")
        expect(page.get_by_text("It has several paragraphs.").last).to_be_visible()
        shifts["conversation"] = settled_shifts(page)
        expect(page.get_by_text("file-39.txt").first).to_be_visible()
        shifts["changes beside it"] = settled_shifts(page)
        page.set_viewport_size(PHONE)
        page.goto(scripted_server.url)
        expect(page.get_by_label("Task", exact=True)).to_be_visible()
        shifts["home on a phone"] = settled_shifts(page)
        page.goto(f"{scripted_server.url}/conversations/{conversation}")
        expect(page.get_by_text("It has several paragraphs.").last).to_be_visible()
        shifts["conversation on a phone"] = settled_shifts(page)
        someone.check_layout("conversation-header")
        page.set_viewport_size(PHONE)
        # Changing the width moves everything; these shifts are not part of the next measurement.
        settled_shifts(page)
        page.evaluate("window.shifts = []")
        page.get_by_role("tab", name="Changes").click()
        expect(page.get_by_text("file-0.txt").first).to_be_visible()
        shifts["changes on a phone"] = settled_shifts(page)

    assert {name: value for name, value in shifts.items() if value > MOST} == {}
