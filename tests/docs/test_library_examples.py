"""Every Python block in the library's documents is a program that runs, with a real shell and a scripted
model.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.agent_server import KEY, AgentServer
from tests.support.bridge import host_on_bridge
from tests.support.patience import PATIENCE_SECONDS
from tests.support.sandbox_image import sandbox_image
from tests.support.scripted_llm import Request, ScriptedLLM, Turn, call, calls, say, text_of

ROOT = Path(__file__).parents[2]
README = ROOT / "agent_runtime" / "README.md"
LIBRARY = ROOT / "docs" / "library.md"

MEND = (
    call("terminal", command="python3 -m unittest 2>&1 | tail -1"),
    call("file_editor", command="str_replace", path="{dir}/calc.py", old_str="a - b", new_str="a + b"),
    call("terminal", command="python3 -m unittest 2>&1 | tail -1"),
    call("finish", message="It subtracted. Now the tests pass."),
)


def echo(request: Request) -> Turn:
    return say(request.last_text)


def all_said(request: Request) -> Turn:
    return say("".join(text_of(message) for message in request.messages if message["role"] == "user"))


def writes(number: str) -> dict[str, str]:
    return {"prompt": f"Write chapter-{number}.", "subagent_type": "writer"}


def chapter(request: Request) -> Turn:
    """Plays the models of an example with sub-agents: a sub-agent writes its chapter with a command. All
    other requests get the answer "Written.".
    """
    asked = text_of(request.messages[1])
    if request.messages[-1]["role"] == "tool" or not asked.startswith("Write chapter-"):
        return say("Written.")
    return call("terminal", command=f"touch {asked.removeprefix('Write ').removesuffix('.')}")


@dataclass(frozen=True)
class Example:
    """One example of the documents. script: the model's turns. prints: what the program must print. aside:
    the answer to requests without tools; None: these take a turn of the script.
    """

    script: tuple[Turn | Callable[[Request], Turn], ...]
    prints: tuple[str, ...]
    aside: Turn | None = None


EXAMPLES: dict[tuple[Path, str], Example] = {
    (README, "A bug fixed in your own directory"): Example(
        MEND, ("It subtracted. Now the tests pass.", "UPDATED calc.py", "events, $0.00")
    ),
    (README, "The same on an agent server"): Example(
        MEND, ("It subtracted. Now the tests pass.", "UPDATED calc.py")
    ),
    (README, "A tool of your own"): Example(
        (call("weather", city="Lisbon"), echo), ("Lisbon: 21 °F, sunny",)
    ),
    (LIBRARY, "An agent without choosing tools"): Example(
        MEND,
        (
            "['terminal', 'file_editor', 'grep', 'task_tracker']",
            "It subtracted. Now the tests pass.",
        ),
    ),
    (LIBRARY, "Watch it work"): Example(
        (call("terminal", command="echo Python 3"), say("It is 3.")),
        ('→ terminal {"command":"echo Python 3"}', "← Python 3", "It is 3."),
    ),
    (LIBRARY, "Hear replies as they are written"): Example((say("The sea is wide."),), ("The sea is wide.",)),
    (LIBRARY, "Steer it while it works"): Example(
        (call("terminal", command="for _ in 1 2 3 4 5; do sleep 0.1; done"), all_said), ("Make it a haiku.",)
    ),
    (LIBRARY, "Pause and interrupt"): Example((call("terminal", command="sleep 3600"),), ("paused",)),
    (LIBRARY, "Confirm what it does"): Example(
        (
            call("terminal", command="rm calc.py"),
            call("terminal", command="ls calc.py"),
            lambda request: say(text_of(request.messages[-1])),
        ),
        ("calc.py\n",),
    ),
    (LIBRARY, "Say what is risky"): Example(
        (call("terminal", command="./deploy now"), lambda request: say(text_of(request.messages[-1]))),
        ("Not on a Friday.",),
    ),
    (LIBRARY, "Hooks"): Example(
        (call("terminal", command="rm -f calc.py"), lambda request: say(text_of(request.messages[-1]))),
        ("Nothing is deleted here.",),
    ),
    (LIBRARY, "MCP servers"): Example((call("add", a=40, b=2), echo), ("42, with a key of 6 characters",)),
    (LIBRARY, "Plugins"): Example(
        (lambda request: say(str(request.messages[-1]["content"])),),
        ("Greet this person, and say nothing else: Ada",),
    ),
    (LIBRARY, "What a repository brings"): Example(
        (say("Hello."),), ("hooks .openhands/hooks.json ['echo started > hook.txt']", "started\n")
    ),
    (LIBRARY, "Let the agent ask your program"): Example(
        (call("ask_user", question="Which port?"), lambda request: say(text_of(request.messages[-1]))),
        ("Use port 8080.",),
    ),
    (LIBRARY, "Act on a call of the agent"): Example(
        (call("show_map", city="Oslo"), say("In Norway."), say("Anything else?")),
        ("a map of Oslo", "Anything else?"),
    ),
    (LIBRARY, "Pursue a goal"): Example(
        (
            say("All have one."),
            say('{"complete": false, "score": 0.4, "missing": "a test of add"}'),
            say("Now they have."),
            say('{"complete": true, "score": 0.9}'),
        ),
        ("complete after 2 verdicts",),
    ),
    (LIBRARY, "Give it secrets"): Example(
        (
            call("terminal", command='echo "${#DEPLOY_TOKEN} characters: $DEPLOY_TOKEN"'),
            lambda request: say(text_of(request.messages[-1])),
        ),
        ("12 characters: <secret-hidden>",),
    ),
    (LIBRARY, "Budgets and failures"): Example(
        (call("terminal", command="true"),), ("MaxBudgetReached $1.10",)
    ),
    (LIBRARY, "Come back later"): Example(
        (say("Hello Ada."), lambda request: say(text_of(request.messages[1]))), ("My name is Ada.",)
    ),
    (LIBRARY, "Fork, go back, replay"): Example(
        (say("Red."), say("Green."), say("Crimson.")),
        ("fork: Green.", "went back: Crimson.", "to 2 messages", "to 4 messages"),
    ),
    (LIBRARY, "Checkpoints"): Example(
        (call("terminal", command="echo Sea. > poem.txt"), say("Written.")),
        ("ADDED poem.txt", "gone: ['poem.txt']"),
    ),
    (LIBRARY, "Long conversations"): Example(
        (
            *(call("terminal", command=f"echo {number}") for number in range(8)),
            say("Eight."),
            say("It counted up to eight."),
        ),
        ("It counted up to eight.", "Count the files, one by one."),
    ),
    (LIBRARY, "Ask beside the work"): Example(
        (call("terminal", command="sleep 1"), say("They pass.")),
        ("I mend the tests.",),
        aside=say("I mend the tests."),
    ),
    (LIBRARY, "Files, commands, git"): Example(
        (), ("2\n", "['copy.txt', 'inside/notes.txt', 'notes.txt'] None")
    ),
    (LIBRARY, "Tools of your own"): Example((call("count_files", pattern="test_*.py"), echo), ("1 files",)),
    (LIBRARY, "Sub-agents"): Example(
        (
            calls(("task", writes("one")), ("task", writes("two"))),
            *(chapter for _ in range(5)),
        ),
        (
            "['chapter-one', 'chapter-two']",
            "task_00000001 writer completed",
            "task_00000002 writer completed",
            "['agent', 'task', 'task']",
        ),
    ),
    (LIBRARY, "On a server"): Example(MEND, ("It subtracted. Now the tests pass.",)),
    (LIBRARY, "Inside a sandbox of a server"): Example(MEND, ("It subtracted. Now the tests pass.",)),
    (LIBRARY, "In a container"): Example((say("An agent."),), ("An agent. agent",)),
    (LIBRARY, "With an event loop"): Example((say("Good morning!"),), ("Good morning!",)),
}


def blocks(document: Path) -> dict[str, str]:
    """Returns the Python block below each second-level heading of a document, by heading. The block above all
    of these headings has the key ''.
    """
    found: dict[str, str] = {}
    for section in re.split(r"^## ", document.read_text(), flags=re.MULTILINE):
        code = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
        assert len(code) <= 1, f"two programs below one heading: {section[:40]}"
        if code:
            found["" if section.startswith("# ") else section.partition("\n")[0]] = code[0]
    return found


def program(document: Path, heading: str) -> str:
    return blocks(document).get("", "") + "\n\n" + blocks(document)[heading]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Returns a git repository whose program has a bug that its test finds."""
    path = tmp_path / "project"
    path.mkdir()
    (path / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (path / "test_calc.py").write_text(
        "import unittest\n\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(2, 2), 4)\n"
    )
    (path / ".gitignore").write_text("__pycache__\nconversations\n")
    for command in ("init -q", "config user.email a@b", "config user.name A", "add .", "commit -qm one"):
        subprocess.run(["git", *command.split()], cwd=path, check=True)
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentServer]:
    server = AgentServer(tmp_path_factory.mktemp("agent_server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a cache directory for mypy that the tests share, so that mypy analyses the
    library only once.
    """
    return tmp_path_factory.mktemp("mypy")


def test_no_example_is_left_out():
    written = {
        (document, heading) for document in (README, LIBRARY) for heading in blocks(document) if heading
    }

    assert written == set(EXAMPLES)


def test_the_first_program_has_thirty_lines_at_most():
    assert len(blocks(README)["A bug fixed in your own directory"].splitlines()) <= 30


def _parameters() -> Iterator[object]:
    for document, heading in EXAMPLES:
        marks = [pytest.mark.docker] if heading == "In a container" else []
        yield pytest.param(document, heading, id=f"{document.stem}: {heading}", marks=marks)


@pytest.mark.parametrize(("document", "heading"), list(_parameters()))
def test_an_example_does_what_it_shows(
    document: Path, heading: str, project: Path, request: pytest.FixtureRequest
):
    example = EXAMPLES[document, heading]
    if heading == "Files, commands, git":
        (project / "notes.txt").write_text("one\ntwo\n")
    with ScriptedLLM(host=host_on_bridge() if heading == "In a container" else "127.0.0.1") as llm:
        llm.script(*(_in_directory(turn, project) for turn in example.script))
        llm.aside = example.aside
        ended = _run(program(document, heading), project, _environment(llm, project, heading, request))

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert llm.turns_left == 0
    for text in example.prints:
        assert text in ended.stdout
    if example.script is MEND:
        assert (project / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"


@pytest.mark.parametrize("document", [README, LIBRARY], ids=lambda document: document.stem)
def test_examples_pass_strict_type_checking(document: Path, tmp_path: Path, mypy_cache: Path):
    for number, heading in enumerate(heading for heading in blocks(document) if heading):
        (tmp_path / f"example_{number}.py").write_text(program(document, heading))
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={mypy_cache}"]

    checked = subprocess.run(
        [*command, "--follow-imports=silent", *map(str, tmp_path.glob("example_*.py"))],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
    )

    assert checked.returncode == 0, checked.stdout


def _run(code: str, directory: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = directory.parent / "example.py"
    path.write_text(code)
    return subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def _environment(
    llm: ScriptedLLM, project: Path, heading: str, request: pytest.FixtureRequest
) -> dict[str, str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "LLM_MODEL": "openai/scripted",
        "LLM_BASE_URL": llm.base_url,
        "LLM_API_KEY": llm.api_key,
    }
    if "server" in heading:
        server: AgentServer = request.getfixturevalue("server")
        reached = {"AGENT_SERVER_URL": server.url, "AGENT_SERVER_KEY": KEY, "AGENT_SERVER_DIR": str(project)}
        reached |= {"AGENT_SERVER_PORT": str(server.port), "SESSION_API_KEY": KEY}
        environment.update(reached)
    if heading == "In a container":
        environment["SANDBOX_IMAGE"] = sandbox_image()
    return environment


def _in_directory(turn: Turn | Callable[[Request], Turn], project: Path) -> Turn | Callable[[Request], Turn]:
    """Replaces `{dir}` in the arguments of the turn's calls by the path of the project. Returns a function
    unchanged.
    """
    if not isinstance(turn, Turn):
        return turn
    calls = [
        {
            **one,
            "function": {
                **one["function"],
                "arguments": one["function"]["arguments"].replace("{dir}", str(project)),
            },
        }
        for one in turn.tool_calls
    ]
    return Turn(text=turn.text, tool_calls=tuple(calls))
