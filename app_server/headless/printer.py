"""Prints the progress of a headless run (a task that runs from the command line without a browser): first the
stages of the conversation's start, then each event as a short block of text.
"""

import sys
from datetime import datetime
from typing import Any, Protocol

import orjson
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from app_server.headless.outcome import HeadlessOutcome

MAX_OUTPUT_LINES = 24
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}

STAGE_NAMES = {
    "WORKING": "Prepare",
    "WAITING_FOR_SANDBOX": "Start the sandbox",
    "PREPARING_REPOSITORY": "Fetch the repository",
    "RUNNING_SETUP_SCRIPT": "Run the setup script",
    "SETTING_UP_GIT_HOOKS": "Install the Git hooks",
    "SETTING_UP_SKILLS": "Load the skills",
    "STARTING_CONVERSATION": "Start the agent",
}


class Printer(Protocol):
    def frame(self, frame: dict[str, Any]) -> None: ...

    def note(self, text: str) -> None: ...

    def end(self, outcome: HeadlessOutcome, summary: dict[str, Any]) -> None: ...


class JsonPrinter:
    """Prints a headless run (a task from the command line) as JSON, one object per line: every frame
    (message) of the live stream, every note to the person at the terminal, and at the end `{"type":
    "summary", …}`.
    """

    def frame(self, frame: dict[str, Any]) -> None:
        self._write(frame)

    def note(self, text: str) -> None:
        self._write({"type": "note", "text": text})

    def end(self, outcome: HeadlessOutcome, summary: dict[str, Any]) -> None:
        self._write({"type": "summary", "status": outcome.status, "failure": outcome.failure, **summary})

    def _write(self, value: dict[str, Any]) -> None:
        sys.stdout.buffer.write(orjson.dumps(value) + b"\n")
        sys.stdout.buffer.flush()


