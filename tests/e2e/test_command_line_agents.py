"""Command-line agents of other vendors work in a sandbox: they reach the model with a model key of the LLM
gateway.

The agents are large, so the test runs only where they are installed. FOLDER must be on the same disk as the
temporary files. PYTHON_3.12 is the folder of an installed Python:

    npm install --prefix FOLDER @anthropic-ai/claude-code @openai/codex opencode-ai
    cp -r PYTHON_3.12 FOLDER/aider
    LD_LIBRARY_PATH=FOLDER/aider/lib FOLDER/aider/bin/python3 -m pip install aider-chat
    SLIPWAY_TEST_AGENTS=FOLDER make test-python ARGS=tests/e2e/test_command_line_agents.py
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.live_trees import files_with
from tests.support.scripted_llm import ScriptedLLM, Turn, call, say
from tests.support.scripted_llm.turns import Request
from tests.support.server import AppServerProcess, start_conversation, wait_for_status

FOLDER = os.environ.get("SLIPWAY_TEST_AGENTS")
COMMAND_SECONDS = 240
ANSWER = "The scripted model has the last word."
CODEX_SETTINGS = """
model = "any"
model_provider = "slipway"
web_search = "disabled"
[model_providers.slipway]
name = "Slipway"
base_url = "$SLIPWAY_MODELS_URL/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""
OPENCODE_SETTINGS = (
    '{"model": "slipway/any", "small_model": "slipway/any", "autoupdate": false, "share": "disabled",'
    ' "provider": {"slipway": {"npm": "@ai-sdk/openai-compatible", "name": "Slipway",'
    ' "models": {"any": {"name": "any"}},'
    ' "options": {"baseURL": "$SLIPWAY_MODELS_URL/v1", "apiKey": "$OPENAI_API_KEY"}}}}'
)


@dataclass(frozen=True)
class Agent:
    """A command-line agent. `run`: the shell commands that run it. `packages`: its folder below FOLDER.

    `tools`: the possible names of its tool for shell commands; an agent without tools writes files from the
    text of the model. `path`: the URL path at which the model receives its requests.
    """

    name: str
    run: str
    tools: tuple[str, ...]
    path: str
    packages: str = "node_modules"


AGENTS = (
    Agent(
        "claude",
        "export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 IS_SANDBOX=1 DISABLE_AUTOUPDATER=1\n"
        "claude --print --dangerously-skip-permissions 'Make the file.' </dev/null",
        ("Bash",),
        "/chat/completions",
    ),
    Agent(
        "codex",
        f"mkdir -p ~/.codex && cat > ~/.codex/config.toml <<END\n{CODEX_SETTINGS}\nEND\n"
        "codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox"
        " 'Make the file.' </dev/null",
        ("exec_command", "shell_command", "shell"),
        "/responses",
    ),
    Agent(
        "opencode",
        f"cat > opencode.json <<END\n{OPENCODE_SETTINGS}\nEND\n"
        "export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1\n"
        "opencode run 'Make the file.' </dev/null",
        ("bash", "shell"),
        "/chat/completions",
    ),
    Agent(
        "aider",
        "LD_LIBRARY_PATH=$PACKAGES/lib $PACKAGES/bin/python3 -m aider --model openai/any --no-git"
        " --yes-always --no-check-update --analytics-disable --no-show-model-warnings"
        " --message 'Make the file.' </dev/null",
        (),
        "/chat/completions",
        packages="aider",
    ),
)


@pytest.mark.skipif(FOLDER is None, reason="needs SLIPWAY_TEST_AGENTS")
@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_it_runs_a_command_and_answers(
    agent: Agent, scripted_server: AppServerProcess, scripted_llm: ScriptedLLM
) -> None:
    scripted_llm.script(call("finish", message="ready"))
    with scripted_server.client() as client:
        conversation_id = start_conversation(client, "wait", confirmation_mode="never")
        wait_for_status(client, conversation_id, "finished")
        made = client.post(f"/app-conversations/{conversation_id}/model-key", json={"hours": 1}).json()
        scripted_llm.fallback = lambda request: _reply(request, agent)
        if not agent.tools:
            # An agent without tools sends no tools in its requests, so they must not be taken for requests
            # for a title.
            scripted_llm.aside = None
        # A sandbox can read its workspace but not FOLDER.
        workspace = scripted_server.home / "sandboxes" / conversation_id / "workspace"
        packages = workspace / agent.packages
        shutil.copytree(f"{FOLDER}/{agent.packages}", packages, symlinks=True, copy_function=os.link)
        paths = f"export PACKAGES={packages} PATH={packages}/.bin:$PATH"
        shown = f"{paths}\n{made['shell']}\n{agent.run}\ncat made.txt"

        ran = client.post(
            f"/app-conversations/{conversation_id}/execute-bash-command",
            json={"command": shown, "timeout": COMMAND_SECONDS},
            timeout=COMMAND_SECONDS + 60,
        ).json()

    said = f"{ran['stdout']}{ran['stderr']}"
    assert ANSWER in said, said
    assert "made by a tool" in ran["stdout"].splitlines()
    asked = scripted_llm.requests[1:]
    assert any(agent.path in request.path for request in asked)
    assert {request.bearer for request in asked} == {scripted_llm.api_key}
    assert scripted_llm.api_key not in said
    shutil.rmtree(packages)
    assert files_with(Path(scripted_server.home) / "sandboxes", scripted_llm.api_key) == []


def _reply(request: Request, agent: Agent) -> Turn:
    """Returns a turn that calls one command, and after its result a turn with ANSWER.

    For an agent without tools, the text contains the file and ANSWER.
    """
    if not agent.tools:
        return say(f"made.txt\n```\nmade by a tool\n```\n\n{ANSWER}")
    tool = next((name for name in agent.tools if name in request.tool_names), None)
    sent = str(request.body.get("messages") or request.body.get("input"))
    if tool is None or "made by a tool" in sent:
        return say(ANSWER)
    command = "echo made by a tool | tee made.txt"
    given: dict[str, Any] = {"command": command, "description": "Makes the file"}
    if tool == "exec_command":
        given = {"cmd": command}
    elif tool == "shell":
        given = {"command": ["bash", "-lc", command]} if agent.name == "codex" else given
    elif tool == "shell_command":
        given = {"command": command}
    return call(tool, **given)
