"""The app server is killed, or a container killed or removed, at each step of a start in Docker.

The steps are not listed here. An undisturbed start is recorded: each call to the engine, to the agent server
and to the git host. Then for each call one start is halted right before it, and one right after its answer,
and the server is killed. So a new step of the product is tested, too.
"""

import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from threading import Event

import pytest

from app_server.conversations.models import STAGES, StartStatus
from app_server.conversations.start.steps import STEPS
from app_server.conversations.start.worker import MAX_CONCURRENT
from tests.support.halting import Call, Moment
from tests.support.killed_site import (
    ANSWER,
    Site,
    assert_seen_through,
    ids_of_containers,
    open_site,
    standing_still,
    volumes,
)
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import say

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200)]

# Requests that must be among the recorded steps.
REQUIRED = {
    "POST /volumes/create",
    "POST /containers/create",
    "PUT /containers/{id}/archive",
    "POST /containers/{id}/start",
    "POST /api/session_key",
    "POST /api/file/upload",
    "POST /api/bash/execute_bash_command",
    "PUT /api/git/remotes",
    "POST /api/bash/start_bash_command",
    "POST /api/conversations",
    "POST /api/conversations/{id}/events",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def steps(site: Site) -> list[Call]:
    """Returns every call that an undisturbed start makes, in order. Of repeated polls only the
    first is kept.
    """
    conversation_id = site.begin()
    assert site.wait_for_end(conversation_id)["status"] == "READY"
    site.wait_for_answer(conversation_id)
    # A poll is repeated until its result is there, so the number of polls differs between starts.
    steps = [call for call in site.wires.calls[conversation_id] if call.nth == 1 or "GET" not in call.request]
    site.delete([conversation_id])
    return steps


def test_the_steps_are_those_of_the_product(steps: list[Call]) -> None:
    assert [stage for stage, _ in STEPS] == list(STAGES)
    missing = {*REQUIRED} - {call.request for call in steps}
    assert not missing, [str(call) for call in steps]
    # The first stage only writes rows to the database and makes no call. It has its own test.
    silent = {*STAGES} - {call.stage for call in steps}
    assert silent == {StartStatus.WORKING}


def test_a_server_killed_at_any_step_sees_the_start_through(site: Site, steps: list[Call]) -> None:
    moments = [moment for call in steps for moment in (Moment("before", call), Moment("after", call))]
    ways = ways_through(moments)
    rounds = -(-len(ways) // (MAX_CONCURRENT - 1))
    for number in range(rounds):
        # Moments next to each other wait for the same threads, so each round takes moments from all stages.
        begun = killed_on_the_way(site, ways[number::rounds])
        assert_seen_through(site, begun)
    assert not site.wires.made & {*volumes(), *ids_of_containers()}


def ways_through(moments: list[Moment]) -> list[list[Moment]]:
    """Distributes all moments to as few starts as possible.

    A start has at most one moment of each stage, in the order of the stages.
    """
    stages = {stage: [each for each in moments if each.call.stage == stage] for stage in STAGES}
    ways: list[list[Moment]] = [[] for _ in range(max(len(each) for each in stages.values()))]
    for those in stages.values():
        for moment, way in zip(those, sorted(ways, key=len), strict=False):
            way.append(moment)
    assert sorted(map(str, moments)) == sorted(str(moment) for way in ways for moment in way)
    return ways


def killed_on_the_way(site: Site, ways: list[list[Moment]]) -> dict[object, str]:
    """Runs starts in parallel. Kills the server each time when all of them have reached their next moment.

    Returns the ids of the conversations by the names that a failure shows.
    """
    begun: dict[object, str] = {", ".join(map(str, way)): site.begin(way[0]) for way in ways}
    on_the_way = [*zip(begun.values(), ways, strict=True)]
    while on_the_way:
        with standing_still(site, [site.wires.halts[each] for each, _ in on_the_way]):
            if "as it begins" not in begun:
                begun["as it begins"] = site.begin()
            site.server.kill()
        on_the_way = [(each, way[1:]) for each, way in on_the_way if way[1:]]
        for each, way in on_the_way:
            site.wires.halt(each, way[0])
        site.server.start()
    return begun


ROWS = {
    "its sandbox is noted": "SELECT 1 FROM sandboxes WHERE id = ?",
    "it is ready": "SELECT 1 FROM start_tasks WHERE id = ? AND status = 'READY'",
    "the first event has come": "SELECT 1 FROM events WHERE conversation_id = ?",
    "it works": "SELECT 1 FROM conversations WHERE id = ? AND execution_status = 'running'",
    "it has answered": "SELECT 1 FROM conversations WHERE id = ? AND execution_status = 'finished'",
}


def test_a_server_killed_once_something_was_noted_sees_the_start_through(site: Site) -> None:
    begun: dict[object, str] = {}
    for name, query in ROWS.items():
        # The answer is held back: an immediate answer would end the state before the test has seen it.
        answer = say(ANSWER, gate=Event())
        site.llm.fallback = say(ANSWER) if "finished" in query else answer
        begun[name] = site.begin()
        deadline = time.monotonic() + PATIENCE_SECONDS
        with closing(sqlite3.connect(site.server.home / "slipway.sqlite3", timeout=PATIENCE_SECONDS)) as rows:
            # The loop does not sleep, because the state may last for a moment only.
            while rows.execute(query, (begun[name],)).fetchone() is None:
                assert time.monotonic() < deadline, site.story(begun[name])
        site.server.kill()
        answer.release()
        site.llm.fallback = say(ANSWER)
        site.server.start()
    assert_seen_through(site, begun)


@pytest.mark.parametrize("blow", ["kill", "rm --force"])
def test_a_container_that_goes_at_any_stage_ends_in_an_honest_state(
    site: Site, steps: list[Call], blow: str
) -> None:
    up = next(number for number, call in enumerate(steps) if call.request == "POST /containers/{id}/start")
    first_of_stage = {call.stage: call for call in reversed(steps[up + 1 :])}
    moments = [Moment("before", call) for call in first_of_stage.values()]
    assert {moment.call.stage for moment in moments} == {*STAGES} - {StartStatus.WORKING}
    begun: dict[object, str] = {moment: site.begin(moment) for moment in moments}
    halts = [site.wires.halts[each] for each in begun.values()]
    with standing_still(site, halts, is_server_dead=False):
        for conversation_id in begun.values():
            container = f"slipway-sandbox-{conversation_id}"
            subprocess.run(["docker", *blow.split(), container], check=True, capture_output=True)
    assert_seen_through(site, begun)
