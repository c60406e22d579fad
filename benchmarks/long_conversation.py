"""Measures how fast a browser opens a long conversation, with 10,000 events and 200 screenshots by default.

    .venv/bin/python -m benchmarks.long_conversation [EVENTS]

Needs Chromium and a built front end (`npm run build`). Prints how long the HTTP request for the newest events
takes, and how large the reply is. Then opens the conversation in headless Chromium. Prints the time until the
page shows the end of the conversation and reacts to input, and the memory of the page. Then scrolls to twenty
older pages of events, and prints how long this takes and the memory of the page. The goals: 60 ms and 300 kB
for the request, 1.0 s and 150 MB for the page.
"""

import asyncio
import base64
import hashlib
import statistics
import struct
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from playwright.sync_api import CDPSession, Page
from sqlalchemy import select

from app_server.conversations.log.ingest import project
from app_server.conversations.models import IMPORTED, Conversation, StartStatus, StartTask
from app_server.conversations.start.tasks import new_stages
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.events import log
from app_server.events.schemas import DurableFrame
from app_server.users.models import User
from tests.support.browser import DESKTOP
from tests.support.browser import visitor as visiting
from tests.support.server import AppServerProcess

EVENTS = 10_000
SCREENSHOTS = 200
AT_ONCE = 100
REQUESTS = 30
OPENINGS = 5
OLDER_PAGES = 20
GOAL_MS, GOAL_KB, GOAL_SECONDS, GOAL_MB = 60, 300, 1.0, 150
LAST_WORDS = "This is the end of the work."


def main(events: int) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="slipway-bench-") as directory,
        AppServerProcess(Path(directory) / "home", sandbox="process") as server,
    ):
        server.api_key()  # makes the owner
        began = time.monotonic()
        conversation_id = _in_thread(_fill(Config(home=server.home), events))
        print(f"{events} events stored in {time.monotonic() - began:.1f} s")
        with server.client() as client:
            _measure_window(client, conversation_id)
        _measure_page(server, conversation_id)


def _measure_window(client: httpx.Client, conversation_id: UUID) -> None:
    times = []
    for _ in range(REQUESTS):
        began = time.monotonic()
        reply = client.get(f"/conversation/{conversation_id.hex}/events/window").raise_for_status()
        times.append(1000 * (time.monotonic() - began))
    found = reply.json()
    print(
        f"window: {statistics.median(times):.1f} ms, at most {max(times):.1f} ms (goal {GOAL_MS}); "
        f"{len(reply.content) / 1000:.0f} kB (goal {GOAL_KB}); {len(found['events'])} events, "
        f"{len(found['state'])} of the state"
    )


def _measure_page(server: AppServerProcess, conversation_id: UUID) -> None:
    url = f"{server.url}/conversations/{conversation_id.hex}"
    with visiting(DESKTOP) as visitor:
        visitor.sign_in(server)
        page = visitor.page
        times = [_opened(page, url) for _ in range(OPENINGS)]
        print(
            f"interactive: {statistics.median(times):.2f} s, at most {max(times):.2f} s (goal {GOAL_SECONDS})"
        )
        session = page.context.new_cdp_session(page)
        print(f"memory: {_heap_mb(session):.0f} MB of JavaScript (goal {GOAL_MB})")
        began = time.monotonic()
        for _ in range(OLDER_PAGES):
            page.get_by_role("log").evaluate("element => element.scrollTo(0, 0)")
            page.wait_for_timeout(100)
        print(
            f"{OLDER_PAGES} times to the start: {time.monotonic() - began:.1f} s, {_heap_mb(session):.0f} MB"
        )


def _opened(page: Page, url: str) -> float:
    """Opens the conversation in the browser. Returns how many seconds pass until the page shows the last
    message and the browser can handle input.
    """
    began = time.monotonic()
    page.goto(url, wait_until="commit")
    page.get_by_text(LAST_WORDS).wait_for()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return time.monotonic() - began


