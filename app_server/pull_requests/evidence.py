"""Drafts the text of a pull request from the events of a conversation. Does no I/O."""

from collections.abc import Sequence
from typing import Any

MAX_COMMANDS = 10
MAX_SUMMARY_CHARACTERS = 4000
_MAX_COMMAND_CHARACTERS = 200
_EDITS = frozenset(("FileEditorAction", "ApplyPatchAction", "WriteFileAction", "EditAction"))
_READS = frozenset(("view", "view_image"))


def body_of(events: Sequence[dict[str, Any]], statistics: str, link: str, template: str = "") -> str:
    """Returns the text of a pull request. It contains the repository's template, the agent's last message,
    the changed files, and a link to the conversation. It also contains the commands that ran after the
    agent's last edit of a file, each with its result.

    events: the newest events of the conversation, the oldest first. statistics: the list of changed files, as
    `git diff --stat` prints it. link: the address of the conversation's page. template: empty if the
    repository has none. The template is left out if the agent's last message contains all its headings,
    because then the agent has filled in the template.
    """
    summary = summary_of(events)
    sections = [template] if template and not _follows(summary, template) else []
    sections.append(summary or "What was changed, and why:")
    if statistics:
        sections.append(f"## Changed files\n\n{_fenced(statistics)}")
    if commands := _commands_after_last_edit(events):
        lines = "\n".join(f"- `{command}`: {_outcome(code)}" for command, code in commands)
        sections.append(f"## Commands run after the last edit\n\n{lines}")
    sections.append(f"[The conversation with each step]({link})")
    return "\n\n".join(sections)


def _follows(summary: str, template: str) -> bool:
    """Returns whether the agent has filled in the template: whether `summary`, the agent's last message,
    contains all headings of the template. Returns False if the template has no headings.
    """
    headings = [line.strip() for line in template.splitlines() if line.startswith("#")]
    lines = {line.strip() for line in summary.splitlines()}
    return bool(headings) and lines.issuperset(headings)


def summary_of(events: Sequence[dict[str, Any]]) -> str:
    """Returns the agent's last message, cut to MAX_SUMMARY_CHARACTERS. Returns an empty text if there is no
    message of the agent.
    """
    for event in reversed(events):
        action = event.get("action") or {}
        if event.get("kind") == "ActionEvent" and action.get("kind") == "FinishAction":
            return _cut(str(action.get("message", "")))
        if event.get("kind") == "MessageEvent" and event.get("source") == "agent":
            content = (event.get("llm_message") or {}).get("content") or []
            return _cut("\n\n".join(part["text"] for part in content if isinstance(part.get("text"), str)))
    return ""


def _commands_after_last_edit(events: Sequence[dict[str, Any]]) -> list[tuple[str, int | None]]:
    found: list[tuple[str, int | None]] = []
    for event in after_last_edit(events):
        observation = event.get("observation") or {}
        command = observation.get("command")
        if observation.get("kind") != "TerminalObservation" or not isinstance(command, str) or not command:
            continue
        code = observation.get("exit_code")
        found.append((_one_line(command), code if isinstance(code, int) else None))
    return found[-MAX_COMMANDS:]


def after_last_edit(events: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Returns the events after the agent's last edit of a file. Returns all events if the agent has edited no
    file.
    """
    last = max((at for at, event in enumerate(events) if _is_edit(event)), default=-1)
    return events[last + 1 :]


def _is_edit(event: dict[str, Any]) -> bool:
    action = event.get("action") or {}
    return action.get("kind") in _EDITS and action.get("command") not in _READS


def _outcome(code: int | None) -> str:
    match code:
        case 0:
            return "passed"
        case None | -1:
            return "did not end"
        case _:
            return f"failed with exit code {code}"


def _one_line(command: str) -> str:
    line = " ".join(command.split()).replace("`", "'")
    return line if len(line) <= _MAX_COMMAND_CHARACTERS else line[:_MAX_COMMAND_CHARACTERS] + "…"


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_SUMMARY_CHARACTERS else text[:MAX_SUMMARY_CHARACTERS] + "…"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
