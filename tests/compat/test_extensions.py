"""Tests of what an SDK client can add: its tools, MCP servers, skills, plugins, another
model, and settings.
"""

import os
from pathlib import Path

import pytest
from openhands.sdk import Agent, AgentContext, RemoteConversation
from openhands.sdk.event import ActionEvent, MessageEvent, ObservationEvent
from openhands.sdk.skills import KeywordTrigger, Skill
from openhands.sdk.tool.client_tool import ClientToolSpec
from openhands.sdk.workspace import RemoteWorkspace

from tests.compat.conftest import Begin, make_agent, make_llm, only
from tests.support.patience import PATIENCE_SECONDS
from tests.support.scripted_llm import ScriptedLLM, call, say

COLOUR = ClientToolSpec(
    name="pick_colour",
    description="Lets the user pick a colour.",
    parameters={"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
)
MCP_SERVER = """
from mcp.server import MCPServer
server = MCPServer("adder")
@server.tool()
def add_numbers(a: int, b: int) -> str:
    return f"sum={a + b}"
server.run("stdio")
"""


def test_a_tool_of_the_client_is_called_and_its_events_are_read(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    scripted_llm.script(call("pick_colour", prompt="Which?"), say("Thanks."))
    conversation = begin(client_tools=[COLOUR])
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    (action,) = only(conversation.state.events, ActionEvent)
    assert action.action.kind == "ClientAction_pick_colour"
    (result,) = only(conversation.state.events, ObservationEvent)
    assert result.observation.kind == "ClientToolObservation"
    assert "pick_colour" in scripted_llm.requests[0].tool_names
    attached = RemoteConversation.attach(workspace, conversation.id, visualizer=None)
    assert only(attached.state.events, ActionEvent)[0].action == action.action
    workspace.client.delete(f"/api/conversations/{conversation.id}")
    attached.close()


def test_a_keyword_skill_of_the_client_comes_with_its_word(begin: Begin, scripted_llm: ScriptedLLM):
    scripted_llm.script(say("Striped."))
    zebra = Skill(name="zebra", content="Z-KNOWLEDGE", trigger=KeywordTrigger(keywords=["zebra"]))
    agent = Agent(llm=make_llm(scripted_llm), tools=[], agent_context=AgentContext(skills=[zebra]))
    conversation = begin(agent=agent)
    conversation.send_message("What of the zebra?")
    conversation.run(timeout=PATIENCE_SECONDS)

    asked = only(conversation.state.events, MessageEvent)[0]
    assert asked.activated_skills == ["zebra"]
    assert "Z-KNOWLEDGE" in str(scripted_llm.requests[0].messages)
    conversation.state.refresh_from_server()
    assert conversation.state.activated_knowledge_skills == ["zebra"]


def test_another_model_takes_over(begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace):
    scripted_llm.script(say("One."), say("Two."))
    conversation = begin()
    conversation.send_message("first")
    conversation.run(timeout=PATIENCE_SECONDS)
    other = make_llm(scripted_llm, model="openai/other").model_dump(
        mode="json", context={"expose_secrets": True}
    )

    url = f"/api/conversations/{conversation.id}/switch_llm"
    workspace.client.post(url, json={"llm": other}).raise_for_status()
    conversation.send_message("second")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert [request.body["model"] for request in scripted_llm.requests] == ["scripted", "other"]
    conversation.state.refresh_from_server()
    assert conversation.state.agent.llm.model == "openai/other"


def test_a_plugin_joins_a_conversation_under_way(
    begin: Begin, scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    scripted_llm.script(say("One."), say("Two."))
    plugin = Path(workspace.working_dir) / "stripes"
    (plugin / ".plugin").mkdir(parents=True)
    (plugin / ".plugin" / "plugin.json").write_text('{"name": "stripes", "version": "1.0.0"}')
    (plugin / "skills" / "zebra").mkdir(parents=True)
    (plugin / "skills" / "zebra" / "SKILL.md").write_text(
        "---\nname: zebra\ndescription: All about zebras\n---\nZ-KNOWLEDGE\n"
    )
    conversation = begin()
    conversation.send_message("first")
    conversation.run(timeout=PATIENCE_SECONDS)

    conversation.load_plugin(str(plugin))
    conversation.send_message("second")
    conversation.run(timeout=PATIENCE_SECONDS)

    assert "All about zebras" in str(scripted_llm.requests[-1].body)


def test_the_models_and_secrets_of_the_server_are_found(
    scripted_llm: ScriptedLLM, workspace: RemoteWorkspace
):
    workspace.client.put("/api/settings/secrets", json={"name": "TOKEN", "value": "token-canary"})
    body = {"llm": {"model": "openai/saved", "base_url": scripted_llm.base_url}, "include_secrets": True}
    workspace.client.post("/api/profiles/saved", json=body).raise_for_status()

    assert workspace.get_llm("saved").model == "openai/saved"
    with pytest.raises(FileNotFoundError):
        workspace.get_llm("missing")
    secrets = workspace.get_secrets(["TOKEN"])
    assert secrets["TOKEN"].get_value() == "token-canary"
    assert workspace.get_mcp_config() == {}


def test_tools_of_an_mcp_server_are_the_agents(begin: Begin, scripted_llm: ScriptedLLM, tmp_path: Path):
    program = tmp_path / "adder.py"
    program.write_text(MCP_SERVER)
    config = {"adder": {"command": os.environ["SLIPWAY_PYTHON"], "args": [str(program)]}}
    agent = make_agent(scripted_llm, mcp_config=config)
    scripted_llm.script(call("add_numbers", a=2, b=40), say("42."))
    conversation = begin(agent=agent)
    conversation.send_message("Go.")
    conversation.run(timeout=PATIENCE_SECONDS)

    (result,) = only(conversation.state.events, ObservationEvent)
    assert result.observation.kind == "MCPToolObservation"
    assert "sum=42" in result.observation.text
    conversation.navigate_to(None)
    conversation.send_message("Anew.")
    begin(agent=agent, conversation_id=conversation.id)  # reads the descriptions of the server's tools
