"""Judges a shell command: finds its risky effects. If there are any, the user may have to confirm the
command.
"""

import re

from agent_runtime.security.finding import (
    FETCH_TO_EXEC,
    FLOOR,
    NOT_UNDERSTOOD,
    SENDS_SECRETS,
    Finding,
    Judgement,
    at_least,
)
from agent_runtime.security.rules.fetched import runs_fetched_files
from agent_runtime.security.rules.network_effects import INTERPRETERS, sends_what_it_reads
from agent_runtime.security.rules.table import RULES
from agent_runtime.security.shell.calls import SHELLS, Call, calls_of

_SUBCOMMANDS = frozenset(
    (
        "git",
        "npm",
        "pnpm",
        "yarn",
        "pip",
        "pip3",
        "uv",
        "cargo",
        "go",
        "docker",
        "podman",
        "gh",
        "make",
        "apt",
        "apt-get",
        "brew",
        "poetry",
        "kubectl",
        "terraform",
        "systemctl",
        "dotnet",
        "mvn",
        "gradle",
    )
)
# The effect of these programs depends on their arguments or on files. So no two calls count as alike.
_PROGRAMMABLE = (
    INTERPRETERS | SHELLS | {"eval", "source", ".", "awk", "sed", "xargs", "parallel", "find", "env"}
)

_BLANKS = re.compile(r"[ \t]+")


def judge_command(text: str, workspace: str, *, directory: str | None = None) -> Judgement:
    """Returns a judgement with the risks that the runtime's security rules find in the shell command `text`.
    A judgement without risks does not prove that the command is safe.

    `workspace`: the directory where the agent works. `directory`: the directory where the command runs; None
    means the workspace.
    """
    calls = calls_of(text, directory or workspace)
    matching = (
        rule
        for call in calls.program_calls
        for rule in RULES
        if (not call.in_script or (rule.risk == "HIGH" and rule.name in FLOOR))
        and rule.applies(call, workspace)
    )
    found: dict[str, Finding] = {}
    for rule in matching:
        known = found.get(rule.name)
        if known is None or at_least(rule.risk, known.risk):
            found[rule.name] = Finding(rule.name, rule.risk, rule.reason)
    own = [call for call in calls.program_calls if not call.in_script]
    if runs_fetched_files(own):
        found["fetch-to-exec"] = FETCH_TO_EXEC
    if sends_what_it_reads(calls.program_calls):
        found["upload"] = SENDS_SECRETS
    if not calls.is_understood:
        found[NOT_UNDERSTOOD.rule] = NOT_UNDERSTOOD
    findings = tuple(found.values())
    return Judgement(findings, _likeness(text, own, findings))


def _likeness(text: str, calls: list[Call], findings: tuple[Finding, ...]) -> str:
    """Returns a text that is equal for similar commands. If the user approves a command and all similar
    commands, later commands with the same text need no confirmation. `text`: the command. `calls`: the
    programs that it runs. `findings`: the risks that were found in it.

    Usually the text consists of the names of the programs and of the security rules that found a risk. Some
    programs are named with a subcommand, as in `git push`.

    Sometimes the approval must cover only this command, so the text contains the exact command instead. This
    is the case if a risk is HIGH or UNKNOWN, or if no program is known. It is also the case if the name of a
    program does not show what the program does. Such programs are interpreters, programs with a path, and
    programs that sudo or a similar program starts.
    """
    is_risky = any(finding.risk in {"HIGH", "UNKNOWN"} for finding in findings)
    if is_risky or any(_can_be_anything(call) for call in calls) or not calls:
        return f"exactly {_BLANKS.sub(' ', text.strip())}"
    rules = sorted(finding.rule for finding in findings)
    return " ".join([*sorted({_program(call) for call in calls}), *(f"({rule})" for rule in rules)])


def _can_be_anything(call: Call) -> bool:
    is_local = call.command.words and "/" in call.command.words[0].text
    return call.name in _PROGRAMMABLE or bool(is_local) or bool(call.wrappers)


def _program(call: Call) -> str:
    first = call.operands[0].text if call.operands else ""
    return f"{call.name} {first}".strip() if call.name in _SUBCOMMANDS else call.name
