"""Stores which tools of MCP servers are approved, and how the tools that a server lists now differ from the
approved tools.

When the runtime connects to a server for the first time, all its tools count as approved, because a user has
added the server. If the description or the parameters of a tool change later, the tool is not called until a
user has approved the change.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agent_runtime.wire.mcp_definitions import ToolDefinition, fingerprint_of_change

ChangeKind = Literal["changed", "renamed", "removed", "new"]


class ToolChange(BaseModel):
    """A difference between the approved definition of an MCP server's tool and the definition that the server
    lists now.

    `tool`: the name of the tool; for a renamed tool, the old name. `offered`: the definition that the server
    lists now; None if the server no longer lists the tool. `difference`: both definitions as a unified diff.
    `is_refused`: whether a user has refused the change.

    `fingerprint`: a value computed from both definitions. A user's decision names it, and so is refused
    if the server has changed the tool again.
    """

    model_config = ConfigDict(frozen=True)

    tool: str
    change: ChangeKind
    offered: ToolDefinition | None
    fingerprint: str
    difference: str
    is_refused: bool = False


Definitions = Mapping[str, ToolDefinition]
"""The definitions of one server's tools, by tool name."""


class Approvals(BaseModel):
    """The approved tools of all MCP servers, and the changes that are not approved.

    `approved`: the approved tool definitions, by server name and tool name. `changes`: the differences
    between these definitions and the tools that a server listed last, by server name and tool name. They
    contain changes that a user has refused, and changes about which no user has decided.
    """

    approved: dict[str, dict[str, ToolDefinition]] = {}
    changes: dict[str, dict[str, ToolChange]] = {}

    def look(self, server: str, offered: Iterable[ToolDefinition], *, asks: bool) -> bool:
        """Compares the tools that a server lists now with the approved tools, and stores the differences in
        `changes`. At the first call for a server, all its tools become approved. Returns whether this call
        has changed the server's approved tools or its differences.

        `offered`: the tools that the server lists now. `asks`: whether a new tool also needs the user's
        approval; if not, new tools become approved at once.
        """
        known = (self.approved.get(server), self.changes.get(server))
        now = {definition.name: definition for definition in offered}
        approved = self.approved.setdefault(server, now)
        changes = compare(approved, now)
        if not asks:
            new = [change.tool for change in changes.values() if change.change == "new"]
            self.approved[server] = {**approved, **{name: now[name] for name in new}}
            changes = {name: change for name, change in changes.items() if name not in new}
        self.changes[server] = self._with_answers(server, changes)
        return known != (self.approved[server], self.changes[server])

    def change_of(self, server: str, tool: str) -> ToolChange | None:
        return self.changes.get(server, {}).get(tool)

    def approve(self, server: str, change: ToolChange) -> None:
        """Approves a change of a tool: the definition that the server lists now replaces the approved
        definition. If the server has removed the tool, the tool is removed from the approved tools.
        """
        approved_tools = {name: one for name, one in self.approved[server].items() if name != change.tool}
        if change.offered is not None:
            approved_tools[change.offered.name] = change.offered
        self.approved[server] = approved_tools
        del self.changes[server][change.tool]

    def refuse(self, server: str, change: ToolChange) -> None:
        self.changes[server][change.tool] = change.model_copy(update={"is_refused": True})

    def _with_answers(self, server: str, changes: Mapping[str, ToolChange]) -> dict[str, ToolChange]:
        """Returns a copy of the differences `changes` of a server's tools. In the copy, each difference that
        the user has already refused is marked as refused, so that the user is not asked again.
        """
        before = self.changes.get(server, {})
        refused = {one.fingerprint for one in before.values() if one.is_refused}
        return {
            name: change.model_copy(update={"is_refused": change.fingerprint in refused})
            for name, change in changes.items()
        }


def compare(approved: Definitions, offered: Definitions) -> dict[str, ToolChange]:
    """Returns the differences between the approved tools and the tools that the server lists now (`offered`),
    by tool name. An approved tool that is missing counts as renamed if a new tool has the same description or
    the same parameters.
    """
    gone = {name: one for name, one in approved.items() if name not in offered}
    come = {name: one for name, one in offered.items() if name not in approved}
    found: list[ToolChange] = []
    for name, old in approved.items():
        new = offered.get(name)
        if new is not None and new != old:
            found.append(_change("changed", old, new))
    for old in gone.values():
        new = next((one for one in come.values() if _is_same_but_name(old, one)), None)
        if new is not None:
            del come[new.name]
        found.append(_change("renamed" if new else "removed", old, new))
    found += (_change("new", None, new) for new in come.values())
    return {change.tool: change for change in found}


def _is_same_but_name(old: ToolDefinition, new: ToolDefinition) -> bool:
    return bool(old.description and old.description == new.description) or (
        bool(old.input_schema.get("properties")) and old.input_schema == new.input_schema
    )


def _change(kind: ChangeKind, old: ToolDefinition | None, new: ToolDefinition | None) -> ToolChange:
    known = old or new
    assert known is not None, "there is no change from nothing to nothing"
    return ToolChange(
        tool=known.name,
        change=kind,
        offered=new,
        fingerprint=fingerprint_of_change(old, new),
        difference=_difference(old, new),
    )


def _difference(old: ToolDefinition | None, new: ToolDefinition | None) -> str:
    lines = difflib.unified_diff(
        old.readable().split("\n") if old else [],
        new.readable().split("\n") if new else [],
        "approved",
        "offered now",
        lineterm="",
    )
    return "\n".join(lines)
