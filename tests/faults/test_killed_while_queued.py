"""The app server is killed while starts are queued for memory, and while one of them is admitted."""

import asyncio
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from app_server.conversations.models import StartStatus
from app_server.core.config import Config
from app_server.core.database import Database
from app_server.sandbox_backends.docker.containers import LABEL
from app_server.users.models import Role
from app_server.users.service import create_api_key, create_user
from tests.support.halting import Call, Moment
from tests.support.killed_site import Site, assert_seen_through, open_site, standing_still
from tests.support.patience import PATIENCE_SECONDS
from tests.support.server import add_model, start_task, wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

ONE = 1024**3
WAITING = StartStatus.WAITING_FOR_SANDBOX
VOLUME, CONTAINER = "POST /volumes/create", "POST /containers/create"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Yields an app server whose memory is enough for one sandbox only."""
    with open_site(tmp_path, {"SLIPWAY_SANDBOX_MEMORY_TOTAL_BYTES": str(ONE)}) as site:
        yield site


@pytest.fixture
def of_another(site: Site) -> Iterator[Site]:
    """Yields the same app server, with the client of another user."""
    headers = {"Authorization": f"Bearer {asyncio.run(key_of_another(site.server.home))}"}
    with httpx.Client(base_url=site.client.base_url, headers=headers, timeout=PATIENCE_SECONDS) as client:
        add_model(client, site.llm.base_url, site.llm.api_key)
        client.post("/settings/profiles/scripted/activate").raise_for_status()
        yield replace(site, client=client)


async def key_of_another(home: Path) -> str:
    database = Database(Config(home=home).resolved_database_url)
    async with database.session() as session:
        user = await create_user(session, name="Another", role=Role.ADMIN)
        _, key = await create_api_key(session, user, name="tests")
    await database.close()
    return key


def test_the_queue_survives_killed_servers_and_keeps_its_order(site: Site, of_another: Site) -> None:
    began = datetime.now(UTC)
    first = site.begin()
    assert site.wait_for_end(first)["status"] == "READY"
    site.wait_for_answer(first)
    moments = [Moment("before", Call(WAITING, VOLUME, 1)), Moment("after", Call(WAITING, CONTAINER, 1))]
    mine: dict[str, Moment] = {}
    for moment in moments:
        # One after the other: if two starts come at the same time, either may be the first in the queue.
        mine[site.begin(moment)] = moment
        wait_for_places([(site, each) for each in mine], since=began)
    theirs = of_another.begin()

    # Users take turns. The other user has had no turn yet and is therefore the first.
    line = [(of_another, theirs), *((site, each) for each in mine)]
    wait_for_places(line, since=began)
    for at_number in (1, 3):
        wait_for_places(line[:at_number], since=began)
        began_again = datetime.now(UTC)
        kill_and_start(site)
    wait_for_places(line, since=began_again)

    site.client.delete(f"/app-conversations/{first}").raise_for_status()
    wait_until(lambda: was_let_in(site, theirs), lambda: of_another.story(theirs))
    kill_and_start(site)
    assert_seen_through(of_another, {"as it was let in": theirs})
    for conversation_id, moment in mine.items():
        with standing_still(site, [site.wires.halts[conversation_id]]):
            site.server.kill()
        site.server.start()
        assert_seen_through(site, {moment: conversation_id})
    assert most_at_once([first, theirs, *mine], since=began) == 1


def kill_and_start(site: Site) -> None:
    site.server.kill()
    site.server.start()


def wait_for_places(line: Sequence[tuple[Site, str]], *, since: datetime) -> None:
    """Waits until each start shows its place in the queue, as a server that was started after `since` reports
    it.

    line: the starts in the order of the queue, each as the site of its user and the conversation's id.
    """

    def is_at(site: Site, conversation_id: str, number: int) -> bool:
        task = start_task(site.client, conversation_id)
        [stage] = [stage for stage in task["stages"] if stage["status"] == WAITING]
        if stage["started_at"] is None or datetime.fromisoformat(stage["started_at"]) < since:
            return False
        return f"Number {number} of " in (task["detail"] or "")

    for number, (site, conversation_id) in enumerate(line, start=1):
        wait_until(partial(is_at, site, conversation_id, number), partial(site.story, conversation_id))


def was_let_in(site: Site, conversation_id: str) -> bool:
    with closing(sqlite3.connect(site.server.home / "slipway.sqlite3", timeout=PATIENCE_SECONDS)) as rows:
        query = "SELECT 1 FROM memory_places WHERE sandbox_id = ?"
        return rows.execute(query, (UUID(conversation_id).hex,)).fetchone() is not None


def most_at_once(conversations: Sequence[str], *, since: datetime) -> int:
    """Returns how many containers of these conversations have run at the same time, at most.

    It counts the start and end events that the engine has stored since `since`.
    """
    span = [f"--since={since.timestamp():f}", f"--until={datetime.now(UTC).timestamp():f}"]
    kinds = [f"--filter={each}" for each in (f"label={LABEL}", "event=start", "event=die")]
    form = '{{.Action}} {{index .Actor.Attributes "name"}}'
    told = subprocess.check_output(["docker", "events", *span, *kinds, f"--format={form}"], text=True)
    names = {f"slipway-sandbox-{each}" for each in conversations}
    running: set[str] = set()
    most = 0
    for action, name in map(str.split, told.splitlines()):
        if name in names:
            running = running | {name} if action == "start" else running - {name}
            most = max(most, len(running))
    return most
