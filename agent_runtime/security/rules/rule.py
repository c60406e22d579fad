"""Defines the type of the security rules. The rules say which commands are risky."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_runtime.events.action import SecurityRisk
from agent_runtime.security.shell.calls import Call


@dataclass(frozen=True)
class Rule:
    """One row of the table of security rules: which commands the rule matches, and why they are risky.

    `programs`: the names of the programs that the rule is for; empty means all programs. `test`: a function
    that gets the command and the workspace, and returns whether the rule matches; None means that the rule
    matches every command of these programs.
    """

    name: str
    risk: SecurityRisk
    reason: str
    programs: frozenset[str] = frozenset()
    test: Callable[[Call, str], bool] | None = None

    def applies(self, call: Call, workspace: str) -> bool:
        if self.programs and call.name not in self.programs:
            return False
        return self.test is None or self.test(call, workspace)


def of(names: str) -> frozenset[str]:
    return frozenset(names.split())
