"""Tests of what every tool must provide: a schema, checked arguments, and a place in the registry."""

import json
from pathlib import Path

import pytest

from agent_runtime.tools.arguments import ToolArgumentError, model_schema, parse_arguments
from agent_runtime.tools.browser.models import BrowserObservation
from agent_runtime.tools.browser.session import BrowserSession
from agent_runtime.tools.browser.tools import TOOLS
from agent_runtime.tools.delegation import Delegation
from agent_runtime.tools.registry import (
    ALIASES,
    ToolNotFoundError,
    ToolSpec,
    create_tools,
    resolve_name,
    tool_names,
)
from agent_runtime.tools.tool import AnyTool, ToolContext
from agent_runtime.tools.truncate import truncate_middle
from agent_runtime.wire import (
    ChildNotStartedError,
    StartChildConversationRequest,
    StartChildConversationResponse,
)
from tests.support.sub_agents import NoSubAgents

SCHEMAS = json.loads((Path(__file__).parents[2] / "fixtures" / "tool_schemas.json").read_text())

OURS = {"view_image", "execute_ipython_cell"}
"""Tools that the protocol does not know. Their actions and observations have kinds that the
protocol knows.
"""
CALLED = {"task_tool_set": "task"}
"""For each tool whose name in an agent's specification differs from the name that the model sees: the latter
name.
"""
OFF_WIRE = {
    "task": {"isolation"},
    "finish": {"changed", "checked"},
    "file_editor": {"edits", "overwrite", "replace_all"},
    "planning_file_editor": {"edits", "overwrite", "replace_all"},
    "grep": {"context", "files_only"},
}
"""Parameters that only the model sees, by tool. The actions that clients get do not contain them."""
SETS = {"browser_tool_set"}
BROWSER = [tool.name for tool in TOOLS]


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, AnyTool]:
    delegation = Delegation(launch_child=launch_nothing, tasks=NoSubAgents())
    context = ToolContext(tmp_path, tmp_path, delegation=delegation)
    # Tool sets are left out, because a set can need a program that this machine does not have.
    named = create_tools([ToolSpec(name=name) for name in tool_names() if name not in SETS], context)
    session = BrowserSession(tmp_path)
    return {**named, **{tool.name: tool(session) for tool in TOOLS}}


async def launch_nothing(_: StartChildConversationRequest) -> StartChildConversationResponse:
    raise ChildNotStartedError("There is no server here.")


def without_descriptions(schema, *, is_properties=False):
    if isinstance(schema, dict):
        return {
            key: without_descriptions(value, is_properties=key == "properties")
            for key, value in schema.items()
            if is_properties or key != "description"
        }
    return schema


NAMES = [*(CALLED.get(name, name) for name in tool_names() if name not in OURS | SETS), *BROWSER]


@pytest.mark.parametrize("name", NAMES)
def test_the_schema_has_the_parameters_of_the_protocol(tools: dict[str, AnyTool], name: str):
    schema = model_schema(tools[name], asked=("security_risk", "summary"))
    assert schema["type"] == "function"
    function = schema["function"]
    assert function["name"] == name
    assert function["description"]
    properties = function["parameters"]["properties"]
    assert all(item["description"] for item in properties.values())
    for own in OFF_WIRE.get(name, ()):
        del properties[own]
    ours = without_descriptions(function["parameters"])
    said = set(ours["properties"]) - set(tools[name].parameters()["properties"])
    assert ours["properties"] == SCHEMAS[name]["properties"]
    # Calls that change something must state their risk. In the protocol the risk is optional.
    assert [n for n in ours.get("required", []) if n not in said] == SCHEMAS[name].get("required", [])
    assert [n for n in properties if n not in said] == [
        n for n in SCHEMAS[name]["properties"] if n not in said
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_arguments_of_a_tool_come_first_and_nothing_is_asked_without_an_analyzer(tools, name):
    own = list(tools[name].parameters()["properties"])

    def properties(*asked):
        return list(model_schema(tools[name], asked=asked)["function"]["parameters"]["properties"])

    assert properties() == own
    said = [n for n in ("security_risk", "summary") if n in properties("security_risk", "summary")]
    assert properties("security_risk", "summary") == own + said


def test_kinds_are_the_class_names_of_the_protocol(tools: dict[str, AnyTool]):
    for name, tool in ((name, tool) for name, tool in tools.items() if name not in OURS):
        stem = tool.kind.removesuffix("Tool")
        assert type(tool).__name__ == tool.kind
        assert tool.action_type.__name__ == f"{stem}Action"
        if name in BROWSER:
            assert tool.observation_type is BrowserObservation
        else:
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
    assert {resolve_name(alias) for alias in ALIASES} == {"terminal", "file_editor", "browser_tool_set"}
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


async def test_a_child_that_cannot_be_started_is_an_answer(tools: dict[str, AnyTool]):
    tool = tools["start_child_conversation"]

    observation = await tool.run(parse_arguments(tool, {"task": "Look."}))

    assert (observation.is_error, observation.text) == (True, "There is no server here.")


def test_without_a_server_there_is_no_tool_for_children(tmp_path: Path):
    with pytest.raises(ToolNotFoundError, match="agent server"):
        create_tools([ToolSpec(name="start_child_conversation")], ToolContext(tmp_path, tmp_path))
