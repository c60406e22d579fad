"""Tests of how analyzers and confirmation policies judge the actions of one reply."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.security.analyzers import read_analyzer
from agent_runtime.security.policy import read_policy
from agent_runtime.security.review import Review, Reviewer
from agent_runtime.tools.registry import ToolSpec, create_tools
from agent_runtime.tools.tool import ToolContext

WORKSPACE = "/work/project"
TOOLS = create_tools(
    [ToolSpec(name=name) for name in ("terminal", "file_editor", "apply_patch", "grep", "write_file")],
    ToolContext(working_dir=Path(WORKSPACE), state_dir=Path("/work/state")),
)
NEVER: dict[str, Any] = {"kind": "NeverConfirm"}
RISKY: dict[str, Any] = {"kind": "ConfirmRisky"}
RAIL: dict[str, Any] = {"kind": "PolicyRailSecurityAnalyzer"}
LLM: dict[str, Any] = {"kind": "LLMSecurityAnalyzer"}


def action(tool: str, *, risk: str = "UNKNOWN", **arguments: Any) -> ActionEvent:
    call = ToolCall(id="1", name=tool, arguments=orjson.dumps(arguments).decode())
    return ActionEvent(
        action=arguments, tool_name=tool, tool_call_id="1", tool_call=call, llm_response_id="r",
        security_risk=risk,  # type: ignore[arg-type]
    )  # fmt: skip


def look(one: ActionEvent, policy: dict[str, Any] = RISKY, analyzer: dict[str, Any] | None = None) -> Review:
    return Reviewer(read_policy(policy), read_analyzer(analyzer), TOOLS, WORKSPACE).review([one])


def risk(one: ActionEvent, analyzer: dict[str, Any] | None = None) -> str:
    found = look(one, analyzer=analyzer).event
    assert found is not None
    return found.risks[one.id]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (action("file_editor", command="view", path="/etc/hosts"), "LOW"),
        (action("file_editor", command="create", path=f"{WORKSPACE}/a"), "LOW"),
        (action("file_editor", command="create", path=f"{WORKSPACE}/../a"), "HIGH"),
        (action("file_editor", command="view", path="/root/.ssh/id_rsa"), "HIGH"),
        (action("write_file", file_path="/etc/hosts", content=""), "HIGH"),
        (action("grep", pattern="x", path="/etc"), "LOW"),
        (action("apply_patch", patch="*** Begin Patch\n*** Add File: ../x\n+a\n*** End Patch"), "HIGH"),
        (action("apply_patch", patch="*** Begin Patch\n*** Add File: x\n+a\n*** End Patch"), "LOW"),
        (action("elsewhere"), "UNKNOWN"),
    ],
)
def test_files_are_judged_by_where_they_are(one: ActionEvent, expected: str):
    assert risk(one) == expected


def test_no_review_runs_if_it_is_switched_off():
    assert look(action("terminal", command="sudo x"), NEVER) == Review(None, asks=False)


def test_an_analyzer_reports_even_if_nothing_is_ever_asked():
    found = look(action("terminal", command="sudo x"), NEVER, RAIL)
    assert found.event is not None
    assert not found.asks


@pytest.mark.parametrize(("threshold", "asks"), [("HIGH", False), ("MEDIUM", True), ("LOW", True)])
def test_the_threshold_decides(threshold: str, asks: bool):
    one = action("terminal", command="git push")
    assert look(one, {**RISKY, "threshold": threshold}, RAIL).asks is asks


def test_what_is_not_known_asks_only_if_wanted_and_hides_no_other_risk():
    unknown = action("terminal", command="$X; git push")
    lenient = {**RISKY, "confirm_unknown": False}
    assert look(unknown).asks
    assert not look(unknown, lenient).asks
    assert look(unknown, {**lenient, "threshold": "MEDIUM"}).asks


def test_an_ensemble_takes_the_worst_rating_and_ignores_unknown():
    ensemble = {"kind": "EnsembleSecurityAnalyzer", "analyzers": [LLM, RAIL]}
    assert risk(action("terminal", command="ls"), ensemble) == "LOW"
    assert risk(action("terminal", command="ls"), {**ensemble, "propagate_unknown": True}) == "UNKNOWN"
    assert risk(action("terminal", command="ls", risk="HIGH"), ensemble) == "HIGH"
    assert risk(action("terminal", command="sudo ls", risk="LOW"), ensemble) == "HIGH"


def test_custom_patterns_are_matched():
    analyzer = {"kind": "PatternSecurityAnalyzer", "high_patterns": [["prod", "touches production", "P"]]}
    found = look(action("terminal", command="deploy prod"), analyzer=analyzer)
    assert found.asks
    assert found.event is not None
    assert [one["reasons"] for one in found.event.details.values()] == [["touches production"]]