class TerminalPrinter:
    """Prints a headless run (a task from the command line) as text for the person at the terminal. Prints
    without colours and formatting if the output is not a terminal.
    """

    def __init__(self) -> None:
        self._console = Console(highlight=False, soft_wrap=True)
        self._stage_states: dict[str, tuple[str, str]] = {}

    def note(self, text: str) -> None:
        self._console.print(Text(text, style="dim"))

    def frame(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "start_task":
                for stage in frame["task"]["stages"]:
                    self._stage(stage)
            case "durable":
                self._event(frame["seq"], frame["event"])

    def end(self, outcome: HeadlessOutcome, summary: dict[str, Any]) -> None:
        if outcome.failure:
            self._failure(outcome.failure)
        if summary.get("diff"):
            self._heading("Diff")
            for line in summary["diff"].splitlines():
                self._console.print(Text(line, style=_DIFF_STYLES.get(line[:1], "")))
        self._heading("Summary")
        for name, seconds in summary["stage_seconds"].items():
            self._console.print(f"  {STAGE_NAMES.get(name, name):<26}{seconds:8.2f} s")
        self._console.print(f"  {'Agent':<26}{summary['agent_seconds']:8.2f} s")
        self._console.print(f"  {'Events':<26}{summary['events']:8}")
        self._console.print(f"  {'Sandbox':<26}{summary['sandbox']:>8}")
        if summary.get("verification"):
            self._console.print(f"  {'Tests in the sandbox':<26}{summary['verification']['state']:>8}")
        style = "bold green" if summary["succeeded"] else "bold red"
        self._console.print(
            Text(f"\n{'Succeeded' if summary['succeeded'] else 'Failed'}: {outcome.status}", style=style)
        )

    def _stage(self, stage: dict[str, Any]) -> None:
        seen = (stage["state"], stage["detail"] or "")
        if stage["state"] == "pending" or self._stage_states.get(stage["status"]) == seen:
            return
        self._stage_states[stage["status"]] = seen
        mark = {"running": "…", "done": "✓", "skipped": "-", "failed": "✗"}[stage["state"]]
        took = _seconds_between(stage["started_at"], stage["finished_at"])
        time_text = f" ({took:.2f} s)" if took is not None and stage["state"] == "done" else ""
        detail = f"  {stage['detail']}" if stage["detail"] else ""
        line = f"{mark} {STAGE_NAMES.get(stage['status'], stage['status'])}{time_text}"
        self._console.print(Text(line, style="cyan"), Text(detail, style="dim"))

    def _event(self, seq: int, event: dict[str, Any]) -> None:
        match event:
            case {"kind": "MessageEvent", "source": source, "llm_message": {"content": [*parts]}}:
                self._heading(f"{seq:>3}  {'You' if source == 'user' else 'Agent'}")
                self._console.print(Markdown("\n".join(part.get("text", "") for part in parts)))
            case {"kind": "ActionEvent"}:
                self._action(seq, event)
            case {"kind": "ObservationEvent", "observation": dict(observation)}:
                self._observation(seq, event["tool_name"], observation)
            case {"kind": "AgentErrorEvent", "error": str(error)}:
                self._console.print(Text(f"{seq:>3}  {error}", style="red"))

    def _action(self, seq: int, event: dict[str, Any]) -> None:
        thought = "\n".join(part.get("text", "") for part in event.get("thought", []))
        self._heading(f"{seq:>3}  {event['tool_name']}  {_summary(event)}")
        if thought:
            self._console.print(Markdown(thought))
        match event.get("action"):
            case {"kind": "TerminalAction", "command": str(command)}:
                self._console.print(Text(f"$ {command}", style="bold"))
            case {"kind": "FileEditorAction", "command": str(command), "path": str(path)}:
                self._console.print(Text(f"{command} {path}", style="bold"))
            case {"kind": "ThinkAction", "thought": str(text)} | {
                "kind": "FinishAction",
                "message": str(text),
            }:
                self._console.print(Markdown(text))

    def _observation(self, seq: int, tool_name: str, observation: dict[str, Any]) -> None:
        if tool_name in {"think", "finish"}:
            return
        lines = "\n".join(part.get("text", "") for part in observation.get("content", [])).splitlines()
        for line in lines[:MAX_OUTPUT_LINES]:
            self._console.print(Text(f"     {line}", style="dim"))
        if len(lines) > MAX_OUTPUT_LINES:
            self._console.print(
                Text(f"     … {len(lines) - MAX_OUTPUT_LINES} more lines", style="dim italic")
            )
        if (exit_code := observation.get("exit_code")) is not None:
            style = "green" if exit_code == 0 else "red"
            self._console.print(Text(f"{seq:>3}  exit code {exit_code}", style=style))

    def _failure(self, failure: dict[str, Any]) -> None:
        self._heading("What went wrong")
        self._console.print(Text(f"{failure['cause']} [{failure['code']}]", style="red"))
        if failure.get("output"):
            self._console.print(Text(failure["output"].rstrip(), style="dim"))
        if failure.get("fix"):
            self._console.print(Text(f"Fix: {failure['fix']}", style="yellow"))

    def _heading(self, text: str) -> None:
        self._console.print()
        self._console.print(Text(text, style="bold blue"))


def _summary(event: dict[str, Any]) -> str:
    """Returns the model's summary of the action in an event. Returns an empty text if the summary is missing
    or only repeats the action's arguments.
    """
    summary = event.get("summary") or ""
    return "" if summary.startswith(f"{event['tool_name']}: {{") else summary


def _seconds_between(start: str | None, end: str | None) -> float | None:
    if not start or not end:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def stage_seconds(stages: list[dict[str, Any]]) -> dict[str, float]:
    """Returns how many seconds each finished stage of the conversation's start took. The keys are the names
    of the stages.
    """
    times = {stage["status"]: _seconds_between(stage["started_at"], stage["finished_at"]) for stage in stages}
    return {name: round(seconds, 3) for name, seconds in times.items() if seconds is not None}
