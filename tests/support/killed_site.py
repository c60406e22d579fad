"""A real app server with Docker. A test can halt the starts of its conversations at any call, and check the
results.

with open_site(folder) as site:
    conversation_id = site.begin(moment)    # site.wires.halts[conversation_id] is its halt; see halting.py
    ...
    assert_seen_through(site, {"a start": conversation_id})
"""

import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import httpx

from app_server.sandbox_backends.docker.containers import LABEL
from tests.support.git_host import GitHost, git
from tests.support.halting import Halt, Moment, Wires
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

TASK, AFTERTHOUGHT = "Have a look round", "And tell me more"
"""The first message begins the conversation. The second is stored until the agent server can receive it."""
ANSWER = "All is well."
SETUP = ".openhands/setup.sh"
HOOK = ".openhands/pre-commit.sh"
FILES = {
    "README.md": "harbour\n",
    SETUP: "echo run >> ../set-up\n",
    HOOK: "true\n",
}


@dataclass
class Site:
    server: AppServerProcess
    wires: Wires
    host: GitHost
    client: httpx.Client
    llm: ScriptedLLM
    consent: list[str] = field(default_factory=list)
    """The hashes of the set-up script and the hook. Each conversation begins with the user's
    consent to them.
    """

    def begin(self, moment: Moment | None = None, **request: str) -> str:
        """Starts a conversation with two messages and returns its id.

        moment: where the start is halted; None for no halt. The halt is in `wires.halts`.
        """
        conversation_id = uuid4().hex
        if moment:
            self.wires.halt(conversation_id, moment)
        (self.host.directory / "team" / f"{conversation_id}.git").symlink_to(self.host.bare("team/harbour"))
        first, second = ({"content": [{"type": "text", "text": text}]} for text in (TASK, AFTERTHOUGHT))
        body = {
            "conversation_id": conversation_id,
            "initial_message": first,
            "selected_repository": f"{self.wires.git_origin}/team/{conversation_id}.git",
            "consent": self.consent,
            **request,
        }
        self.client.post("/app-conversations", json=body).raise_for_status()
        self.client.post(f"/app-conversations/{conversation_id}/send-message", json=second).raise_for_status()
        return conversation_id

    def says(self, conversation_id: str, command: str) -> str | None:
        """Runs a command in the sandbox and returns its output, or None if the sandbox does not answer."""
        url = f"/app-conversations/{conversation_id}/execute-bash-command"
        reply = self.client.post(url, json={"command": command, "timeout": 60})
        return str(reply.json()["stdout"]).strip() if reply.is_success else None

    def wait_for_end(self, conversation_id: str) -> Json:
        """Returns the start task when its status is READY or ERROR."""
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
        """Deletes the conversations, and waits until their volumes, containers and disks are gone."""
        for conversation_id in conversations:
            self.client.delete(f"/app-conversations/{conversation_id}").raise_for_status()
        wait_until(lambda: not self.left_of(conversations), lambda: f"{self.left_of(conversations)} to go")

    def left_of(self, conversations: Sequence[str]) -> set[str]:
        disks = [path.name for path in (self.server.home / "disks").glob("*")]
        found = [*containers(), *volumes(), *disks]
        return {each for each in found if any(conversation in each for conversation in conversations)}


@contextmanager
def open_site(folder: Path, environment: Mapping[str, str] = {}) -> Iterator[Site]:
    sandbox_image()
    home = folder / "home"
    with (
        GitHost(folder / "host") as host,
        Wires(folder, host.port, lambda conversation_id: stage_of(home, conversation_id)) as wires,
        ScriptedLLM() as llm,
        AppServerProcess(
            home,
            sandbox="docker",
            environment={
                "DOCKER_HOST": wires.engine_url,
                "SLIPWAY_SANDBOX_MEMORY_BYTES": str(1024**3),
                **environment,
            },
        ) as server,
        server.client() as client,
    ):
        make_repository(host)
        llm.aside, llm.fallback = say("A title"), say(ANSWER)
        add_model(client, llm.base_url, llm.api_key)
        client.post("/settings/profiles/scripted/activate").raise_for_status()
        site = Site(server, wires, host, client, llm)
        site.consent = hashes_of_executables(site)
        yield site


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


def hashes_of_executables(site: Site) -> list[str]:
    conversation_id = site.begin()
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


@contextmanager
def standing_still(site: Site, halts: Sequence[Halt], *, is_server_dead: bool = True) -> Iterator[None]:
    """Waits until each start has reached its halt. The starts stay halted inside the `with` block.

    is_server_dead: whether the app server is killed in the block, so that the halted calls are dropped.
    """
    try:
        for halt in halts:
            reached = halt.reached.wait(PATIENCE_SECONDS)
            assert reached, f"{halt.moment} did not come\n{site.server.output()[-4000:]}"
        yield
    finally:
        for halt in halts:
            site.wires.end(halt, abandoned=is_server_dead)


def assert_seen_through(site: Site, begun: dict[object, str]) -> None:
    """Checks that each conversation works, then deletes all of them and checks that nothing is left.

    begun: the ids of the conversations by the names that a failure shows.
    """
    wrong = {str(name): said for name, each in begun.items() if (said := what_is_wrong(site, each))}
    assert not wrong, wrong
    site.delete([*begun.values()])


def what_is_wrong(site: Site, conversation_id: str) -> list[str]:
    """Returns what is wrong with a conversation whose start was disturbed. An empty list means that all is
    well.

    A start may end with an error that has a code, a cause and a fix; then it is retried once and must
    succeed.
    """
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
    """Returns one line for each container of the Docker engine: the value of Slipway's label, and the name of
    the container.
    """
    return _docker("ps", "--all", "--format", f'{{{{.Label "{LABEL}"}}}} {{{{.Names}}}}')


def ids_of_containers() -> list[str]:
    return _docker("ps", "--all", "--quiet", "--no-trunc")


def volumes() -> list[str]:
    return _docker("volume", "ls", "--format", "{{.Name}}")


def _docker(*arguments: str) -> list[str]:
    return subprocess.check_output(["docker", *arguments], text=True).splitlines()
