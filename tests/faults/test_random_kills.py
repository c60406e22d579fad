"""The agent server is killed fifty times at random moments: no event is lost or stored twice."""

import random
import sys
import time
from pathlib import Path

import pytest

from tests.agent_runtime.conversation.labour import assert_pairs
from tests.agent_runtime.server.conftest import start_request, status_of, wait_until
from tests.faults.conftest import assert_whole
from tests.support.agent_server import AgentServer
from tests.support.report_receiver import ReportReceiver
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call

STEPS = 200
KILLS_PER_SEED = 25
# Longer than a step takes, so that the kills hit every part of a step.
LONGEST_WAIT_SECONDS = 0.03


class Work:
    """A model whose next step depends on the number of answered tool calls: a repeated request gets the same
    step.
    """

    # False until the last kill, so that the work is not finished before it, also on a quick machine.
    may_end = False

    def __call__(self, request: Request) -> Turn:
        done = sum(message["role"] == "tool" for message in request.messages)
        if done >= STEPS and self.may_end:
            return call("finish", message="All done.")
        if done % 2:
            return call("terminal", command=f"echo {done} >> ran")
        return call("think", thought=f"Step {done}.")


@pytest.mark.parametrize("seed", [7, 1789])
def test_nothing_is_lost_or_doubled_however_often_the_server_is_killed(
    own_server: AgentServer, receiver: ReportReceiver, scripted_llm: ScriptedLLM, tmp_path: Path, seed: int
):
    chance = random.Random(seed)  # noqa: S311 (a test that can be repeated)
    scripted_llm.fallback = work = Work()
    own_server.report_url = receiver.url
    own_server.python = sys.executable  # each start is a new process, as in a sandbox
    own_server.start()
    request = start_request(scripted_llm, tmp_path, "Go.", stuck_detection=False, max_iterations=5_000)
    conversation = own_server.call("POST", "/api/conversations", json=request)["id"]

    for _ in range(KILLS_PER_SEED):
        asked = len(scripted_llm.requests)
        scripted_llm.wait_for_request(asked + chance.randint(1, 6))
        time.sleep(chance.uniform(0, LONGEST_WAIT_SECONDS))  # any moment will do: that is the point
        own_server.kill()
        own_server.start()

    assert status_of(own_server, conversation) == "running"
    work.may_end = True
    wait_until(lambda: status_of(own_server, conversation) == "finished")
    log = own_server.events(conversation)
    assert_whole(log)
    wait_until(lambda: len(receiver.stored[conversation.replace("-", "")]) >= len(log))
    assert receiver.stored[conversation.replace("-", "")] == log
    for asked_with in scripted_llm.requests:
        assert_pairs(asked_with.messages)
    ran = [int(line) for line in (tmp_path / "work" / "ran").read_text().split()]
    assert ran == sorted(set(ran))
