"""MCP tools with which a user's program reads the user's notes about repositories and proposes new notes.
Later conversations about a repository get its notes.
"""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from app_server.access.authentication import authenticate
from app_server.access.permissions import Permission
from app_server.access.route_access import permission_missing
from app_server.conversations import service
from app_server.core.errors import BadRequest
from app_server.git.address import parse_address
from app_server.mcp import caller
from app_server.mcp.results import NoteContent, NoteLine, NoteList, ToolDone
from app_server.mcp.tool import McpTool
from app_server.memory.proposals import propose
from app_server.memory.schemas import NoteName, NoteText, NoteTitle
from app_server.memory.written_notes import MemoryWrite


async def list_memory_notes(
    repository: Annotated[
        str | None, Field(description="Only notes of this repository, as in github.com/owner/name")
    ] = None,
) -> NoteList:
    """List the notes that the user has accepted. A note says what an agent has learned about a repository."""
    notes = await caller.get("/api/v1/memory")
    return NoteList(
        notes=[NoteLine(**_line(note)) for note in notes if repository in (None, note["repository"])]
    )


async def get_memory_note(note_id: UUID) -> NoteContent:
    """Read one of the notes that the user has accepted about repositories."""
    note = await caller.get(f"/api/v1/memory/{note_id}")
    return NoteContent(**_line(note), text=note["text"])


async def propose_memory_note(
    conversation_id: Annotated[UUID, Field(description="The user's conversation about the repository")],
    name: Annotated[NoteName, Field(description="Lower case letters, digits and hyphens")],
    title: NoteTitle,
    text: NoteText,
) -> ToolDone:
    """Propose a note about the repository of a conversation. If the user accepts the note, the agents of
    later conversations about the repository get it. To propose a change to an existing note, use the name of
    that note.
    """
    request = caller.current_request()
    principal = await authenticate(request)
    if not principal.may(Permission.SETTINGS):
        raise permission_missing(Permission.SETTINGS)
    async with request.state.database.session() as session:
        conversation = await service.require(session, principal.user.id, conversation_id)
        if conversation.selected_repository is None:
            raise BadRequest("This conversation has no repository, and notes are about repositories.")
        address = parse_address(conversation.selected_repository, conversation.git_provider)
        written = MemoryWrite(command="create", name=name, title=title, text=text)
        await propose(session, principal.user.id, address.identity, conversation.id, written)
    return ToolDone(done="Proposed. The user accepts or rejects it in the settings, under Memory.")


def _line(note: dict[str, str]) -> dict[str, str]:
    return {
        "note_id": note["id"],
        "repository": note["repository"],
        "name": note["name"],
        "title": note["title"],
    }


TOOLS = (
    McpTool("List notes", list_memory_notes),
    McpTool("Read a note", get_memory_note),
    McpTool(
        "Propose a note",
        propose_memory_note,
        permission=Permission.SETTINGS,
        changes=True,
        is_repeatable=True,
    ),
)
