"""What every tool promises: its schema, its arguments, its place in the registry."""

import json
from pathlib import Path

import pytest

from agent_runtime.tools.registry import (
    ALIASES,
    ToolNotFoundError,
    ToolSpec,
    create_tools,
    resolve_name,
    tool_names,
)
from agent_runtime.tools.tool import AnyTool, ToolArgumentError, ToolContext, model_schema, parse_arguments
from agent_runtime.tools.truncate import truncate_middle

SCHEMAS = json.loads((Path(__file__).parents[2] / "fixtures" / "tool_schemas.json").read_text())


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, AnyTool]:
    return create_tools([ToolSpec(name=name) for name in tool_names()], ToolContext(tmp_path, tmp_path))


def without_descriptions(schema, *, is_properties=False):
    if isinstance(schema, dict):
        return {
            key: without_descriptions(value, is_properties=key == "properties")
            for key, value in schema.items()
            if is_properties or key != "description"
        }
    return schema


@pytest.mark.parametrize("name", tool_names())
def test_the_schema_has_the_parameters_of_the_protocol(tools: dict[str, AnyTool], name: str):
    schema = model_schema(tools[name])
    assert schema["type"] == "function"
    function = schema["function"]
    assert function["name"] == name
    assert function["description"]
    assert without_descriptions(function["parameters"]) == SCHEMAS[name]
    assert list(function["parameters"]["properties"]) == list(SCHEMAS[name]["properties"])
    assert all(item["description"] for item in function["parameters"]["properties"].values())


def test_kinds_are_the_class_names_of_the_protocol(tools: dict[str, AnyTool]):
    for tool in tools.values():
        stem = tool.kind.removesuffix("Tool")
        assert type(tool).__name__ == tool.kind
        assert tool.action_type.__name__ == f"{stem}Action"
        assert tool.observation_type.__name__ == f"{stem}Observation"


def test_risk_and_summary_are_taken_off_and_nulls_count_as_absent(tools: dict[str, AnyTool]):
    arguments = {
        "command": "ls",
        "security_risk": "LOW",
        "summary": "list",
        "timeout": None,
        "is_input": None,
    }
    action = parse_arguments(tools["terminal"], arguments)
    assert action.to_wire() == {"command": "ls", "is_input": False, "reset": False, "kind": "TerminalAction"}


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("terminal", {}, ["`command`", "required"]),
        ("terminal", {"command": "ls", "cwd": "canary"}, ["`cwd`", "not a parameter", "timeout"]),
        ("terminal", {"command": ["canary"]}, ["`command`", "string"]),
        ("file_editor", {"command": "canary", "path": "/x"}, ["`command`", "view", "undo_edit"]),
        ("file_editor", {"command": "view", "path": "/x", "view_range": ["canary", 1]}, ["`view_range.0`"]),
    ],
)
def test_wrong_arguments_are_explained_without_their_values(tools, tool, arguments, words):
    with pytest.raises(ToolArgumentError) as caught:
        parse_arguments(tools[tool], arguments)
    assert all(word in str(caught.value) for word in words)
    assert "canary" not in str(caught.value)


def test_familiar_names_mean_our_tools():
    assert {resolve_name(alias) for alias in ALIASES} == {"terminal", "file_editor"}
    assert resolve_name("terminal") == "terminal"
    assert resolve_name("unheard_of") == "unheard_of"


def test_an_unknown_tool_is_refused_with_the_names_that_exist(tmp_path: Path):
    with pytest.raises(ToolNotFoundError, match=r"no_such_tool.*file_editor, finish, .*terminal"):
        create_tools([ToolSpec(name="no_such_tool")], ToolContext(tmp_path, tmp_path))


def test_finish_and_think_come_with_every_agent(tmp_path: Path):
    tools = create_tools([ToolSpec(name="execute_bash")], ToolContext(tmp_path, tmp_path))
    assert list(tools) == ["terminal", "finish", "think"]


async def test_think_and_finish_answer_as_on_the_wire(tools: dict[str, AnyTool]):
    for name, arguments, text in (
        ("think", {"thought": "hm"}, "Your thought has been logged."),
        ("finish", {"message": "done"}, "done"),
    ):
        observation = await tools[name].run(parse_arguments(tools[name], arguments))
        assert observation.to_wire() == {
            "content": [{"cache_prompt": False, "type": "text", "text": text}],
            "is_error": False,
            "kind": f"{name.capitalize()}Observation",
        }


def test_long_texts_lose_their_middle_and_say_how_much():
    text = truncate_middle("a" * 60 + "b" * 60, 100, hint="see the file")
    assert text == f"{'a' * 50}\n[… 20 characters left out here; see the file …]\n{'b' * 50}"
    assert truncate_middle("short", 100) == "short"
