"""An implementation of sub-agents that offers none, for tests of the delegation tool alone."""

from collections.abc import Sequence
from pathlib import Path

from agent_runtime.events.base import JsonObject
from agent_runtime.tools.delegation import Assignment, DelegationError, Result, SubAgentKind


class NoSubAgents:
    def kinds(self, projects: Sequence[Path], given: Sequence[JsonObject]) -> Sequence[SubAgentKind]:
        del projects, given
        return ()

    async def work(self, wanted: Assignment) -> Result:
        raise DelegationError(f"Nobody does {wanted.prompt}")