def _heap_mb(session: CDPSession) -> float:
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def _in_thread(work: Any) -> UUID:
    """Runs the coroutine `work` in a new thread and returns its result. The current thread cannot run it,
    because Playwright has an event loop there.
    """
    found: list[UUID] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(work)))
    thread.start()
    thread.join()
    return found[0]


async def _fill(config: Config, events: int) -> UUID:
    database = Database(config.resolved_database_url)
    conversation_id = uuid4()
    try:
        async with database.session() as session:
            owner = (await session.scalars(select(User).limit(1))).one()
            ids = {"id": conversation_id, "user_id": owner.id, "sandbox_id": conversation_id}
            session.add(
                Conversation(
                    **ids, title="A long one", trigger=IMPORTED, llm_profile="", last_seq=0, log_size=0
                )
            )
            session.add(StartTask(**ids, status=StartStatus.READY, request={}, stages=new_stages()))
        pictures = [_screenshot(number) for number in range(8)]
        for begin in range(1, events + 1, AT_ONCE):
            seqs = range(begin, min(begin + AT_ONCE, events + 1))
            frames = [
                DurableFrame(type="durable", seq=seq, event=_event(seq, events, pictures)) for seq in seqs
            ]
            async with database.session() as session:
                conversation = await session.get_one(Conversation, conversation_id)
                await session.refresh(conversation, ["folded_state"])
                project(conversation, await log.append(session, conversation_id, frames))
    finally:
        await database.close()
    return conversation_id


def _event(seq: int, events: int, pictures: list[str]) -> dict[str, Any]:
    """Returns the event with this sequence number. Most events are, in turn, a tool call and its result.
    About two of a hundred events are messages. Screenshots are spread evenly over the results. `events`: the
    number of events in the conversation.
    """
    envelope = {"id": f"event-{seq}", "timestamp": "2026-01-01T00:00:00", "source": "agent"}
    if seq == 2:
        return {
            **envelope,
            "source": "environment",
            "kind": "ConversationStateUpdateEvent",
            "key": "execution_status",
            "value": "finished",
        }
    if seq in {1, events} or seq % 100 < 2:
        said = LAST_WORDS if seq == events else f"Message number {seq}. " + "It goes on. " * 20
        content = [{"type": "text", "text": said}]
        return {**envelope, "kind": "MessageEvent", "llm_message": {"role": "assistant", "content": content}}
    is_call = seq % 2 == 0
    call = {"tool_name": "browser_navigate", "tool_call_id": f"call-{seq if is_call else seq - 1}"}
    if is_call:
        action = {"kind": "BrowserNavigateAction", "url": f"https://example.com/{seq}"}
        return {**envelope, **call, "kind": "ActionEvent", "thought": [], "action": action}
    content = [
        {"type": "text", "text": f"URL: https://example.com/{seq}\nTitle: Page\n" + "A line of text.\n" * 30}
    ]
    if seq % max(2, events // SCREENSHOTS) == 3:
        content.append({"type": "image", "image_urls": [pictures[seq % len(pictures)]]})  # type: ignore[dict-item]
    observation = {"kind": "BrowserObservation", "content": content, "is_error": False}
    answered = {"source": "environment", "action_id": f"event-{seq - 1}", "observation": observation}
    return {**envelope, **call, "kind": "ObservationEvent", **answered}


def _screenshot(number: int) -> str:
    """Returns a PNG image of 1280 by 720 pixels and about 300 kB, as a `data:` URL."""
    width, height, noisy_rows = 1280, 720, 80
    noise = hashlib.shake_128(bytes([number])).digest(3 * width * noisy_rows)
    plain = bytes((40 * number % 256, 120, 200)) * width
    rows = b"".join(
        b"\0" + (noise[3 * width * row : 3 * width * (row + 1)] if row < noisy_rows else plain)
        for row in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    made = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
    return f"data:image/png;base64,{base64.b64encode(made).decode()}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)
