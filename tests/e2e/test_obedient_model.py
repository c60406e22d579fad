"""A model in a container obeys every prompt injection until its budget is used up: no credential gets out."""

import socket
import subprocess
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import httpx
import pytest

from tests.support.canaries import everything_listed, look_into_container, session_key_of, shown
from tests.support.git_host import GitHost, git
from tests.support.mcp_processes import http_server
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, calls
from tests.support.server import AppServerProcess, conversation, events, start_conversation, wait_until
from tests.support.tap import Tap

GIT_TOKEN = "canary-git-77aa01bc"
MCP_TOKEN = "canary-mcp-0be9135f"
SECRET = "canary-secret-e2d8840a"
CANARIES = 5
STEP_DOLLARS = 0.2
CONFLICT = 409
ROUNDS = 1000
LOOT = "(env; cat /proc/*/environ /proc/*/cmdline ~/.git-credentials ~/.netrc /etc/* .git/config) 2>&1"
TRIES = (Path(__file__).parents[1] / "fixtures" / "orders_to_carry_off.txt").read_text().split("\n\n")


@pytest.fixture
def git_host(tmp_path: Path) -> Iterator[GitHost]:
    with GitHost(tmp_path / "git") as host:
        host.make("team/harbour")
        host.tokens[GIT_TOKEN] = "write"
        yield host


@pytest.fixture
def mcp_url() -> Iterator[str]:
    with http_server("tests.support.mcp_server", "http", SLIPWAY_TEST_MCP_KEY=MCP_TOKEN) as url:
        yield url


@pytest.fixture
def tap() -> Iterator[Tap]:
    """Yields the attacker's listener, which listens on every address of this machine."""
    with Tap("0.0.0.0") as tap:
        yield tap


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AppServerProcess]:
    sandbox_image()
    with AppServerProcess(tmp_path / "home", sandbox="docker") as process:
        yield process


@pytest.mark.docker
def test_a_model_that_obeys_everything_carries_nothing_off_until_its_budget_ends(
    scripted_server: AppServerProcess,
    scripted_llm: ScriptedLLM,
    git_host: GitHost,
    mcp_url: str,
    tap: Tap,
) -> None:
    with scripted_server.client() as client:
        _entrust(client, git_host, mcp_url, scripted_llm)
        begun = git_host.branches("team/harbour")["refs/heads/main"]
        started: list[str] = []
        orders = _orders(started, scripted_server, git_host, tap)
        given: list[str] = []

        def obey(request: Request) -> Turn:
            given.append(next(orders))
            steps = [
                ("terminal", {"command": given[-1], "timeout": 30}),
                ("page", {"text": request.last_text[:5000]}),
            ]
            return calls(*steps, prompt_tokens=80_000, completion_tokens=0)

        scripted_llm.fallback = obey
        conversation_id = start_conversation(
            client,
            "Do all that the README says.",
            selected_repository=git_host.url("team/harbour"),
            confirmation_mode="never",
            max_budget_per_task=round(STEP_DOLLARS * len(TRIES), 2),
        )
        started.append(conversation_id)
        _approve_until_it_ends(client, conversation_id, given)
        canaries = {
            "vendor key": scripted_llm.api_key,
            "git token": GIT_TOKEN,
            "user secret": SECRET,
            "MCP token": MCP_TOKEN,
            "session key": session_key_of(scripted_server, conversation_id),
        }
        log = events(client, conversation_id)
        sinks = {
            "the log": str(log),
            "the server's output": scripted_server.output(),
            "what the model saw": str([request.body for request in scripted_llm.requests]),
            "the git host": git(git_host.bare("team/harbour"), "log", "--all", "--format=%D%n%B"),
            "the API": everything_listed(client, conversation_id),
        }

    assert len(canaries) == CANARIES
    assert {event["code"] for event in log if event["kind"] == "ConversationErrorEvent"} == {
        "MaxBudgetReached"
    }
    assert len(given) >= len(TRIES), "the budget lets it try everything"
    assert tap.heard == b""
    for where, text in sinks.items():
        assert shown(text, canaries) == [], where
    assert look_into_container(conversation_id, canaries) == ""
    assert git_host.branches("team/harbour")["refs/heads/main"] == begun, "the branch of the user stays"


def _entrust(client: httpx.Client, git_host: GitHost, mcp_url: str, llm: ScriptedLLM) -> None:
    priced = {"input_cost_per_token": 0.0000025, "output_cost_per_token": 0}
    model = {"model": "openai/scripted", "base_url": llm.base_url, "api_key": llm.api_key, **priced}
    for route, body in {
        "/settings/profiles/scripted": {"llm": model},
        "/settings/git-credentials": {"host": git_host.origin, "token": GIT_TOKEN},
        "/settings/mcp/sums": {"url": mcp_url, "headers": {"Authorization": f"Bearer {MCP_TOKEN}"}},
        "/secrets": {"name": "DEPLOY_TOKEN", "value": SECRET},
    }.items():
        reply = client.post(route, json=body)
        assert reply.is_success, f"{route}: {reply.text}"


def _approve_until_it_ends(client: httpx.Client, conversation_id: str, given: list[str]) -> None:
    """Approves every step that waits for confirmation, until the run is paused by its budget.

    given: the commands that the model has called so far.
    """
    path = f"/app-conversations/{conversation_id}/respond-to-confirmation"

    def has_ended() -> bool:
        status = conversation(client, conversation_id)["execution_status"]
        if status == "waiting_for_confirmation" and (waiting := _unanswered(client, conversation_id)):
            reply = client.post(path, json={"accept": True, "action_ids": waiting})
            assert reply.is_success or reply.status_code == CONFLICT, reply.text
        return bool(status == "paused")

    for _ in range(ROUNDS):
        seen = len(given)
        wait_until(
            lambda seen=seen: has_ended() or len(given) > seen,
            lambda: f"another order after {events(client, conversation_id)[-2:]}",
        )
        if has_ended():
            return
    raise AssertionError("its budget does not end")


def _unanswered(client: httpx.Client, conversation_id: str) -> list[str]:
    log = events(client, conversation_id)
    answered = {event.get("tool_call_id") for event in log if event["kind"] != "ActionEvent"}
    actions = [event for event in log if event["kind"] == "ActionEvent"]
    return [action["id"] for action in actions if action["tool_call_id"] not in answered]


def _orders(started: list[str], server: AppServerProcess, git_host: GitHost, tap: Tap) -> Iterator[str]:
    """Yields the attacker's commands again and again. Each tries all addresses of this machine."""
    addresses = _addresses(started[0])
    meant = {
        "LOOT": LOOT,
        "GIT_HOST": git_host.origin,
        "ATTACKER": "HOST:PORT",
        "PORT": str(tap.port),
        "INNER": str(server.inner_port),
        "PUBLIC": str(server.port),
    }
    while True:
        for attempt in TRIES:
            order = reduce(lambda text, name: text.replace(name, meant[name]), meant, attempt)
            yield "\n".join(dict.fromkeys(order.replace("HOST", address) for address in addresses))


def _addresses(conversation_id: str) -> list[str]:
    """Returns the addresses of this machine as the sandbox sees it: the bridge address and the
    machine's own.
    """
    gateway = "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}"
    command = ["docker", "inspect", "--format", gateway, f"slipway-sandbox-{conversation_id}"]
    bridge = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        return [bridge, probe.getsockname()[0]]
