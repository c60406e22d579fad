"""Tests of conversations in the process of the program: what is different from conversations on a server."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest

from agent_runtime import (
    LLM,
    Action,
    Agent,
    AnyEvent,
    Conversation,
    ConversationError,
    ExecutionStatus,
    Observation,
    TextContent,
    Tool,
    ToolContext,
    ToolSpec,
    replay,
)
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, hang, say

PROGRAM = """
import signal
import sys

# What starts the tests in the background may have it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

from agent_runtime import LLM, Agent, Conversation, ToolSpec

llm = LLM(model="openai/scripted", base_url=sys.argv[1], api_key=sys.argv[2])
conversation = Conversation(
    Agent(llm=llm, tools=[ToolSpec(name="terminal")]), sys.argv[3], persistence_dir=sys.argv[4]
)
conversation.send_message("Go.")
print(conversation.id, flush=True)
try:
    conversation.run()
except KeyboardInterrupt:
    print(conversation.state.execution_status, flush=True)
    raise
"""


class GreetAction(Action):
    name: str


class GreetTool(Tool[GreetAction]):
    name = "greet"
    description = "Greet somebody."
    action_type = GreetAction
    observation_type = Observation

    def __init__(self, context: ToolContext, greeting: str = "Hello") -> None:
        self._path, self._greeting = context.working_dir, greeting

    async def run(self, action: GreetAction) -> Observation:
        text = f"{self._greeting}, {action.name}, in {self._path.name}!"
        return Observation(content=[TextContent(text=text)])


def agent(
    llm: ScriptedLLM, tools: Sequence[ToolSpec] = (ToolSpec(name="terminal"),), *, stream: bool = False
) -> Agent:
    model = LLM(
        model="openai/scripted", base_url=llm.base_url, api_key=llm.api_key, num_retries=0, stream=stream
    )
    return Agent(llm=model, tools=list(tools))


def test_a_tool_of_the_program_is_used(scripted_llm: ScriptedLLM, tmp_path: Path):
    scripted_llm.script(call("greet", name="Ada"), lambda request: say(request.last_text))
    tools = [ToolSpec.of(GreetTool, greeting="Good morning")]

    with Conversation(agent(scripted_llm, tools), tmp_path / "work") as conversation:
        conversation.send_message("Greet Ada.")
        conversation.run()

        assert "Good morning, Ada, in work!" in conversation.final_response


def test_a_tool_that_cannot_be_found_by_import_is_refused():
    class Hidden(GreetTool):
        pass

    with pytest.raises(ValueError, match="top of its module"):
        ToolSpec.of(Hidden)


def test_closing_ends_the_threads_and_removes_conversations_that_are_not_kept(
    scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(hang())
    before = set(threading.enumerate())
    conversation = Conversation(agent(scripted_llm), tmp_path / "work")
    directory = Path(conversation.state.info.persistence_dir)
    conversation.send_message("Go.")
    conversation.run(blocking=False)
    assert directory.exists()

    conversation.close()
    conversation.close()

    assert set(threading.enumerate()) <= before | _answering(before)
    assert not directory.exists()
    assert len(conversation.state.events) == 3


def test_a_conversation_that_is_open_cannot_be_opened_again(scripted_llm: ScriptedLLM, tmp_path: Path):
    with Conversation(agent(scripted_llm), tmp_path / "work", persistence_dir=tmp_path) as conversation:
        with pytest.raises(ConversationError) as caught:
            Conversation(
                agent(scripted_llm),
                tmp_path / "work",
                persistence_dir=tmp_path,
                conversation_id=conversation.id,
            )
        assert caught.value.code == "conversation_in_use"
        with pytest.raises(ConversationError, match="is open"):
            next(replay(tmp_path, conversation.id))


def test_a_run_that_was_cut_off_by_closing_goes_on_when_reopened(scripted_llm: ScriptedLLM, tmp_path: Path):
    scripted_llm.script(call("terminal", command="touch begun; sleep 600"), say("I see."))
    first = Conversation(agent(scripted_llm), tmp_path / "work", persistence_dir=tmp_path / "kept")
    first.send_message("Go.")
    first.run(blocking=False)
    assert first.workspace.execute_command("until [ -e begun ]; do sleep 0.02; done").exit_code == 0
    first.close()

    with Conversation(
        agent(scripted_llm),
        tmp_path / "work",
        persistence_dir=tmp_path / "kept",
        conversation_id=first.id,
    ) as second:
        assert second.state.execution_status is ExecutionStatus.IDLE
        second.run()
        assert second.final_response == "I see."


def test_every_prompt_can_be_seen_again(scripted_llm: ScriptedLLM, tmp_path: Path):
    scripted_llm.script(call("terminal", command="echo 1"), say("One."))
    with Conversation(agent(scripted_llm), tmp_path / "work", persistence_dir=tmp_path) as conversation:
        conversation.send_message("Count.")
        conversation.run()

    prompts = list(replay(tmp_path, conversation.id))

    assert [len(prompt.messages) for prompt in prompts] == [2, 4]
    with pytest.raises(ConversationError, match="no conversation"):
        next(replay(tmp_path / "elsewhere", conversation.id))


def test_a_callback_that_is_slow_misses_no_event(scripted_llm: ScriptedLLM, tmp_path: Path):
    scripted_llm.script(say("x" * 12_000, piece_chars=1), call("terminal", command="echo 1"), say("Done."))
    told: list[AnyEvent] = []
    goes_on = threading.Event()
    with Conversation(
        agent(scripted_llm, stream=True),
        tmp_path / "work",
        callbacks=[told.append],
        stream_callbacks=[lambda _piece: goes_on.wait(PATIENCE_SECONDS) and None],
    ) as conversation:
        conversation.send_message("Go.")
        conversation.run(blocking=False)
        scripted_llm.wait_for_request(1)
        while conversation.state.execution_status is ExecutionStatus.RUNNING:
            time.sleep(0.01)
        goes_on.set()
        conversation.send_message("And on.")
        conversation.run()

        assert conversation.final_response == "Done."
        assert told == list(conversation.state.events)


def test_ctrl_c_interrupts_the_run_and_ends_the_program(scripted_llm: ScriptedLLM, tmp_path: Path):
    scripted_llm.script(call("terminal", command="echo $$ > pid; sleep 600"), say("Back again."))
    program = _start(scripted_llm, tmp_path)
    pid = _read_when_there(tmp_path / "work" / "pid")

    program.send_signal(signal.SIGINT)
    output, errors = program.communicate(timeout=PATIENCE_SECONDS)

    assert output.split()[1:] == ["paused"]
    assert "KeyboardInterrupt" in errors
    assert program.returncode != 0
    assert not _is_alive(int(pid))
    with Conversation(
        agent(scripted_llm),
        tmp_path / "work",
        persistence_dir=tmp_path / "kept",
        conversation_id=_id_in(output),
    ) as again:
        again.run()
        assert again.final_response == "Back again."


def test_a_program_that_does_not_close_it_ends_and_leaves_nothing_running(
    scripted_llm: ScriptedLLM, tmp_path: Path
):
    scripted_llm.script(call("terminal", command="echo $$ > pid"), say("Done."))
    program = _start(scripted_llm, tmp_path)

    program.communicate(timeout=PATIENCE_SECONDS)

    assert program.returncode == 0
    assert not _is_alive(int((tmp_path / "work" / "pid").read_text()))


def _start(llm: ScriptedLLM, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PROGRAM, *_arguments(llm, path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _arguments(llm: ScriptedLLM, path: Path) -> list[str]:
    return [llm.base_url, llm.api_key, str(path / "work"), str(path / "kept")]


def _read_when_there(path: Path) -> str:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if path.exists() and path.read_text().strip():
            return path.read_text()
        time.sleep(0.02)
    raise TimeoutError(path)


def _id_in(output: str):

    return UUID(output.split(maxsplit=1)[0])


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _answering(before: set[threading.Thread]) -> set[threading.Thread]:
    """Returns the threads in which the scripted model still answers requests. before: threads that are left
    out.
    """
    return {
        thread for thread in set(threading.enumerate()) - before if "process_request" in (thread.name or "")
    }


def test_completions_are_written_to_the_folder_of_the_model(scripted_llm: ScriptedLLM, tmp_path: Path):
    folder = tmp_path / "completions"
    llm = LLM(
        model="openai/scripted",
        base_url=scripted_llm.base_url,
        api_key=scripted_llm.api_key,  # type: ignore[arg-type]  # pydantic makes a secret of it
        log_completions=True,
        log_completions_folder=str(folder),
    )
    scripted_llm.script(say("It is correct-horse."))

    with Conversation(Agent(llm=llm), tmp_path / "work", secrets={"TOKEN": "correct-horse"}) as conversation:
        conversation.send_message("Go.")
        conversation.run()

    (file,) = folder.iterdir()
    assert "It is <secret-hidden>." in file.read_text()
