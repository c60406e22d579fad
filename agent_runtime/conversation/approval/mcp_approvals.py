"""Stores which tools of a conversation's MCP servers the user has approved. The approvals are stored in the
log's database, apart from the events. Events report changes of the approvals to clients.
"""

from collections.abc import Mapping

from agent_runtime.conversation.event_log.log import EventLog
from agent_runtime.events.base import JsonObject
from agent_runtime.events.state import ConversationStateUpdateEvent
from agent_runtime.tools.mcp.approvals import Approvals

_META = "mcp_approvals"
APPROVED = "mcp_approved"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
contains an object with the approved MCP tools, by server name and tool name.
"""
CHANGES = "mcp_changes"
"""The name of a field in the JSON value of the state update events whose key is `agent_state`. The field
contains, for each MCP server, a list of the tools that are not approved.
"""


class McpApprovals:
    """The MCP tools that the user has approved or refused in one conversation. The approvals do not change
    when the user moves the conversation back to an earlier event.
    """

    def __init__(self, log: EventLog, given: Mapping[str, JsonObject]) -> None:
        """Loads the approvals of MCP tools that are stored for the conversation. If none are stored yet,
        starts with `given`: the tools that the user has approved in other conversations. The keys of `given`
        are the names of the MCP servers. Raises pydantic.ValidationError if `given` or the stored data are
        not valid.
        """
        self._log = log
        stored = log.get_meta(_META)
        if stored is None:
            self._reported, self.approvals = Approvals(), Approvals.model_validate({"approved": given})
        else:
            self._reported, self.approvals = (Approvals.model_validate_json(stored) for _ in range(2))

    def approved(self) -> JsonObject:
        """Returns the MCP tools that the user has approved, by server name and tool name. A client can put
        this object into the request that starts another conversation.
        """
        return {
            server: {name: tool.model_dump(mode="json") for name, tool in tools.items()}
            for server, tools in self.approvals.approved.items()
        }

    def keep(self) -> list[ConversationStateUpdateEvent]:
        """Stores the approvals of MCP tools if they have changed since the last call of this method. Returns
        the events that report the current approvals to clients, or an empty list if nothing has changed.
        """
        if self.approvals == self._reported:
            return []
        self._log.set_meta(_META, self.approvals.model_dump_json())
        reported, self._reported = self._reported, self.approvals.model_copy(deep=True)
        news: list[ConversationStateUpdateEvent] = []
        if self.approvals.approved != reported.approved:
            news.append(_update(APPROVED, self.approved()))
        if _changes(self.approvals) != _changes(reported):
            news.append(_update(CHANGES, _changes(self.approvals)))
        return news


def _changes(approvals: Approvals) -> JsonObject:
    return {
        server: [change.model_dump(mode="json", exclude={"offered"}) for change in changes.values()]
        for server, changes in approvals.changes.items()
        if changes
    }


def _update(name: str, value: JsonObject) -> ConversationStateUpdateEvent:
    return ConversationStateUpdateEvent(key="agent_state", value={name: value})
