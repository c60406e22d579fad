"""Tests of the task list of an agent: it can be planned and viewed, and is kept over a restart."""

from pathlib import Path

from agent_runtime.tools.arguments import parse_arguments
from agent_runtime.tools.task_tracker import TaskTrackerTool
from agent_runtime.tools.tool import ToolContext


async def ask(state_dir: Path, **arguments):
    tool = TaskTrackerTool(ToolContext(state_dir, state_dir))
    return await tool.run(parse_arguments(tool, arguments))


async def test_a_plan_is_answered_as_on_the_wire(tmp_path: Path):
    task = {"title": "t", "notes": "n", "status": "todo"}
    observation = await ask(tmp_path, command="plan", task_list=[task])
    assert observation.to_wire() == {
        "content": [
            {"cache_prompt": False, "type": "text", "text": "Task list has been updated with 1 item(s)."}
        ],
        "is_error": False,
        "command": "plan",
        "task_list": [task],
        "kind": "TaskTrackerObservation",
    }


async def test_the_list_survives_a_restart_and_is_replaced_by_each_plan(tmp_path: Path):
    assert "empty" in (await ask(tmp_path)).text
    await ask(tmp_path, command="plan", task_list=[{"title": "old"}])
    await ask(
        tmp_path,
        command="plan",
        task_list=[{"title": "a", "status": "done"}, {"title": "b", "notes": "soon"}],
    )
    assert (await ask(tmp_path, command="view")).text == "1. [x] a\n2. [ ] b (soon)"


async def test_a_damaged_list_is_explained(tmp_path: Path):
    (tmp_path / "TASKS.json").write_text("{")
    assert (await ask(tmp_path)).is_error
