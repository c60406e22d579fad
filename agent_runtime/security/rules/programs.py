"""Judges the risk of the code in a notebook cell. Code with a sign of possible harm, such as the word
`subprocess`, has the risk UNKNOWN, because such code can do anything. Code without such a sign adds no risk.
The shell commands in the cell are judged like other commands.
"""

import re
from collections.abc import Iterator

from agent_runtime.security.commands import judge_command
from agent_runtime.security.finding import Finding, Judgement
from agent_runtime.security.rules.inline_code import can_harm

INLINE_PROGRAM = Finding("inline-program", "UNKNOWN", "runs its own program, which can do anything")

_SHELL_LINE = re.compile(
    r"^\s*(?:\w+\s*=\s*)?!{1,2}(.+)$|^\s*%s[xc]\s+(.+)$|^\s*%((?:pip|conda)\b.*)$", re.MULTILINE
)
_SHELL_CELL = re.compile(r"\A\s*%%(?:bash|sh|script|!)[^\n]*\n(.*)", re.DOTALL)


def judge_program(code: str, workspace: str) -> Judgement:
    """Returns a judgement of the risk of a notebook cell, including its shell commands (`!…`, `%%bash`).
    `code`: the text of the cell. `workspace`: the directory where the agent works.

    The field `likeness` of the result has the same value for actions that count as similar. Here it contains
    the text of the cell. So only cells with the same text are similar, and an approval of all similar cells
    covers only these.
    """
    found = [INLINE_PROGRAM] if can_harm(code) else []
    for command in _shell_lines(code):
        found += judge_command(command, workspace).findings
    return Judgement(tuple(dict.fromkeys(found)), f"exactly {code.strip()}")


def _shell_lines(code: str) -> Iterator[str]:
    if cell := _SHELL_CELL.match(code):
        yield cell.group(1)
    for line in _SHELL_LINE.finditer(code):
        yield next(group for group in line.groups() if group is not None)
