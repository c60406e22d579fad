"""Tests of tools that users write: the example of the documentation is found in every way
that it describes.
"""

import re
from pathlib import Path

import pytest

import agent_runtime.tools
from agent_runtime.tools.arguments import model_schema, parse_arguments
from agent_runtime.tools.registry import ToolNotFoundError, ToolSpec, create_tools, tool_names
from agent_runtime.tools.tool import AnyTool, ToolContext

README = Path(agent_runtime.tools.__file__).with_name("README.md")
METADATA = "Metadata-Version: 2.1\nName: counting\nVersion: 1\n"


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToolContext:
    """Installs the documented example of a tool for this test. Returns the context with which tools are
    created.
    """
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "documented_example.py").write_text(example)
    installed = tmp_path / "counting-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(METADATA)
    entry_points = "[slipway.tools]\ncount_lines = documented_example:CountLinesTool\nbroken = nowhere:Tool\n"
    (installed / "entry_points.txt").write_text(entry_points)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "poem.txt").write_text("one\ntwo\n")
    return ToolContext(tmp_path, tmp_path / "state")


async def count(tool: AnyTool) -> str:
    return (await tool.run(parse_arguments(tool, {"path": "poem.txt", "summary": "count"}))).text


async def test_a_tool_named_by_its_class_takes_its_parameters(context: ToolContext):
    spec = ToolSpec(name="documented_example:CountLinesTool", params={"unit": "rows"})

    tools = create_tools([spec], context)

    assert list(tools) == ["count_lines", "finish", "think"]
    assert await count(tools["count_lines"]) == "2 rows"


async def test_a_tool_named_by_its_module_is_found(context: ToolContext):
    modules = {"count_lines": "documented_example", "terminal": "not.imported.ever"}
    specs = [ToolSpec(name="count_lines"), ToolSpec(name="terminal")]

    tools = create_tools(specs, context, modules)

    assert await count(tools["count_lines"]) == "2 lines"


async def test_an_installed_tool_is_listed_and_found(context: ToolContext):
    assert "count_lines" in tool_names()

    tools = create_tools([ToolSpec(name="count_lines")], context)

    assert await count(tools["count_lines"]) == "2 lines"


def test_its_schema_and_kinds_follow_from_the_class(context: ToolContext):
    tool = create_tools([ToolSpec(name="count_lines")], context)["count_lines"]

    function = model_schema(tool)["function"]

    assert (tool.kind, tool.title) == ("CountLinesTool", "count_lines")
    assert isinstance(function, dict)
    assert function["name"] == "count_lines"
    assert function["description"] == "Count the lines of a text file."
    assert list(function["parameters"]["properties"]) == ["path"]


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("no_such_module:Tool", {}, "No module named 'no_such_module'"),
        ("documented_example:Missing", {}, "Missing"),
        ("documented_example:Field", {}, "cannot be"),
        ("documented_example:CountLinesAction", {}, "cannot be loaded"),
        ("documented_example:CountLinesTool", {"colour": "red"}, "colour"),
        ("misplaced", {}, "has no tool of that name"),
        ("broken", {}, "No module named 'nowhere'"),
        ("unheard_of", {}, "Tools that exist: .*count_lines, .*terminal"),
    ],
)
def test_a_tool_that_cannot_be_used_is_refused_with_the_reason(context: ToolContext, name, params, reason):
    modules = {"misplaced": "documented_example"}

    with pytest.raises(ToolNotFoundError, match=reason):
        create_tools([ToolSpec(name=name, params=params)], context, modules)


def test_a_second_tool_of_a_name_is_refused(context: ToolContext, tmp_path: Path):
    source = (tmp_path / "documented_example.py").read_text()
    (tmp_path / "impostor.py").write_text(source.replace('"count_lines"', '"finish"'))

    with pytest.raises(ToolNotFoundError, match="named finish"):
        create_tools([ToolSpec(name="impostor:CountLinesTool")], context)
