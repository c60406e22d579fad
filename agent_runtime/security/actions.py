"""Judges the risk of one action of the agent from the effects that its tool declares, such as a command to
run or a file to write.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never
from urllib.parse import urlsplit

from pydantic import ValidationError

from agent_runtime.events.action import ActionEvent
from agent_runtime.security import path_policy
from agent_runtime.security.commands import judge_command
from agent_runtime.security.finding import Finding, Judgement
from agent_runtime.security.rules.programs import judge_program
from agent_runtime.security.shell.calls import resolve
from agent_runtime.security.shell.words import Word
from agent_runtime.tools.effects import (
    UNDECLARED,
    Acts,
    Effect,
    Opens,
    Reads,
    RunsCommand,
    RunsProgram,
    Writes,
)
from agent_runtime.tools.finish import FinishTool
from agent_runtime.tools.think import ThinkTool
from agent_runtime.tools.tool import AnyTool

NEVER_CONFIRMED = frozenset({FinishTool.name, ThinkTool.name})
"""The tools whose calls the user never has to confirm. Calls of these tools change nothing outside the
conversation. The agent needs `finish` to end its work.
"""

UNKNOWN_TOOL = "unknown-tool"
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*:(?!\d)")
_OUTSIDE = Finding("write-outside", "HIGH", "writes outside the workspace")
_CREDENTIALS = Finding("credentials", "HIGH", "touches files that hold credentials")
_RUNS_LATER = Finding("runs-later", "HIGH", "writes what git runs by itself later")
_FETCH = Finding("fetch", "MEDIUM", "fetches from the network")
_METADATA = Finding("metadata", "HIGH", "asks for credentials of the machine it runs on")
_STRANGE_ADDRESS = Finding("address", "UNKNOWN", "opens an address that is no page of the web")


def judge_action(
    event: ActionEvent, tools: Mapping[str, AnyTool], workspace: str, *, directory: str | None = None
) -> Judgement:
    """Returns a judgement with the risks that were found in one action of the agent. `event`: the event of
    the action, a tool call. `tools`: the agent's tools by name. `workspace`: the directory where the agent
    works. `directory`: the current directory of the agent's shell; None if not known.
    """
    effects = effects_of(event, tools)
    judged = [_judge(effect, workspace, directory) for effect in effects]
    findings = tuple(dict.fromkeys(finding for one in judged for finding in one.findings))
    likeness = " ".join(dict.fromkeys(one.likeness for one in judged if one.likeness)) or "any"
    return Judgement(findings, f"{event.tool_name}: {likeness}")


def effects_of(event: ActionEvent, tools: Mapping[str, AnyTool]) -> Sequence[Effect]:
    """Returns the effects that a tool declares for one call, such as the files that the call writes. `event`:
    the event of the call. `tools`: the agent's tools by name. Returns UNDECLARED (unknown effects) if the
    tool is not in `tools` or the arguments of the call are not valid.
    """
    tool = tools.get(event.tool_name)
    if tool is None:
        return UNDECLARED
    try:
        action = tool.action_type.of(event)
    except ValidationError:
        return UNDECLARED
    return tool.effects(action)


def _judge(effect: Effect, workspace: str, directory: str | None) -> Judgement:
    match effect:
        case RunsCommand():
            return judge_command(effect.command, workspace, directory=directory)
        case RunsProgram():
            return judge_program(effect.code, workspace)
        case Reads() | Writes():
            findings = tuple(_of_path(effect, workspace))
            return Judgement(findings, effect.path if findings else "")
        case Opens():
            findings = tuple(_of_address(effect.url, workspace))
            return Judgement(findings, _site(effect.url))
        case Acts():
            rule = UNKNOWN_TOOL if effect.risk == "UNKNOWN" else "tool"
            return Judgement((Finding(rule, effect.risk, effect.reason),), "")
        case _:
            assert_never(effect)


def _of_path(effect: Reads | Writes, workspace: str) -> Iterator[Finding]:
    absolute = resolve(Word(effect.path), workspace)
    assert absolute is not None, "a known word in a known directory"
    if path_policy.is_credential(absolute):
        yield _CREDENTIALS
    if isinstance(effect, Writes):
        if not path_policy.is_inside(absolute, workspace):
            yield _OUTSIDE
        if path_policy.runs_later(absolute):
            yield _RUNS_LATER


def _of_address(url: str, workspace: str) -> Iterator[Finding]:
    parts = urlsplit(url if _SCHEME.match(url) else f"https://{url}")
    if parts.scheme == "file":
        yield from _of_path(Reads(parts.path), workspace)
    elif parts.scheme not in {"http", "https"}:
        if url != "about:blank":
            yield _STRANGE_ADDRESS
    else:
        yield _METADATA if path_policy.is_metadata_host(parts.hostname or "") else _FETCH


def _site(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else url
