"""What makes a command risky, as one line of a table."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_runtime.events.action import SecurityRisk
from agent_runtime.security.shell.calls import Call


@dataclass(frozen=True)
class Rule:
    """programs: the only ones it looks at; none: all. test: asked with the call and the workspace."""

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
