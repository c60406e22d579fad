"""Every tool of the runtime declares the effects of its calls. A call of a tool without a declaration needs
confirmation.
"""

import importlib
import inspect
import pkgutil
from typing import Any

import orjson
import pytest

import agent_runtime.tools
from agent_runtime.events.action import ActionEvent, ToolCall
from agent_runtime.security.policy import read_policy
from agent_runtime.security.review import Reviewer
from agent_runtime.tools.effects import Acts, Effect, Opens, Reads, RunsCommand, RunsProgram, Writes
from agent_runtime.tools.external.client_tool import ClientTool, ClientToolSpec
from agent_runtime.tools.registry import tool_names
from agent_runtime.tools.tool import READS, Action, AnyTool, OwnObservation, Tool

WORKSPACE = "/work/project"


def every_tool() -> list[type[AnyTool]]:
    """Returns all tool classes of the runtime that are not abstract, also those that are not registered."""
    for module in pkgutil.walk_packages(agent_runtime.tools.__path__, "agent_runtime.tools."):
        importlib.import_module(module.name)
    found: list[type[AnyTool]] = []
    waiting: list[type[AnyTool]] = [Tool]
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        found += [one] if one.__module__.startswith("agent_runtime.") and not inspect.isabstract(one) else []
    return sorted(set(found), key=lambda tool: tool.__name__)


@pytest.mark.parametrize("tool", every_tool(), ids=lambda tool: tool.__name__)
def test_every_tool_of_the_runtime_says_what_its_calls_do(tool: type[AnyTool]):
    assert tool.effects is not Tool.effects, f"{tool.__module__}.{tool.__name__} must override `effects`"


def test_every_registered_tool_is_among_them():
    listed_as = {"task": "task_tool_set", "browser_navigate": "browser_tool_set"}
    names = {getattr(tool, "name", "") for tool in every_tool()}
    assert set(tool_names()) <= {listed_as.get(name, name) for name in names}


class Empty(Action):
    pass


class Made(Tool[Empty]):
    """A tool that does not come from the runtime. Each test sets its effects."""

    name = "made"
    description = "Does something."

    async def run(self, action: Empty) -> OwnObservation:
        raise AssertionError("only looked at")


def with_effects(*effects: Effect) -> Made:
    tool = Made()
    tool.effects = lambda _: effects  # type: ignore[method-assign]
    return tool


def risk_of(tool: AnyTool | None, **arguments: Any) -> tuple[str, bool]:
    """Returns the risk of a call of `tool`, and whether it needs confirmation. None: a tool that does not
    exist.
    """
    name = tool.name if tool else "nowhere"
    call = ToolCall(id="1", name=name, arguments=orjson.dumps(arguments).decode())
    event = ActionEvent(
        action=arguments, tool_name=name, tool_call_id="1", tool_call=call, llm_response_id="r",
        security_risk="LOW",
    )  # fmt: skip
    tools = {tool.name: tool} if tool else {}
    review = Reviewer(read_policy({"kind": "ConfirmRisky"}), None, tools, WORKSPACE).review([event])
    assert review.event is not None
    return review.event.risks[event.id], review.asks


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (Reads("src/x.py"), ("LOW", False)),
        (Reads("/etc/hosts"), ("LOW", False)),
        (Reads("~/.ssh/id_ed25519"), ("HIGH", True)),
        (Writes("src/x.py"), ("LOW", False)),
        (Writes("../x.py"), ("HIGH", True)),
        (Writes(".git/hooks/pre-commit"), ("HIGH", True)),
        (RunsCommand("make test"), ("LOW", False)),
        (RunsCommand("sudo make"), ("HIGH", True)),
        (RunsProgram("import math\nprint(math.pi)"), ("LOW", False)),
        (RunsProgram("x = 1\n!rm -rf /"), ("HIGH", True)),
        (RunsProgram("%%bash\ncat ~/.aws/credentials"), ("HIGH", True)),
        (RunsProgram("import subprocess"), ("UNKNOWN", True)),
        (Opens("https://docs.example/page"), ("MEDIUM", False)),
        (Opens("docs.example"), ("MEDIUM", False)),
        (Opens("about:blank"), ("LOW", False)),
        (Opens("file:///root/.ssh/id_rsa"), ("HIGH", True)),
        (Opens("http://169.254.169.254/latest/meta-data"), ("HIGH", True)),
        (Opens("javascript:alert(1)"), ("UNKNOWN", True)),
        (Opens("chrome://settings"), ("UNKNOWN", True)),
        (Acts("changes something"), ("MEDIUM", False)),
        (Acts("pays", "HIGH"), ("HIGH", True)),
    ],
    ids=str,
)
def test_what_a_tool_says_is_judged(effect: Effect, expected: tuple[str, bool]):
    assert risk_of(with_effects(effect)) == expected


def test_the_worst_effect_counts():
    assert risk_of(with_effects(Reads("a"), Writes("/etc/hosts"))) == ("HIGH", True)
    assert risk_of(with_effects()) == ("LOW", False)


def test_what_is_not_declared_is_asked_about():
    assert risk_of(None) == ("UNKNOWN", True)
    assert risk_of(Made()) == ("UNKNOWN", True)


def test_arguments_that_do_not_fit_are_asked_about():
    assert risk_of(with_effects(), surprise=1) == ("UNKNOWN", True)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (None, ("UNKNOWN", True)),
        ({"title": "Harmless"}, ("UNKNOWN", True)),
        ({"destructiveHint": True}, ("UNKNOWN", True)),
        ({"destructiveHint": False}, ("MEDIUM", False)),
        (READS.model_dump(), ("LOW", False)),
    ],
)
def test_a_client_is_taken_at_its_word(annotations: dict[str, Any] | None, expected: tuple[str, bool]):
    spec = ClientToolSpec.model_validate(
        {"name": "ring", "description": "Rings.", "annotations": annotations}
    )
    assert risk_of(ClientTool(spec)) == expected
