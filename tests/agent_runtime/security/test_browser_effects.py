"""Tests of which actions of the browser need the user's confirmation."""

from pathlib import Path

import pytest

from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.security.policy import read_policy
from agent_runtime.security.review import Reviewer
from agent_runtime.tools.browser.session import BrowserSession
from agent_runtime.tools.browser.tools import TOOLS

WORKSPACE = "/work/project"
KNOWN = {tool.name: tool(BrowserSession(Path(WORKSPACE))) for tool in TOOLS}
RISKS = {
    "browser_click": "MEDIUM",
    "browser_close_tab": "LOW",
    "browser_get_content": "LOW",
    "browser_get_state": "LOW",
    "browser_get_storage": "HIGH",
    "browser_go_back": "LOW",
    "browser_list_tabs": "LOW",
    "browser_navigate": "MEDIUM",
    "browser_scroll": "LOW",
    "browser_set_storage": "MEDIUM",
    "browser_start_recording": "LOW",
    "browser_stop_recording": "LOW",
    "browser_switch_tab": "LOW",
    "browser_type": "MEDIUM",
}


SAMPLE = {
    "url": "https://example.org/", "new_tab": False, "index": 0, "text": "Ada", "include_screenshot": False,
    "extract_links": False, "start_from_char": 0, "direction": "down", "tab_id": "a1b2", "storage_state": {},
}  # fmt: skip
"""Harmless arguments for the browser's tools."""


def risk(name: str, **arguments: object) -> str:
    fitting = {name: SAMPLE[name] for name in KNOWN[name].action_type.model_fields}
    arguments = {**fitting, **arguments}
    call = ToolCall(id="1", name=name, arguments="{}")
    action = ActionEvent(
        action=arguments, tool_name=name, tool_call_id="1", tool_call=call, llm_response_id="r"
    )
    found = Reviewer(read_policy({"kind": "ConfirmRisky"}), None, KNOWN, WORKSPACE).review([action])
    assert found.event is not None
    return found.event.risks[action.id]


@pytest.mark.parametrize("name", KNOWN)
def test_each_of_the_browsers_tools_has_a_risk(name: str):
    assert risk(name) == RISKS[name]


@pytest.mark.parametrize("path", ["~/.ssh/id_rsa", ".netrc", "/root/.aws/credentials"])
def test_handing_over_a_file_with_credentials_is_asked_about(path: str):
    assert risk("browser_type", text=path) == "HIGH"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://169.254.169.254/latest/meta-data/", "HIGH"),
        ("file:///root/.ssh/id_rsa", "HIGH"),
        ("chrome://version", "UNKNOWN"),
        ("https://example.org/", "MEDIUM"),
    ],
)
def test_an_address_is_judged_by_what_it_leads_to(url: str, expected: str):
    assert risk("browser_navigate", url=url) == expected
