"""Decides which tool definitions of an MCP server count as approved after the server has changed its tools.
This module does no I/O.
"""

from collections.abc import Collection, Mapping

from agent_runtime.wire.mcp_definitions import ToolDefinition, fingerprint_of_change

Definitions = Mapping[str, ToolDefinition]
"""The tool definitions of one MCP server, by tool name."""


def with_answers(
    known: Definitions, reported: Definitions, approved: Collection[str]
) -> dict[str, ToolDefinition]:
    """Returns the tool definitions of an MCP server that count as approved now. These are the definitions in
    `known` after all approved changes. A change adds, removes, renames or redefines a tool. Changes that are
    not approved have no effect.

    `known`: the tool definitions that were approved before. `reported`: the tool definitions that the sandbox
    reports now. `approved`: the fingerprints of the changes that the user has approved. A fingerprint is a
    hash that identifies a change (see fingerprint_of_change).
    """

    def may(old: ToolDefinition | None, new: ToolDefinition | None) -> bool:
        return fingerprint_of_change(old, new) in approved

    result = dict(known)
    come = {name: one for name, one in reported.items() if name not in known}
    for name, old in known.items():
        same = reported.get(name)
        # A missing tool may have a new name.
        new = same or next((one for one in come.values() if may(old, one)), None)
        if new == old or not may(old, new):
            continue
        del result[name]
        if new is not None:
            result[new.name] = new
            come.pop(new.name, None)
    return result | {name: one for name, one in come.items() if may(None, one)}
