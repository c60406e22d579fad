"""Tests of the public names of `agent_runtime`, of what an import of it loads, and of its types."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

import agent_runtime

HERE = Path(__file__).parent
ROOT = Path(agent_runtime.__file__).parent


def test_importing_it_loads_nothing():
    script = "import sys, typing; old = set(sys.modules); import agent_runtime; print(set(sys.modules) - old)"

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "{'agent_runtime'}"


def test_using_a_conversation_loads_no_server():
    heavy = ["agent_runtime.server", "fastapi", "uvicorn", "litellm", "docker", "mcp", "jinja2"]
    script = f"import sys; from agent_runtime import *; print([m for m in {heavy} if m in sys.modules])"

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


def test_what_is_promised_is_what_type_checkers_see_and_what_is_there():
    source = (ROOT / "__init__.py").read_text()
    block = source[source.index("if TYPE_CHECKING") : source.index("else:")]
    seen = re.findall(r"(\w+)(?:,|\)|$)", re.sub(r"^.*?import", "", block, flags=re.MULTILINE), re.MULTILINE)

    assert {getattr(agent_runtime, name) is not None for name in agent_runtime.__all__} == {True}
    assert sorted(seen) == sorted(agent_runtime.__all__)
    assert set(agent_runtime.__all__) <= set(dir(agent_runtime))
    with pytest.raises(AttributeError):
        _ = agent_runtime.Nothing  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a cache directory for mypy that the tests share, so that mypy analyses the
    library only once.
    """
    return tmp_path_factory.mktemp("mypy")


def test_a_program_passes_strict_type_checking(tmp_path: Path, mypy_cache: Path):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={mypy_cache}"]
    program = str(HERE / "typed_program.py")
    # MYPYPATH makes mypy find the library by its py.typed, as for a user who has installed it.
    environment = {**os.environ, "MYPYPATH": str(ROOT.parent)}

    checked = subprocess.run(
        [*command, "--follow-imports=silent", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert (ROOT / "py.typed").exists()


def test_a_mistake_in_a_program_is_found(tmp_path: Path, mypy_cache: Path):
    program = tmp_path / "mistaken.py"
    program.write_text(
        "from agent_runtime import Conversation, Nothing\n"
        "def f(c: Conversation) -> None:\n    c.send_mesage('x')\n    c.run(blocking='yes')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={mypy_cache}"]

    checked = subprocess.run(
        [*command, "--follow-imports=silent", str(program)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT.parent)},
    )

    assert [line.split(":")[1] for line in checked.stdout.splitlines()[:-1]] == ["1", "3", "4"]


def test_a_host_without_a_scheme_is_refused_at_once():
    with pytest.raises(ValueError, match="such as http://localhost:8000"):
        agent_runtime.RemoteWorkspace("localhost:8000")


def test_a_mistyped_field_is_an_error_and_its_value_is_not_shown():
    llm = agent_runtime.LLM(model="openai/scripted")

    with pytest.raises(ValidationError, match="api_kye") as refusal:
        agent_runtime.LLM(model="openai/scripted", api_kye="canary")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="tool\n"):
        agent_runtime.Agent(llm=llm, tool=[])  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="max_sise"):
        agent_runtime.LLMSummarizingCondenser(llm=llm, max_sise=10)  # type: ignore[call-arg]

    assert "canary" not in str(refusal.value)


def test_fields_on_the_wire_that_are_not_known_here_are_kept():
    sent = {"llm": {"model": "openai/scripted", "seed": 7}, "of_later": {"a": 1}}

    agent = agent_runtime.Agent.model_validate(sent)

    dumped = copy.deepcopy(agent).model_dump(mode="json")
    assert (dumped["llm"]["seed"], dumped["of_later"]) == (7, {"a": 1})
