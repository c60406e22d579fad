"""Tests of the file editor of a planning agent, which can change only the file of its plan."""

from pathlib import Path

import pytest

from agent_runtime.tools.arguments import parse_arguments
from agent_runtime.tools.registry import ToolSpec, create_tools
from agent_runtime.tools.tool import AnyTool, ToolContext


def editor(root: Path, **params: str) -> AnyTool:
    spec = ToolSpec(name="planning_file_editor", params={**params, "unknown": 1})
    return create_tools([spec], ToolContext(root, root / "state"))["planning_file_editor"]


async def use(tool: AnyTool, command: str, path: Path, **fields: object):
    return await tool.run(parse_arguments(tool, {"command": command, "path": str(path), **fields}))


async def test_the_plan_is_there_from_the_start_and_can_be_filled_in(tmp_path: Path):
    tool, plan = editor(tmp_path), tmp_path / ".agents_tmp" / "PLAN.md"
    assert str(plan) in tool.description
    assert "## Steps" in (await use(tool, "view", plan)).text

    observation = await use(tool, "str_replace", plan, old_str="## Goal\n", new_str="## Goal\n\nWin.\n")

    assert observation.to_wire()["kind"] == "PlanningFileEditorObservation"
    assert observation.to_wire()["new_content"] == plan.read_text()
    assert "Win." in plan.read_text()
    await use(editor(tmp_path), "undo_edit", plan)
    assert "Win." not in plan.read_text()


async def test_another_place_for_the_plan_can_be_given(tmp_path: Path):
    await use(editor(tmp_path, plan_path="docs/plan.md"), "view", tmp_path)
    assert (tmp_path / "docs" / "plan.md").exists()


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("create", {"file_text": "x"}),
        ("str_replace", {"old_str": "a", "new_str": "b"}),
        ("insert", {"insert_line": 0, "new_str": "x"}),
        ("undo_edit", {}),
    ],
)
async def test_other_files_can_be_viewed_but_not_changed(tmp_path: Path, command: str, fields):
    tool, path = editor(tmp_path), tmp_path / "a.py"
    path.write_text("a\n")
    assert (await use(tool, "view", path)).text.endswith("\ta")

    observation = await use(tool, command, path, **fields)

    assert observation.is_error
    assert "Only the plan" in observation.text
    assert path.read_text() == "a\n"
    assert (await use(tool, "create", tmp_path / ".agents_tmp/PLAN.md/../../b", file_text="x")).is_error
