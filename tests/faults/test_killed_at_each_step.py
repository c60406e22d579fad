"""kill -9 of the app server, of a container, and its removal, at each step of a start in Docker.

The steps are written down nowhere: a start that nothing befalls is recorded, each call that it makes of the
engine, of its agent server and of its git host. Then one start after the other stands still right before
such a call is made, and one right after it was answered, when the axe falls. So a new step is tested too.
"""

import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from app_server.conversations.models import STAGES, StartStatus
from app_server.conversations.start import STEPS
from app_server.conversations.start_worker import MAX_CONCURRENT
from app_server.sandboxes.containers import LABEL
from tests.support.git_host import GitHost, git
from tests.support.halting import Call, Halt, Moment, Wires
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import ScriptedLLM, say
from tests.support.server import (
    AppServerProcess,
    Json,
    add_model,
    conversation,
    events,
    start_task,
    wait_until,
)

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1200)]

TASK, AFTERTHOUGHT = "Have a look round", "And tell me more"
"""One message begins the conversation, the other one waits until it can be handed over."""
ANSWER = "All is well."
SETUP = ".openhands/setup.sh"
HOOK = ".openhands/pre-commit.sh"
FILES = {
    "README.md": "harbour\n",
    SETUP: "echo run >> ../set-up\n",
    HOOK: "true\n",
}
# What has to be among the steps, whatever else there is.
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


@dataclass
class Site:
    server: AppServerProcess
    wires: Wires
    host: GitHost
    client: httpx.Client
    llm: ScriptedLLM
    consent: list[str] = field(default_factory=list)
    """The hashes of the set-up script and the hook."""

    def begin(self, moment: Moment | None = None) -> tuple[str, Halt | None]:
        """A start, and where it is to stand still."""
        conversation_id = uuid4().hex
        halt = self.wires.halt(conversation_id, moment) if moment else None
        (self.host.directory / "team" / f"{conversation_id}.git").symlink_to(self.host.bare("team/harbour"))
        first, second = ({"content": [{"type": "text", "text": text}]} for text in (TASK, AFTERTHOUGHT))
        body = {
            "conversation_id": conversation_id,
            "initial_message": first,
            "selected_repository": f"{self.wires.git_origin}/team/{conversation_id}.git",
            "consent": self.consent,
        }
        self.client.post("/app-conversations", json=body).raise_for_status()
        self.client.post(f"/app-conversations/{conversation_id}/send-message", json=second).raise_for_status()
        return conversation_id, halt

    def says(self, conversation_id: str, command: str) -> str | None:
        """What a command prints; None while the sandbox does not answer."""
        url = f"/app-conversations/{conversation_id}/execute-bash-command"
        reply = self.client.post(url, json={"command": command, "timeout": 60})
        return str(reply.json()["stdout"]).strip() if reply.is_success else None

    def wait_for_end(self, conversation_id: str) -> Json:
        """The start task once it is READY or ERROR."""
        wait_until(
            lambda: start_task(self.client, conversation_id)["status"] in {"READY", "ERROR"},
            lambda: self.story(conversation_id),
        )
        return start_task(self.client, conversation_id)

    def wait_for_answer(self, conversation_id: str) -> None:
        def has_answered() -> bool:
            status = conversation(self.client, conversation_id)["execution_status"]
            said = self.said(conversation_id)
            return status == "finished" and {TASK, AFTERTHOUGHT} <= {*said} and said[-1] == ANSWER

        wait_until(has_answered, lambda: f"{self.said(conversation_id)}\n{self.story(conversation_id)}")

    def said(self, conversation_id: str) -> list[str]:
        log = events(self.client, conversation_id)
        messages = [event["llm_message"] for event in log if event["kind"] == "MessageEvent"]
        return ["".join(part["text"] for part in message["content"]) for message in messages]

    def story(self, conversation_id: str) -> str:
        return f"{start_task(self.client, conversation_id)}\n{self.server.output()[-4000:]}"

    def delete(self, conversations: Sequence[str]) -> None:
        """And all that is theirs: volumes, containers, disks."""
        for conversation_id in conversations:
            self.client.delete(f"/app-conversations/{conversation_id}").raise_for_status()
        wait_until(lambda: not self.left_of(conversations), lambda: f"{self.left_of(conversations)} to go")

    def left_of(self, conversations: Sequence[str]) -> set[str]:
        disks = [path.name for path in (self.server.home / "disks").glob("*")]
        found = [*containers(), *volumes(), *disks]
        return {each for each in found if any(conversation in each for conversation in conversations)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    sandbox_image()
    folder: Path = tmp_path_factory.mktemp("site")
    home = folder / "home"
    with (
        GitHost(folder / "host") as host,
        Wires(folder, host.port, lambda conversation_id: stage_of(home, conversation_id)) as wires,
        ScriptedLLM() as llm,
        AppServerProcess(
            home,
            sandbox="docker",
            environment={"DOCKER_HOST": wires.engine_url, "SLIPWAY_SANDBOX_MEMORY_BYTES": str(1024**3)},
        ) as server,
        server.client() as client,
    ):
        make_repository(host)
        llm.aside, llm.fallback = say("A title"), say(ANSWER)
        add_model(client, llm.base_url, llm.api_key)
        client.post("/settings/profiles/scripted/activate").raise_for_status()
        site = Site(server, wires, host, client, llm)
        site.consent = hashes_of_offers(site)
        yield site


@pytest.fixture(scope="module")
def steps(site: Site) -> list[Call]:
    """Every call that a start makes, in order."""
    conversation_id, _ = site.begin()
    assert site.wait_for_end(conversation_id)["status"] == "READY"
    site.wait_for_answer(conversation_id)
    # A poll is made as often as it takes.
    steps = [call for call in site.wires.calls[conversation_id] if call.nth == 1 or "GET" not in call.request]
    site.delete([conversation_id])
    return steps


def make_repository(host: GitHost) -> None:
    bare = host.make("team/harbour")
    work = host.directory / "work"
    git(host.directory, "clone", "-q", str(bare), str(work))
    for name, text in FILES.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Begin")
    git(work, "push", "-q", "origin", "HEAD:main")


def hashes_of_offers(site: Site) -> list[str]:
    conversation_id, _ = site.begin()
    assert site.wait_for_end(conversation_id)["status"] == "READY"
    consent = site.client.get(f"/app-conversations/{conversation_id}/consent").raise_for_status().json()
    site.wait_for_answer(conversation_id)
    site.delete([conversation_id])
    return [item["offer"]["hash"] for item in consent["items"]]


def stage_of(home: Path, conversation_id: str) -> str:
    with closing(sqlite3.connect(home / "slipway.sqlite3", timeout=PATIENCE_SECONDS)) as rows:
        found = rows.execute(
            "SELECT status FROM start_tasks WHERE id = ?", (UUID(conversation_id).hex,)
        ).fetchone()
    return str(found[0]) if found else "DELETED"


def test_the_steps_are_those_of_the_product(steps: list[Call]) -> None:
    assert [stage for stage, _ in STEPS] == list(STAGES)
    missing = {*REQUIRED} - {call.request for call in steps}
    assert not missing, [str(call) for call in steps]
    # The first one only writes rows: it has a test of its own.
    silent = {*STAGES} - {call.stage for call in steps}
    assert silent == {StartStatus.WORKING}


def test_a_server_killed_at_any_step_sees_the_start_through(site: Site, steps: list[Call]) -> None:
    moments = [moment for call in steps for moment in (Moment("before", call), Moment("after", call))]
    rounds = -(-len(moments) // MAX_CONCURRENT)
    for number in range(rounds):
        # Neighbours wait for the same threads: each round has something of everywhere.
        with standing_still(site, moments[number::rounds]) as begun:
            if len(begun) == MAX_CONCURRENT:
                begun[Moment("before", Call(StartStatus.WORKING, "anything", 1))], _ = site.begin()
            site.server.kill()
        site.server.start()
        assert_seen_through(site, begun)
    assert not site.wires.made & {*volumes(), *ids_of_containers()}


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
        begun[name], _ = site.begin()
        with closing(sqlite3.connect(site.server.home / "slipway.sqlite3", timeout=PATIENCE_SECONDS)) as rows:
            # What is noted lasts for milliseconds: nothing may be slept through.
            while rows.execute(query, (begun[name],)).fetchone() is None:
                pass
        site.server.kill()
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
    with standing_still(site, moments, is_server_dead=False) as begun:
        for conversation_id in begun.values():
            container = f"slipway-sandbox-{conversation_id}"
            subprocess.run(["docker", *blow.split(), container], check=True, capture_output=True)
    assert_seen_through(site, begun)


@contextmanager
def standing_still(
    site: Site, moments: Sequence[Moment], *, is_server_dead: bool = True
) -> Iterator[dict[object, str]]:
    """Starts, each at its moment for as long as this lasts."""
    begun: dict[object, str] = {}
    halts: list[Halt] = []
    try:
        for moment in moments:
            begun[moment], halt = site.begin(moment)
            assert halt
            halts.append(halt)
        for halt in halts:
            reached = halt.reached.wait(PATIENCE_SECONDS)
            assert reached, f"{halt.moment} did not come\n{site.server.output()[-4000:]}"
        yield begun
    finally:
        for halt in halts:
            site.wires.end(halt, abandoned=is_server_dead)


def assert_seen_through(site: Site, begun: dict[object, str]) -> None:
    """All of them, and nothing is left of them once they are deleted."""
    wrong = {str(name): said for name, each in begun.items() if (said := what_is_wrong(site, each))}
    assert not wrong, wrong
    site.delete([*begun.values()])


def what_is_wrong(site: Site, conversation_id: str) -> list[str]:
    """With a conversation that something befell while it started; an honest error may be retried."""
    found: dict[str, bool] = {}
    task = site.wait_for_end(conversation_id)
    if error := task["error"]:
        found[f"an error that says too little: {error}"] = not (
            error["code"] and error["cause"] and error["fix"]
        )
        found[f"an error of ours: {error}"] = error["code"] == "internal_error"
        site.client.post(f"/app-conversations/start-tasks/{conversation_id}/retry").raise_for_status()
        task = site.wait_for_end(conversation_id)
        found[f"still in error after a retry: {task['error']}"] = task["status"] != "READY"
    if task["status"] == "READY":
        site.wait_for_answer(conversation_id)
        wait_until(lambda: site.says(conversation_id, "echo up") == "up", lambda: site.story(conversation_id))
        said = site.said(conversation_id)
        found[f"not once: {said}"] = [each for each in said if each != ANSWER] != [TASK, AFTERTHOUGHT]
        for file, text in FILES.items():
            held = site.says(conversation_id, f"cat {file}")
            found[f"{file} holds {held!r}"] = held != text.strip()
        status = site.says(conversation_id, "git status --short; git rev-list --count HEAD; git stash list")
        found[f"the checkout: {status!r}"] = status != "2"
        runs = site.says(conversation_id, "cat ../set-up") or ""
        found[f"the set-up script ran: {runs!r}"] = "run" not in runs
        hook = site.says(conversation_id, "test -x .git/hooks/pre-commit && echo there")
        found[f"the hook: {hook!r}"] = hook != "there"
        stages = {stage["status"]: stage["state"] for stage in task["stages"]}
        found[f"stages: {stages}"] = {*stages.values()} != {"done"}
    machines = [each for each in containers() if conversation_id in each]
    found[f"containers: {machines}"] = machines != [f"{conversation_id} slipway-sandbox-{conversation_id}"]
    disks = [each for each in volumes() if conversation_id in each]
    found[f"volumes: {disks}"] = disks != [f"slipway-sandbox-{conversation_id}"]
    return [what for what, is_wrong in found.items() if is_wrong]


def containers() -> list[str]:
    """The label and the name of each."""
    return _docker("ps", "--all", "--format", f'{{{{.Label "{LABEL}"}}}} {{{{.Names}}}}')


def ids_of_containers() -> list[str]:
    return _docker("ps", "--all", "--quiet", "--no-trunc")


def volumes() -> list[str]:
    return _docker("volume", "ls", "--format", "{{.Name}}")


def _docker(*arguments: str) -> list[str]:
    return subprocess.check_output(["docker", *arguments], text=True).splitlines()
